"""vLLM: which of its index wheels run on a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from flashdoctor.data import lookup
from flashdoctor.engine.checks._gpus import runs_on
from flashdoctor.model import versions
from flashdoctor.model.specifiers import fits
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.reason import Reason, Refused
from flashdoctor.resolve.wants import Want

Row: TypeAlias = Mapping[str, Any]

PACKAGE = "vllm"
_KERNELS = {"fa2": "FlashAttention-2", "fa3": "FlashAttention-3", "fa4": "FlashAttention-4"}
_UNDERSTATED = {"0.20.0": "2.34", "0.20.1": "2.34"}
"""Tagged manylinux_2_31, linked against 2.34 (vllm-project/vllm#41103)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmRelease:
    """A release with the torch that it pins; `row` is that of its X.Y."""

    version: str
    torch: str
    row: Row

    @property
    def cuda(self) -> str:
        """The CUDA that its index wheel was built with."""
        return str(self.row["index_wheel_cuda"])

    @property
    def bundled(self) -> tuple[str, ...]:
        """The FlashAttention kernels that it brings along."""
        return tuple(name for key, name in _KERNELS.items() if self.row[f"bundled_{key}"])


def vllm_releases(machine: Machine, want: Want) -> tuple[list[VllmRelease], list[Refused]]:
    """Return the releases whose index wheel runs here and those whose does not, newest first."""
    fitting, refused = [], []
    for release in _wanted(machine, want):
        reason = next(_reasons(machine, release), None)
        if reason:
            refused.append(Refused(PACKAGE, release.version, reason))
        else:
            fitting.append(release)
    return fitting, refused


def _wanted(machine: Machine, want: Want) -> list[VllmRelease]:
    """Return the releases in the table, and what was asked for by its very version."""
    listed = [row["version"] for row in _rows(machine)]
    found = {}
    for version in (*listed, *want.named(listed)):
        row = lookup.vllm_release(machine.tables, version)
        torch = lookup.vllm_torch_pin(machine.tables, version)
        if row and torch and want.takes(version):
            found[versions.order(version)] = VllmRelease(version=version, torch=torch, row=row)
    return [found[key] for key in sorted(found, key=lambda key: key or (), reverse=True)]


def _rows(machine: Machine) -> list[Row]:
    rows: list[Row] = machine.tables.compat("vllm")["release"]
    return rows


def _reasons(machine: Machine, release: VllmRelease) -> Iterator[Reason]:
    if machine.kind == "windows":
        yield Reason("vLLM has no build for Windows", "WSL 2, vLLM's own documented way")
    yield from _wheel_reasons(machine, release)
    yield from _gpu_reasons(machine, release.row)
    floor = machine.driver_floor(release.cuda)
    if floor:
        yield Reason(
            f"its wheel is built with CUDA {versions.major(release.cuda)} and needs driver "
            f"{floor} or newer, this machine has {machine.driver or 'an older one'}",
            f"driver {floor}",
        )


def _is_installed(machine: Machine, release: VllmRelease) -> bool:
    """Whether this release is there already, from whatever source: no wheel need be had."""
    own = versions.order(machine.installed.value("vllm.version", ""))
    return own is not None and own == versions.order(release.version)


def _wheel_reasons(machine: Machine, release: VllmRelease) -> Iterator[Reason]:
    """Yield what keeps pip from installing the index wheel, or Python from loading it."""
    row = release.row
    word = "aarch64" if machine.kind == "aarch64" else "x86_64"
    has_wheel = any(tag.endswith(word) for tag in row["wheel_tags"])
    if not has_wheel and not _is_installed(machine, release):
        yield Reason(f"no wheel for {machine.platform}")
    if machine.python_tag.endswith("t"):
        yield Reason("its abi3 wheel does not load in a free-threaded Python", "another Python")
    if not fits(machine.python, row["requires_python"]):
        yield Reason(f"takes Python {row['requires_python']}", "another Python")
    yield from _glibc_reasons(machine, release)


def _glibc_reasons(machine: Machine, release: VllmRelease) -> Iterator[Reason]:
    needed = _UNDERSTATED.get(release.version, release.row["glibc_floor_tag"])
    own, floor = versions.order(machine.glibc or ""), versions.order(str(needed))
    if own and floor and own < floor:
        yield Reason(
            f"its wheel needs glibc {needed}, this system has {machine.glibc}",
            f"a system with glibc {needed}",
        )


def _gpu_reasons(machine: Machine, row: Row) -> Iterator[Reason]:
    lowest = versions.capability(row["min_compute_capability"])
    sass = row.get("sass_in_wheel", ())
    for on in machine.capabilities:
        if lowest and on < lowest:
            yield Reason(f"its wheel starts at compute capability {lowest}, this GPU has {on}")
        elif sass and not runs_on(sass, (), on):
            yield Reason(f"its wheel carries {' '.join(sass)}, nothing for {on.sm}")


def attention_note(machine: Machine, release: VllmRelease) -> str:
    """Say whether flash-attn is needed beside this vLLM."""
    older = [on for on in machine.capabilities if on < versions.Capability(8, 0)]
    if older:
        return (
            f"flash-attn is not needed: it has nothing for {older[0].sm}, and vLLM "
            f"{release.version} takes another attention backend there."
        )
    if release.bundled:
        kernels = ", ".join(release.bundled)
        return f"flash-attn is not needed: vLLM {release.version} brings its own {kernels}."
    return (
        f"flash-attn is not asked for; of vLLM {release.version}: {release.row['fa_bundle_note']}."
    )
