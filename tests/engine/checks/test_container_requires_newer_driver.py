from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.checks.container_requires_newer_driver import judge
from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model.facts import known
from flashdoctor.model.snapshot import of

Look = Callable[..., View]


IMAGE = (
    "cuda>=12.9 brand=tesla,driver>=535,driver<536 brand=nvidia,driver>=550,driver<551 "
    "brand=geforce,driver>=570,driver<571"
)


@pytest.mark.parametrize(
    ("gpu", "driver", "outcome"),
    [
        ("A100", "535.161.07", "pass"),
        ("A100", "550.54.15", "pass"),
        ("A100", "560.35.05", "fail"),
        ("A100", "575.57.08", "pass"),
        ("RTX 4090", "535.161.07", "fail"),
        ("RTX 4090", "570.86.16", "pass"),
    ],
)
def test_spaces_part_alternatives_and_commas_join_conditions(
    look: Look, gpu: str, driver: str, outcome: str
) -> None:
    facts = {"container.require_cuda": IMAGE, "gpu.name": gpu, "driver.version": driver}
    assert judge(look(facts)).outcome == outcome


@pytest.mark.parametrize(
    ("requirement", "outcome"),
    [
        ("cuda>=12.0,arch>=8.0", "pass"),
        ("cuda>=12.0,arch>8.0", "fail"),
        ("!brand=tesla", "fail"),
        ("driver!=535.161.07", "fail"),
        ("driver=535.161.07", "pass"),
    ],
)
def test_every_comparison_is_read(look: Look, requirement: str, outcome: str) -> None:
    facts = {"gpu.name": "A100", "driver.version": "535.161.07"}
    assert judge(look({**facts, "container.require_cuda": requirement})).outcome == outcome


def test_a_check_that_was_switched_off_is_only_a_warning(look: Look) -> None:
    facts = {"container.require_cuda": "cuda>=13.0", "driver.version": "535.161.07"}
    assert judge(look(facts)).severity is None
    assert judge(look({**facts, "container.require_disabled": True})).severity == "warning"


def test_an_unknown_driver_or_condition_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"driver.cuda"):
        judge(look({"container.require_cuda": "cuda>=12.0"}))
    facts = {"container.require_cuda": "moon=full", "driver.version": "535.161.07"}
    with pytest.raises(MissingFactError):
        judge(look(facts))


@given(st.text(max_size=60))
def test_no_text_crashes_it(text: str) -> None:
    tables = load_tables()
    facts = [
        known("container.require_cuda", text, "a test"),
        known("driver.version", "535.161.07", "a test"),
        known("driver.cuda", "12.2", "a test"),
    ]
    with suppress(MissingFactError):
        assert judge(View(of(facts), tables)).outcome in {"pass", "fail"}


def test_a_container_that_has_its_gpu_was_not_refused(look: Look) -> None:
    facts = {"container.require_cuda": "cuda>=13.0", "driver.version": "535.161.07"}
    assert judge(look({**facts, "gpu.count": 1})).severity == "warning"
