"""Which FlashAttention vLLM's own copy runs: 2, 3 or 4, by GPU, release and model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from flashdoctor.model.versions import Capability
from flashdoctor.tune import spans
from flashdoctor.tune.need import AMPERE, Need, is_about
from flashdoctor.tune.spans import Row

FA2, FA3, FA4 = 2, 3, 4

BACKENDS = frozenset({"FLASH_ATTN", "FLASH_ATTN_VLLM_V1", "FLASH_ATTN_MLA"})
"""Those that run FlashAttention 2, 3 or 4; the others bring kernels of their own."""

_HOPPER = 9
_BLACKWELL = Capability(10, 0)
_FA4_HEAD = 128
_FA4_PAIR = (192, 128)
_LARGE_HEAD = 256


def flash_version(table: Row, version: str, need: Need) -> int | None:
    """Return the FlashAttention of this release on this GPU; None where it has none for it."""
    if need.capability < AMPERE:
        return None
    chosen = need.flash_version or _by_gpu(table, version, need)
    exceptions = {str(r["id"]): r for r in spans.rows_at(table["flash_exception"], version)}
    for name, applies in _EXCEPTIONS.items():
        if name in exceptions and applies(need, version, chosen):
            chosen = int(exceptions[name]["version"])
    return chosen if _runs_here(table, chosen, need) else FA2


def why_flash(table: Row, version: str, need: Need, flash: int) -> str:
    """Return one clause on why it is this FlashAttention."""
    natural = flash_version(table, version, replace(need, bundled=None, flash_version=None))
    if need.flash_version == flash:
        return f"FA{flash} as asked for"
    if natural != flash:
        return f"FA{flash}, as FA{need.flash_version or natural} is not to be had here"
    if need.alibi:
        return f"FA{flash} because of ALiBi"
    if flash == FA3:
        return "FA3, which is made for sm_90"
    if flash == FA4:
        return f"FA4, for {need.capability.sm} and this head size"
    return "FA2, as FA3 is for sm_90 only" + _without_fa4(need, version)


def _without_fa4(need: Need, version: str) -> str:
    if need.capability < _BLACKWELL:
        return ""
    if spans.order(version) < spans.order("0.17.1"):
        return " and FA4 comes with 0.17.1"
    if need.capability.major == _BLACKWELL.major:
        return f" and FA4 does not take head size {need.head_size} here"
    return f" and FA4 has no kernel for {need.capability.sm}"


def _by_gpu(table: Row, version: str, need: Need) -> int:
    rows = table["flash_version"]
    row = spans.row_at([row for row in rows if is_about(row, rows, need.capability)], version)
    return int(row["version"]) if row and spans.order(version) >= spans.first_of(row) else FA2


def _runs_here(table: Row, flash: int, need: Need) -> bool:
    if need.bundled is not None and flash not in need.bundled:
        return False
    supports = (row for row in table["flash_support"] if row["version"] == flash)
    return any(need.capability.major in r.get("majors", [need.capability.major]) for r in supports)


def _asked_for_3(need: Need, _version: str, chosen: int) -> bool:
    return chosen == FA3 and need.capability >= _BLACKWELL


def _very_large_head(need: Need, _version: str, _chosen: int) -> bool:
    return need.capability.major == _HOPPER and need.head_size > _LARGE_HEAD and not need.mla


def _large_head(need: Need, version: str, chosen: int) -> bool:
    """Whether FA4 leaves a head size to FA2; 256 has a kernel of its own from 0.29 on."""
    if chosen != FA4 or need.capability < _BLACKWELL or need.mla:
        return False
    if (need.head_size, need.v_head_size) == _FA4_PAIR or need.head_size <= _FA4_HEAD:
        return False
    own_kernel = need.head_size == _LARGE_HEAD and spans.order(version) >= spans.order("0.29.0")
    plain = need.kv_dtype in {"auto", "float16", "bfloat16"}
    return not (own_kernel and plain and not need.sinks and not need.multimodal_prefix)


def _alibi(need: Need, _version: str, _chosen: int) -> bool:
    return need.alibi


_EXCEPTIONS: Mapping[str, Callable[[Need, str, int], bool]] = {
    "asked-for-3-on-blackwell": _asked_for_3,
    "very-large-heads-on-hopper": _very_large_head,
    "large-heads-on-blackwell": _large_head,
    "alibi": _alibi,
}
"""By the row that says from which release on. Batch-invariant mode is never chosen here."""
