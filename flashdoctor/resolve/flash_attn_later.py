"""FlashAttention-3 and FlashAttention-4: where they run and how they come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from flashdoctor.data.tables import Tables
from flashdoctor.engine import drivers
from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.model.plan import Build
from flashdoctor.model.specifiers import fits
from flashdoctor.resolve.flash_attn import FlashAttn
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.reason import Reason
from flashdoctor.resolve.recipe import fa3_build
from flashdoctor.resolve.torch_builds import TorchBuild
from flashdoctor.resolve.vllm_releases import VllmRelease
from flashdoctor.resolve.wants import Want

Row: TypeAlias = Mapping[str, Any]

_HOPPER = 9
_LOWEST_FA4 = 8
_FA3_TORCH_TO_BUILD = "2.4"
_FA3_TORCH, _FA3_TAGS, _FA3_GLIBC = "2.9", ("cu126", "cu130"), "2.28"
"""Wheels on the PyTorch index: limit row fa3-wheels; their files are manylinux_2_28_x86_64."""

_CUTLASS = "4.6.2"
"""The nvidia-cutlass-dsl that flash-attn-4 asks for at least (limit row fa4)."""


def limit(tables: Tables, variant: str) -> Row:
    """Return the row that says what a generation of FlashAttention takes."""
    rows: list[Row] = tables.compat("flash_attn")["limit"]
    return next(row for row in rows if row["variant"] == variant)


def fa3_reason(machine: Machine, want: Want) -> Reason | None:
    """Return why FlashAttention-3 cannot be planned here, None where it can."""
    row = limit(machine.tables, "fa3")
    other = [on for on in machine.capabilities if on.major != _HOPPER]
    if other:
        return Reason(
            f"FlashAttention-3 is made for Hopper (9.0), this GPU has compute capability "
            f"{other[0]}",
            "--want fa4" if other[0].major > _HOPPER else "--want flash-attn",
        )
    return _general(row, machine, want)


def fa4_reason(machine: Machine, want: Want) -> Reason | None:
    """Return why FlashAttention-4 cannot be planned here, None where it can."""
    row = limit(machine.tables, "fa4")
    old = [on for on in machine.capabilities if on.major < _LOWEST_FA4]
    if old:
        return Reason(f"FlashAttention-4 starts at 8.0, this GPU has compute capability {old[0]}")
    floor = row["min_driver"]
    if machine.driver and drivers.is_below(machine.driver, floor):
        return Reason(
            f"FlashAttention-4 compiles its kernels with nvidia-cutlass-dsl, which needs driver "
            f"{floor} or newer, this machine has {machine.driver}",
            f"driver {floor}",
        )
    return _general(row, machine, want)


def _general(row: Row, machine: Machine, want: Want) -> Reason | None:
    if not fits(machine.python, row["requires_python"]):
        return Reason(f"{row['package']} takes Python {row['requires_python']}", "another Python")
    if not want.takes(row["version"]):
        return Reason(f"the tables know {row['package']} {row['version']} only")
    return None


def choose_fa3(machine: Machine, torch: TorchBuild) -> Iterator[FlashAttn]:
    """Yield the wheel of the PyTorch index where there is one, then a build."""
    row = limit(machine.tables, "fa3")
    system = machine.kind == "linux" and (not machine.glibc or at_least(machine.glibc, _FA3_GLIBC))
    if system and torch.tag in _FA3_TAGS and at_least(torch.version, _FA3_TORCH):
        yield FlashAttn(
            version=row["version"],
            note="That the PyTorch index has wheels of flash-attn-3 for cu126 and cu130 was read "
            "in a report (NVIDIA-NeMo/RL issue 2148), not on the index.",
        )
    build: Build | None = fa3_build(machine, row["version"], torch.cuda, row["min_cuda"])
    if build and machine.kind != "windows" and at_least(torch.version, _FA3_TORCH_TO_BUILD):
        yield FlashAttn(version=row["version"], build=build)


def choose_fa4(machine: Machine, vllm: VllmRelease | None) -> Iterator[FlashAttn]:
    """Yield the release where nothing that vLLM pins excludes it; it needs no build."""
    row = limit(machine.tables, "fa4")
    pin = str(vllm.row.get("cutlass_dsl", "")).rpartition("]")[2] if vllm else ""
    if pin.startswith("==") and not at_least(pin.removeprefix("=="), _CUTLASS):
        return
    promised = all(on.major in {9, 10, 11} for on in machine.capabilities)
    note = "" if promised else "FlashAttention-4 runs on this GPU, but nobody promises it there."
    yield FlashAttn(version=row["version"], note=note)
