"""What was seen to run, as a check says it in a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.clean import clean
from flashdoctor.render.kernel_names import family_words, short_name
from flashdoctor.render.smoke_table import gain_text, time_text

_MOST_BESIDES = 3
_SHORT_NAMES = {"fa2": "FA2", "fa3": "FA3", "fa4": "FA4"}


def proven_components(snapshot: Snapshot) -> set[str]:
    """Return what `--require` may name and a kernel that ran has proven."""
    lists = (case.get("components") for case in _proven(snapshot))
    return {str(name) for names in lists if isinstance(names, list) for name in names}


def established(snapshot: Snapshot) -> str:
    """Return what was seen to run, and what was only judged."""
    proof = proof_text(snapshot) or why_unproven(snapshot)
    if proof:
        return proof
    if snapshot.value("live.kernel_ran") is True:
        return "torch imports and ran a CUDA kernel here; attention kernels were judged, not run"
    if snapshot.value("live.status") == "ok" and snapshot.value("live.cuda_available") is True:
        return "torch imports and sees the GPU; kernels were judged, not run"
    if snapshot.value("live.status") == "ok":
        return "torch imports; kernels were judged, not run"
    return "judged from the facts; nothing was run or proven"


def proof_text(snapshot: Snapshot) -> str:
    """Return `FA2 proven: flash::flash_fwd_kernel, 0.81 ms, 32 x math`, and what else was proven.

    An empty text where nothing was. A package's kernel stands before torch's own.
    """
    first: dict[str, Mapping[str, Any]] = {}
    for case in sorted(
        _proven(snapshot), key=lambda case: str(case.get("family")) not in _SHORT_NAMES
    ):
        first.setdefault(str(case.get("family")), case)
    first.pop("math", None)
    if not first:
        return ""
    family, *others = first
    text = f"{_name(family)} proven: {', '.join(_details(first[family]))}"
    besides = ", ".join(_name(other) for other in others[:_MOST_BESIDES])
    return f"{text}; besides {besides}" if besides else text


def _proven(snapshot: Snapshot) -> list[Mapping[str, Any]]:
    cases = snapshot.value("smoke.cases")
    listed = cases if isinstance(cases, list) else []
    return [case for case in listed if isinstance(case, Mapping) and case.get("proven") is True]


def _name(family: str) -> str:
    return _SHORT_NAMES.get(family) or family_words(family)


def _details(case: Mapping[str, Any]) -> Iterator[str]:
    yield short_name(str(case.get("kernel")))
    ms, gain = case.get("ms"), case.get("gain")
    if isinstance(ms, int | float) and not isinstance(ms, bool):
        yield f"{time_text(ms)} ms"
    if isinstance(gain, int | float) and not isinstance(gain, bool):
        yield f"{gain_text(gain)} math"


def why_unproven(snapshot: Snapshot) -> str:
    """Return why kernels that were run could not be named; an empty text where none was run."""
    if snapshot.value("smoke.status", "not-run") in ("not-run", "ok"):
        return ""
    reason = clean(str(snapshot.value("smoke.error", "")))
    return f"attention was run, but nothing is proven: {reason}" if reason else ""
