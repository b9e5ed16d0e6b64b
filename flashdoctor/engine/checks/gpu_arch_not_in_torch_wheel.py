"""FD201: torch has no code for any of the GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashdoctor.engine import situation
from flashdoctor.engine.coverage import (
    cover,
    cover_with_torch,
    read_capability,
    torch_targets,
)
from flashdoctor.engine.torch_choice import advise_torch
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions


def judge(view: View) -> Judgement:
    """Pass only where a CUDA build of torch is known to serve a GPU: a pass decides `sdpa`."""
    devices = [device for device in view.devices() if read_capability(device)]
    if is_outside(view):
        return _judge_jetson(view, devices)
    if not devices:
        raise MissingFactError("gpu.compute_capability")
    if view.value("live.kernel_ran") is True:
        return passed("live.kernel_ran")
    if view.need("torch.version") is None:
        raise MissingFactError("torch.version")
    served, path = served_devices(view, devices)
    if served:
        return passed(path, "gpu.compute_capabilities")
    return _fail(view, devices[0], path)


def _judge_jetson(view: View, devices: list[Mapping[str, Any]]) -> Judgement:
    """Fail on a Jetson where the wheel is known and holds nothing of its GPU's generation.

    What it does hold proves nothing: whether sm_80 code runs on an Orin is reported both ways.
    """
    tagged = versions.cuda_of_tag(versions.local_tag(view.value("torch.version", "")) or "")
    stated = torch_targets(view)
    is_sure = stated and (tagged or not view.get(stated[1]).source.startswith("matrix"))
    if devices and stated and is_sure and view.value("torch.build", "cuda") == "cuda":
        seen = [read_capability(device) for device in devices]
        if not any(cover(stated[0], on) for on in seen if on):
            return _fail(view, devices[0], stated[1])
    raise MissingFactError("live.kernel_ran")


def _fail(view: View, device: Mapping[str, Any], path: str) -> Judgement:
    return failed(
        "gpu.name",
        "gpu.compute_capability",
        "torch.version",
        path,
        detail=describe(view, device),
        values=advise_torch(view),
    )


def is_outside(view: View) -> bool:
    """Whether the wheels of the tables say nothing about this machine, and no kernel ran on it."""
    other = view.value("torch.build", "cuda") != "cuda" or situation.is_jetson(view)
    return other and view.value("live.kernel_ran") is not True


def served_devices(
    view: View, devices: list[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], str]:
    """Return the devices that the installed torch has code for, and the fact that says so."""
    served, path = [], "torch.arch_list"
    for device in devices:
        capability = read_capability(device)
        if capability:
            kind, path = cover_with_torch(view, capability)
            served += [device] if kind else []
    return served, path


def describe(view: View, device: Mapping[str, Any]) -> str:
    """Say what the GPU needs and what torch carries."""
    capability = read_capability(device)
    stated = torch_targets(view)
    carried = (
        " ".join(stated[0]) if stated else f"no code for it in CUDA {view.value('torch.cuda')}"
    )
    return (
        f"{device.get('name', 'The GPU')} needs {capability.sm if capability else 'its target'}; "
        f"torch {view.value('torch.version')} carries {carried}."
    )
