"""FD121: the driver is older than the CUDA major of torch allows."""

from __future__ import annotations

from flashdoctor.engine import drivers, situation
from flashdoctor.engine.torch_choice import advise_torch
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.regex import regex

_WORDS = regex(
    r"driver on your system is too old|driver version is insufficient|ERROR_INSUFFICIENT_DRIVER"
)


def judge(view: View) -> Judgement:
    """Compare with the floor of the major alone: within it any wheel runs on any such driver."""
    if situation.proves_cuda(view):
        return passed("live.cuda_available")
    if situation.says(view, _WORDS):
        return _fail(view, "live.error")
    if situation.is_jetson(view):
        raise MissingFactError("live.cuda_available")
    if view.get("driver.version").state == "unknown":
        return _judge_by_cuda(view)
    driver, floor = view.need("driver.version"), view.need("torch.min_driver")
    if driver is None or floor is None or not drivers.is_below(driver, floor):
        return passed("driver.version", "torch.min_driver")
    if _is_helped_by_compat(view, floor):
        return passed("driver.version", "driver.libcuda_origin", "driver.libcuda_version")
    return _fail(view)


def _judge_by_cuda(view: View) -> Judgement:
    """Judge by the highest CUDA that the driver names, as error texts do without its version."""
    own, wanted = view.value("driver.cuda"), view.value("torch.cuda")
    if not own or not wanted:
        raise MissingFactError("driver.version")
    compat = view.value("driver.libcuda_origin", "driver") == "compat"
    if drivers.is_of_lower_major(own, wanted) and not compat:
        return _fail(view)
    return passed("driver.cuda", "torch.cuda")


def _is_helped_by_compat(view: View, floor: str) -> bool:
    library = view.value("driver.libcuda_version", "")
    loaded = view.value("driver.libcuda_origin") == "compat" and bool(library)
    new_enough = loaded and not drivers.is_below(library, floor)
    return new_enough and drivers.takes_forward_compat(view, view.value("torch.cuda", ""))


def _fail(view: View, *evidence: str) -> Judgement:
    cuda = view.value("torch.cuda", "a later release")
    floor = view.value("torch.min_driver", drivers.cuda_floor(view, cuda) or "of its level")
    where = "Windows driver" if situation.uses_windows_driver(view) else "driver"
    cuda_of_driver = view.value("driver.cuda")
    own = view.value("driver.version") or (
        f"one for CUDA {cuda_of_driver}" if cuda_of_driver else "older"
    )
    return failed(
        *evidence,
        "driver.version",
        "driver.cuda",
        "torch.version",
        "torch.cuda",
        "torch.min_driver",
        detail=f"torch {view.value('torch.version', '')} is built for CUDA {cuda} and needs "
        f"{where} {floor} or newer; here it is {own}.",
        values=advise_torch(view),
    )
