"""Machines to plan for, through the real tables and rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor import pipeline, planning
from flashdoctor.model.plan import Plan, Resolution
from flashdoctor.resolve.machine import Machine, read_machine

PLAIN = ("python=3.12", "glibc=2.35", "platform=linux_x86_64")


@pytest.fixture
def machine() -> Callable[..., Machine]:
    """Return a function that reads assumed facts as a machine with Python 3.12 and glibc 2.35."""

    def read(*assume: str) -> Machine:
        return read_machine(pipeline.assume([*PLAIN, *assume]), pipeline.tables())

    return read


@pytest.fixture
def plan_for() -> Callable[..., Resolution]:
    """Return a function that plans for such a machine: what is wanted, then the assumed facts."""

    def plan(want: str, *assume: str, keep: tuple[str, ...] = ()) -> Resolution:
        facts = pipeline.assume([*PLAIN, *assume])
        return planning.resolve(facts, wants=want.split(), keep=keep)

    return plan


@pytest.fixture
def planned(plan_for: Callable[..., Resolution]) -> Callable[..., Plan]:
    """Return a function that does the same and hands out the plan, which there must be."""

    def plan(want: str, *assume: str, keep: tuple[str, ...] = ()) -> Plan:
        resolution = plan_for(want, *assume, keep=keep)
        assert resolution.plan is not None, resolution.obstacles
        return resolution.plan

    return plan
