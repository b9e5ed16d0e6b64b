"""FD601: torch is not the one that vLLM was built for."""

from __future__ import annotations

from flashdoctor.engine.checks._imports import imports_well
from flashdoctor.engine.checks._symbols import summary
from flashdoctor.engine.checks._vllm import EXTENSION, installed_version
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.specifiers import fits

_PIN, _TORCH, _MISSING = "vllm.torch_pin", "torch.version", "vllm.missing_symbols"


def judge(view: View) -> Judgement:
    """Look at the symbols of vllm._C, then at the pin.

    Where every symbol is there a violated pin is only a warning: such a vLLM was compiled here,
    or against a torch that differs in nothing that matters.
    """
    version = installed_version(view)
    missing, loads = view.get(_MISSING), _loads(view)
    if missing.is_known and not loads:
        detail = f"vLLM {version} needs {summary(missing.value)}, which this torch does not have."
        return failed(_MISSING, "vllm.version", _TORCH, _PIN, detail=detail, values=_wanted(view))
    pin, torch = view.get(_PIN), view.need(_TORCH)
    if torch and not pin.is_known and loads:
        return passed("vllm.version", _TORCH)
    if torch is None or not pin.is_known:
        raise MissingFactError(_TORCH if torch is None else _PIN)
    if fits(torch, pin.value):
        return passed(_PIN, _TORCH)
    if ".dev" in versions.public(version) and not loads:
        raise MissingFactError(_MISSING)
    return failed(
        "vllm.version",
        _PIN,
        _TORCH,
        detail=f"vLLM {version} asks for torch{pin.value}, torch {torch} is installed.",
        values=_wanted(view),
        severity="warning" if loads else None,
    )


def _loads(view: View) -> bool:
    """Whether it is proven that vllm._C loads with this torch, by symbols or by import."""
    missing = view.get(_MISSING)
    return imports_well(view, EXTENSION) or (missing.is_known and not missing.value)


def _wanted(view: View) -> dict[str, str]:
    pin = str(view.value(_PIN, ""))
    return {"advice.torch": pin.removeprefix("==")} if pin.startswith("==") else {}
