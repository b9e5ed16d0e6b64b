"""transformers: the release that goes with a torch, a vLLM and a flash-attn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from flashdoctor.data import lookup
from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.checks.transformers_too_new_for_vllm import CEILINGS
from flashdoctor.model import versions
from flashdoctor.model.specifiers import below, clauses, fits
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.reason import Reason, Refused
from flashdoctor.resolve.torch_builds import TorchBuild
from flashdoctor.resolve.vllm_releases import VllmRelease
from flashdoctor.resolve.wants import Want

Row: TypeAlias = Mapping[str, Any]

PACKAGE = "transformers"


def choose_transformers(
    machine: Machine,
    torch: TorchBuild,
    vllm: VllmRelease | None,
    flash_attn: str | None,
    want: Want | None,
) -> tuple[str | None, list[Refused]]:
    """Return the best release and what was passed over before it.

    That is the newest. Where vLLM's pin has no upper end and nobody wants transformers for itself,
    it is the first series that the pin takes: the one that vLLM was written against.
    """
    rows = sorted(
        _rows(machine, want),
        key=lambda row: versions.order(row["version"]) or (),
        reverse=want is not None or vllm is None or is_capped(vllm),
    )
    refused: list[Refused] = []
    for row in rows:
        reason = next(_reasons(machine, row, torch, vllm, flash_attn), None)
        if reason is None:
            return row["version"], refused
        refused.append(Refused(PACKAGE, row["version"], reason))
    return None, refused


def _rows(machine: Machine, want: Want | None) -> Iterator[Row]:
    """Yield the rows, and for a release asked for by its very version that of its X.Y."""
    listed = [row["version"] for row in machine.tables.compat("transformers")["release"]]
    for version in (*listed, *(want.named(listed) if want else ())):
        row = lookup.transformers_release(machine.tables, version)
        if row and (want is None or want.takes(version)):
            yield {**row, "version": version}


def is_capped(vllm: VllmRelease) -> bool:
    """Whether vLLM's pin has an upper end."""
    return any(operator.startswith("<") for operator, _ in clauses(vllm.row["transformers"]))


def _reasons(
    machine: Machine,
    row: Row,
    torch: TorchBuild,
    vllm: VllmRelease | None,
    flash_attn: str | None,
) -> Iterator[Reason]:
    if not fits(machine.python, row["requires_python"]):
        yield Reason(f"takes Python {row['requires_python']}", "another Python")
    if below(torch.version, row["torch"]):
        yield Reason(f"asks for torch {row['torch']}, the plan has {torch.version}")
    if vllm:
        yield from _vllm_reasons(row["version"], vllm)
    if flash_attn and not at_least(flash_attn, row["min_flash_attn_cuda"]):
        yield Reason(f"asks for flash-attn {row['min_flash_attn_cuda']}")


def _vllm_reasons(version: str, vllm: VllmRelease) -> Iterator[Reason]:
    pin = vllm.row["transformers"]
    if not fits(version, pin):
        yield Reason(f"vLLM {vllm.version} takes {pin}")
    for fixed_in, first_bad in CEILINGS:
        if not at_least(vllm.version, fixed_in) and at_least(version, first_bad):
            yield Reason(f"vLLM {vllm.version} breaks with {first_bad} and newer")
