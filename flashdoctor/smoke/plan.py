"""Which cases are run on this stack, and which of them for a quick look. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashdoctor.model.rule import Component
from flashdoctor.model.smoke import Case
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.smoke.framework_cases import transformers, vllm_engine, vllm_kernels
from flashdoctor.smoke.package_cases import (
    flash_attn,
    flash_attn_3,
    flash_attn_4,
    flashinfer,
    xformers,
)
from flashdoctor.smoke.stack import Stack
from flashdoctor.smoke.torch_cases import flex, sdpa

_GROUPS = (
    sdpa, flash_attn, flash_attn_3, xformers, flashinfer, vllm_kernels, flash_attn_4, flex,
    transformers, vllm_engine,
)  # fmt: skip
"""In the order in which they run: what compiles or imports for long comes late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokePlan:
    """Every case of one target Python, with the facts that they were chosen by."""

    python: Path
    facts: Snapshot
    cases: tuple[Case, ...]


def plan_cases(facts: Snapshot) -> tuple[Case, ...]:
    """Return every case in the order in which they run, those that cannot run here included.

    `lacks` says why a case cannot, `on_request` that it is run only by name.
    """
    on = Stack(facts)
    return tuple(case for group in _GROUPS for case in group(on))


def whole(
    planned: Sequence[Case], required: Iterable[Component] = (), *, compiled: bool = False
) -> tuple[Case, ...]:
    """Return what is run where no case was named: all that takes no long time to compile.

    That comes with `compiled`, and for what is required where nothing else proves it.
    """
    able = _unasked(planned)
    chosen = [case for case in able if compiled or not case.compiles]
    return _proving(planned, chosen, required)


def left_out(planned: Iterable[Case], chosen: Iterable[Case]) -> tuple[Case, ...]:
    """Return what `compiled` would add to a whole run."""
    names = {case.name for case in chosen}
    return tuple(case for case in _unasked(planned) if case.compiles and case.name not in names)


def _unasked(planned: Iterable[Case]) -> list[Case]:
    return [case for case in planned if not case.lacks and not case.on_request]


def quick(planned: Sequence[Case], required: Iterable[Component] = ()) -> tuple[Case, ...]:
    """Return the few cases of `check`, and for what is required besides, one that proves it.

    FA4 compiles for seconds and transformers takes as long to import, so nobody gets them unasked.
    """
    chosen = [case for case in planned if case.quick and not case.lacks]
    return _proving(planned, chosen, required)


def _proving(
    planned: Sequence[Case], chosen: list[Case], required: Iterable[Component]
) -> tuple[Case, ...]:
    """Return the chosen cases in order, and for each required component the quickest to prove it.

    That is the first which compiles nothing: vLLM's FA2 takes a minute and a half on a Hopper.
    """
    able = sorted((c for c in planned if not c.lacks), key=lambda c: (c.compiles, c.limit_s))
    for component in required:
        if not any(component in case.proves for case in chosen):
            proof = [c for c in able if c.proves[:1] == (component,) and _is_due(c)]
            chosen = [*chosen, *proof[:1]]
    return tuple(case for case in planned if case in chosen)


def _is_due(case: Case) -> bool:
    """Whether this GPU should take the case, and the case is no matter of minutes."""
    return not case.refusal and not case.on_request


def named(planned: Sequence[Case], names: Iterable[str]) -> tuple[tuple[Case, ...], list[str]]:
    """Return the cases that the names mean, and the names that mean none.

    A name is a case's own, or how several begin, up to a dash: `sdpa`, `sdpa-flash`. Several are
    those that would run by themselves, where there are any; a name of its own is always meant.
    """
    chosen: set[str] = set()
    lost = []
    for name in names:
        found = _matching(planned, name.strip().lower())
        chosen.update(found)
        if not found:
            lost.append(name)
    return tuple(case for case in planned if case.name in chosen), lost


def _matching(planned: Iterable[Case], name: str) -> list[str]:
    listed = list(planned)
    if any(case.name == name for case in listed):
        return [name]
    found = [c for c in listed if name and c.name.startswith(f"{name.rstrip('-*')}-")]
    able = [case for case in found if not case.lacks]
    chosen = [case for case in able if not case.on_request] or able or found
    return [case.name for case in chosen]
