"""FD127: an NVSwitch machine whose fabric was not brought up."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.regex import regex

_UNFINISHED = frozenset({"not-started", "in-progress", "completed-with-error"})


_WORDS = regex(r"Error 802|system not yet initialized")


def judge(view: View) -> Judgement:
    """Believe CUDA first, then the GPUs' fabric state, then the service, which containers hide."""
    said = situation.says(view, _WORDS)
    if said:
        return failed(said, "driver.fabric_manager", "gpu.nvswitch")
    if not view.need("gpu.nvswitch") or situation.proves_cuda(view):
        return passed("gpu.nvswitch")
    states = {device.get("fabric_state") for device in view.value("gpu.devices", ())} - {None}
    if states & _UNFINISHED:
        text = "Fabric state: " + ", ".join(sorted(states & _UNFINISHED)) + "."
        return failed("gpu.devices", "driver.fabric_manager", detail=text)
    if "completed" in states:
        return passed("gpu.devices")
    if situation.runs_in_container(view):
        raise MissingFactError("driver.fabric_manager")
    return _judge_service(view)


def _judge_service(view: View) -> Judgement:
    if view.need("driver.fabric_manager") != "running":
        return failed("driver.fabric_manager", "gpu.nvswitch")
    own, driver = view.value("driver.fabric_manager_version"), view.value("driver.version")
    if own and driver and versions.order(own) != versions.order(driver):
        text = f"The fabric manager is {own}, the driver {driver}."
        return failed("driver.fabric_manager_version", "driver.version", detail=text)
    return passed("driver.fabric_manager")
