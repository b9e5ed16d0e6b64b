"""Every kind is told apart, and its example shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import flashdoctor
from flashdoctor import planning
from flashdoctor.data.tables import load_tables
from flashdoctor.tune.kinds import LINT_KINDS, TUNE_KINDS, Kind, as_rules

TABLES = load_tables()
KINDS = (*LINT_KINDS, *TUNE_KINDS)
PACKAGE = Path(flashdoctor.__file__).parent


def test_kinds_are_told_apart() -> None:
    assert len({kind.id for kind in KINDS}) == len({kind.name for kind in KINDS}) == len(KINDS)
    rows = {row["id"] for name in TABLES.group("rules") for row in TABLES.table(name)["rule"]}
    assert not rows & {kind.id for kind in KINDS}


def test_every_id_that_stands_in_the_code_of_the_planner_is_known() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (PACKAGE / "tune").glob("*.py")]
    named = {found for text in texts for found in re.findall(r"FD7[5-9]\d", text)}
    assert named == {kind.id for kind in KINDS}


@pytest.mark.parametrize("kind", [one for one in LINT_KINDS if one.example], ids=lambda k: k.id)
def test_the_example_shows_it(kind: Kind) -> None:
    assert kind.example is not None
    command, version = kind.example
    report = planning.lint(command, engine_version=version)
    assert kind.id in {item.finding.id for item in report.findings}


def test_as_rules_they_say_all_that_a_row_says() -> None:
    for rule, kind in zip(as_rules(), KINDS, strict=True):
        assert (rule.id, rule.title, rule.note, rule.judge) == (
            kind.id, kind.title, kind.about, kind.judge,
        )  # fmt: skip
        assert rule.fix.text
        assert rule.sources[0].url
