"""FD209: a CUDA library of the system is loaded in place of the one that torch's wheel brings."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.regex import regex

_SYMBOL = regex(r"undefined symbol: \w*(nvJitLink|cublas|cusparse|cusolver|cupti|cufft|nvrtc)\w*")
_LIBRARY = regex(
    r"lib(cublas|cublasLt|cudart|cufft|cupti|curand|cusolver|cusparse|cusparseLt|nccl|nvJitLink"
    r"|nvrtc|nvToolsExt|cudnn(_\w+)?)\.so"
)
_OF_A_WHEEL = regex(r"/(nvidia|torch)/")
_TOOLKIT = regex(r"/cuda(-[\d.]+)?(/|$)")


def judge(view: View) -> Judgement:
    """Believe the loader's words, then what is mapped; a mere LD_LIBRARY_PATH is only a hint."""
    symbol = _SYMBOL.search(view.value("live.error", ""))
    if symbol:
        return failed("live.error", "env.ld_library_path", "live.libraries")
    if not view.need("torch.cuda_majors"):
        return passed("torch.cuda_majors")  # conda and vendor builds bring no such wheels
    mapped = view.value("live.libraries")
    if mapped is not None:
        return _judge_mapped(view, mapped)
    folders = [path for path in view.value("env.ld_library_path", ()) if _TOOLKIT.search(path)]
    if folders and not situation.imports_torch(view):
        text = "On LD_LIBRARY_PATH: " + ", ".join(folders) + "."
        return failed("env.ld_library_path", detail=text, severity="info")
    if view.get("env.ld_library_path").state == "unknown":
        raise MissingFactError("live.libraries")
    return passed("env.ld_library_path")


def _judge_mapped(view: View, mapped: list[str]) -> Judgement:
    strangers = [path for path in mapped if _is_stranger(path)]
    if not strangers:
        return passed("live.libraries")
    works = situation.imports_torch(view)
    return failed(
        "live.libraries",
        "env.ld_library_path",
        detail="Not from the wheels: " + ", ".join(strangers[:3]) + ".",
        severity="warning" if works else None,
    )


def _is_stranger(path: str) -> bool:
    name = path.rpartition("/")[2]
    return bool(_LIBRARY.match(name)) and not _OF_A_WHEEL.search(path)
