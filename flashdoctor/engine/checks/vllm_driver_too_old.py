"""FD604: the driver is older than vLLM's CUDA needs."""

from __future__ import annotations

from flashdoctor.engine import drivers, situation
from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions

_FLOOR, _DRIVER, _CUDA = "vllm.min_driver", "driver.version", "vllm.cuda"


def judge(view: View) -> Judgement:
    """Compare the driver with the floor of vLLM's CUDA major; FD121 has torch's as well."""
    version = installed_version(view)
    floor, driver = view.need(_FLOOR), view.need(_DRIVER)
    if situation.is_jetson(view):
        raise MissingFactError(_DRIVER)
    if floor is None or driver is None:
        raise MissingFactError(_FLOOR if floor is None else _DRIVER)
    if not drivers.is_below(driver, floor) or _is_proven(view) or _is_lifted(view, floor):
        return passed(_DRIVER, _FLOOR)
    return failed(
        _DRIVER,
        _FLOOR,
        _CUDA,
        "vllm.version",
        detail=f"vLLM {version} is built with CUDA {view.value(_CUDA, '')} and needs driver "
        f"{floor} or newer, here it is {driver}.",
    )


def _is_proven(view: View) -> bool:
    """Whether CUDA of the same major was seen to work through torch."""
    own, torch = (versions.major(view.value(path, "")) for path in (_CUDA, "torch.cuda"))
    return own == torch and situation.proves_cuda(view)


def _is_lifted(view: View, floor: str) -> bool:
    """Whether a forward-compatibility libcuda does what the driver is too old for."""
    library = view.value("driver.libcuda_version", "")
    loaded = view.value("driver.libcuda_origin") == "compat" and bool(library)
    new_enough = loaded and not drivers.is_below(library, floor)
    return new_enough and drivers.takes_forward_compat(view, view.value(_CUDA, ""))
