"""flash-attn 2: the official wheel that fits a torch on a machine, or a build of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from flashdoctor.engine.checks._flash_attn import at_least, glibc_needed
from flashdoctor.engine.flash_wheels import refusal, wheel_address, wheel_name
from flashdoctor.engine.view import View
from flashdoctor.model import versions
from flashdoctor.model.plan import Build
from flashdoctor.model.specifiers import fits
from flashdoctor.model.versions import Capability
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.reason import Reason, Refused
from flashdoctor.resolve.recipe import flash_attn_build
from flashdoctor.resolve.torch_builds import TorchBuild, with_torch
from flashdoctor.resolve.wants import Want

Row: TypeAlias = Mapping[str, Any]

PACKAGE = "flash-attn"
_OLDEST_GPU, _BLACKWELL = Capability(8, 0), Capability(10, 0)
_FIRST_FOR_BLACKWELL = "2.7.3"
_TOO_NEW, _BEFORE_TORCH = "2.8.0", "2.6"
"""From 2.8.0 on it calls what older torch does not have (rule flash-attn-too-new-for-torch)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashAttn:
    """A release to install: the wheel's file name and address, or a build. `note`: a caveat."""

    version: str
    file: str | None = None
    url: str | None = None
    build: Build | None = None
    note: str = ""


def gpu_reason(machine: Machine) -> Reason | None:
    """Return why flash-attn 2 cannot run on this GPU whatever the release, None where it can."""
    old = [on for on in machine.capabilities if on < _OLDEST_GPU]
    if old:
        return Reason(
            f"flash-attn 2 needs compute capability 8.0 or newer, this GPU has {old[0]}; "
            "torch's own SDPA serves it with the memory-efficient kernel"
        )
    return None


def choose_flash_attn(
    machine: Machine, torch: TorchBuild, want: Want
) -> tuple[list[FlashAttn], list[Refused]]:
    """Return the newest official wheel and the newest build, and why newer wheels do not fit."""
    rows = [row for row in _newest_first(machine) if want.takes(row["version"])]
    view = View(with_torch(machine, torch), machine.tables)
    found: list[FlashAttn] = []
    refused: list[Refused] = []
    for row in rows if torch.tag else ():  # nobody knows what another build's ABI is
        reason = next(_wheel_reasons(row, view, machine), None)
        if reason is None:
            found.append(_wheel(row, view, machine))
            break
        refused.append(Refused(PACKAGE, row["version"], reason))
    built = next(filter(None, (_built(machine, torch, row) for row in rows)), None)
    return [*found, *([built] if built else [])], refused


def _newest_first(machine: Machine) -> list[Row]:
    rows: list[Row] = machine.tables.compat("flash_attn")["release"]
    return sorted(rows, key=lambda row: versions.order(row["version"]) or (), reverse=True)


def _wheel_reasons(row: Row, view: View, machine: Machine) -> Iterator[Reason]:
    stated = refusal(row, view)
    if stated:
        needed = glibc_needed(row) if "glibc" in stated else None
        yield Reason(stated, f"a system with glibc {needed}" if needed else "")
    yield from _code_reasons(row, view.value("torch.version"), machine)
    minor = view.value("torch.minor")
    against = [text for text in row.get("wheel_torch_built_against", ()) if _is(text, minor)]
    if any(".dev" in text for text in against) or not _links(against, view.value("torch.version")):
        yield Reason(f"its wheel for torch {minor} was built against {against[0]}")
    if wheel_name(row, view) is None:
        yield Reason("its wheel's name cannot be told")


def _code_reasons(row: Row, torch: str, machine: Machine) -> Iterator[Reason]:
    """Yield what holds of a release's code, as a wheel or built here."""
    new_gpu = any(on >= _BLACKWELL for on in machine.capabilities)
    if new_gpu and not at_least(row["version"], _FIRST_FOR_BLACKWELL):
        yield Reason("turns away Blackwell GPUs")
    if at_least(row["version"], _TOO_NEW) and not at_least(torch, _BEFORE_TORCH):
        yield Reason(f"needs torch {_BEFORE_TORCH} or newer, whatever its wheels are named for")


def _is(version: str, minor: str) -> bool:
    return versions.minor(version) == minor


def _links(against: list[str], torch: str) -> bool:
    """Whether the torch that is planned has what the wheel's own torch had.

    Wheels built against 2.2.2 lack a symbol with 2.2.0 (Dao-AILab/flash-attention issue 931).
    """
    return not ("2.2.2" in against and versions.public(torch) == "2.2.0")


def _wheel(row: Row, view: View, machine: Machine) -> FlashAttn:
    file = wheel_name(row, view) or ""
    ceiling = row.get("wheel_glibc_ceiling")
    note = ""
    own = machine.glibc if glibc_needed(row) is None else None
    if own and ceiling and not at_least(own, ceiling):
        note = (
            f"The wheel of flash-attn {row['version']} was built where glibc is {ceiling}; "
            f"whether it needs more than the {own} of this system is not known."
        )
    return FlashAttn(version=row["version"], file=file, url=wheel_address(row, file), note=note)


def _built(machine: Machine, torch: TorchBuild, row: Row) -> FlashAttn | None:
    unfit = next(_code_reasons(row, torch.version, machine), None)
    if not row["on_index"] or unfit or not at_least(torch.version, row["min_torch_readme"]):
        return None
    if not fits(machine.python, row.get("requires_python", "")):
        return None
    floor = row["min_cuda_to_build"]
    build = flash_attn_build(machine, row["version"], torch.cuda, floor)
    return FlashAttn(version=row["version"], build=build) if build else None
