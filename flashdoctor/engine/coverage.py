"""Which GPUs a list of SASS and PTX targets serves. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from flashdoctor.engine.torch_wheels import (
    Row,
    is_index_wheel,
    is_nightly,
    machine_of,
    wheel_targets,
)
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

    A build whose targets nobody wrote down lies between two others: a CUDA variant between those
    of the next lower and the next higher CUDA, a nightly between the release before it and its
    own. Where those two agree, so does it. Skips the rule where they do not.
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


def _neighbours(view: View, version: str, cuda: str) -> list[list[str]]:
    """Return the targets of the two builds between which this one lies; none at an end."""
    rows: list[Row] = view.tables.compat("torch")["variant"]
    if is_nightly(version):
        pair = _releases_around(rows, version, cuda)
    elif is_index_wheel(version):
        pair = _variants_around(rows, version, cuda)
    else:
        return []
    found = [wheel_targets(row, machine_of(view.snapshot)) for row in pair]
    return found if len(found) > 1 and all(found) else []


def _releases_around(rows: Iterable[Row], version: str, cuda: str) -> list[Row]:
    """Return the variants with this CUDA in the nightly's release and in the one before it."""
    own = versions.minor(version) or ""
    built = [row for row in rows if row["cuda"] == cuda and _key(row["minor"]) <= _key(own)]
    built.sort(key=lambda row: _key(row["minor"]))
    return built[-2:] if built and built[-1]["minor"] == own else []


def _variants_around(rows: Iterable[Row], version: str, cuda: str) -> list[Row]:
    """Return the variants of the next lower and of the next higher CUDA of the same release."""
    built = [row for row in rows if row["minor"] == versions.minor(version) and "arch_list" in row]
    built.sort(key=lambda row: _key(row["cuda"]))
    below = [row for row in built if _key(row["cuda"]) < _key(cuda)]
    above = [row for row in built if _key(row["cuda"]) > _key(cuda)]
    return [*below[-1:], *above[:1]]


def _key(text: str) -> tuple[int, ...]:
    return versions.release(text) or ()
