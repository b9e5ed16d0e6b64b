from __future__ import annotations

from datetime import date, timedelta

import pytest

from flashdoctor.model.finding import Finding
from flashdoctor.policy.policy import Ignore, Ruling, Section, rule_on

LAST = date(2026, 12, 31)
SECTION = Section(ignore=(Ignore("FD302", "rebuilt soon", LAST),))


def ruled(days: int) -> Ruling:
    return rule_on(
        SECTION, today=LAST + timedelta(days=days), file="flashdoctor.toml", profile=None
    )


def finding(rule_id: str) -> Finding:
    return Finding(
        id=rule_id, name="n", cause="c", outcome="fail", severity="error", title="t",
        layer="torch", detail="It broke.",
    )  # fmt: skip


@pytest.mark.parametrize(("days", "severity"), [(-1, "info"), (0, "info"), (1, "error")])
def test_an_ignore_holds_through_its_last_day(days: int, severity: str) -> None:
    waived, other = ruled(days).waive([finding("FD302"), finding("FD303")])
    assert (waived.severity, other.severity) == (severity, "error")
    assert ("rebuilt soon" in waived.detail) == (severity == "info")


@pytest.mark.parametrize(("days", "state"), [(0, ("known", "absent")), (1, ("absent", "known"))])
def test_the_facts_say_what_is_ignored_and_what_no_longer_is(
    days: int, state: tuple[str, str]
) -> None:
    facts = {fact.path: fact for fact in ruled(days).facts}
    assert (facts["policy.ignored"].state, facts["policy.expired"].state) == state
    assert facts["policy.file"].value == "flashdoctor.toml"
    assert facts["policy.profile"].state == "absent"


def test_what_is_not_set_is_as_without_a_policy() -> None:
    ruling = rule_on(Section(), today=LAST, file="f", profile=None)
    assert (ruling.require, ruling.fail_on, ruling.waived) == ((), "error", {})
