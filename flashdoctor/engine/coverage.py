"""Which GPUs a list of SASS and PTX targets serves. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from flashdoctor.engine.derive import is_index_wheel
from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model import versions
from flashdoctor.model.versions import Capability

Coverage: TypeAlias = Literal["sass", "ptx"]


def cover(targets: Iterable[str], on: Capability) -> Coverage | None:
    """Say how code for `targets` runs on a GPU: as it is, compiled by the driver, or not at all."""
    listed = list(targets)
    native = [target for target in listed if not target.startswith("compute_")]
    if any(versions.sass_runs(target, on) for target in native):
        return "sass"
    virtual = (target for target in listed if target.startswith("compute_"))
    return "ptx" if any(versions.ptx_runs(target, on) for target in virtual) else None


def read_capability(device: Mapping[str, Any]) -> Capability | None:
    """Return a device record's compute capability, None where the driver did not say."""
    return versions.capability(str(device.get("compute_capability") or ""))


def torch_targets(view: View) -> tuple[list[str], str] | None:
    """Return the targets in the installed torch and the fact that holds them, None where unknown.

    torch lists nothing while CUDA is unusable, so an empty list of a live import says nothing.
    """
    for path in ("live.arch_list", "torch.arch_list"):
        targets = view.value(path)
        if targets:
            return list(targets), path
    return None


def cover_with_torch(view: View, on: Capability) -> tuple[Coverage | None, str]:
    """Say how the installed torch runs on a GPU, and which fact says so.

    A CUDA variant whose targets nobody wrote down lies between two others of the same release:
    where those agree, so does it. Skips the rule where they do not.
    """
    stated = torch_targets(view)
    if stated:
        return cover(stated[0], on), stated[1]
    version, cuda = view.value("torch.version"), view.value("torch.cuda")
    if version and cuda:
        answers = [cover(targets, on) for targets in _neighbours(view, version, cuda)]
        if answers and all(bool(answer) == bool(answers[0]) for answer in answers):
            return answers[0], "torch.cuda"
    raise MissingFactError("torch.arch_list")


def variant_targets(variant: Mapping[str, Any]) -> list[str]:
    """Return the targets of a row of torch's variants, `sm_90` and `compute_120`."""
    native = [f"sm_{text.replace('.', '')}" for text in variant.get("arch_list", ())]
    return [*native, *(f"compute_{text.replace('.', '')}" for text in _ptx(variant))]


def _ptx(variant: Mapping[str, Any]) -> Iterable[str]:
    return (variant["ptx"],) if "ptx" in variant else ()


def _neighbours(view: View, version: str, cuda: str) -> list[list[str]]:
    """Return the targets of the next lower and next higher CUDA of the release; none at an end."""
    if not is_index_wheel(version) or view.value("os.platform") == "linux_aarch64":
        return []
    rows = [
        row
        for row in view.tables.compat("torch")["variant"]
        if row["minor"] == versions.minor(version) and "arch_list" in row
    ]
    below = [row for row in rows if _cuda(row["cuda"]) < _cuda(cuda)]
    above = [row for row in rows if _cuda(row["cuda"]) > _cuda(cuda)]
    if not below or not above:
        return []
    nearest = max(below, key=lambda row: _cuda(row["cuda"]))
    following = min(above, key=lambda row: _cuda(row["cuda"]))
    return [variant_targets(nearest), variant_targets(following)]


def _cuda(text: str) -> tuple[int, ...]:
    return versions.release(text) or ()
