from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor import pipeline
from flashdoctor.errors import UsageError
from flashdoctor.policy.parser import choose, parse_policy
from flashdoctor.policy.policy import Policy

DAY = date(2026, 12, 31)
IGNORE = {"id": "FD302", "reason": "the image is rebuilt in December", "until": DAY}


def read(table: Any) -> Policy:
    return parse_policy(table, pipeline.rules(), "flashdoctor.toml")


def test_everything_that_can_be_set() -> None:
    table = {
        "require": ["vllm", "sdpa", "vllm"],
        "fail-on": "warning",
        "ignore": [IGNORE],
        "expect": ["driver >=  580"],
        "profile": {"ci": {"require": []}},
    }
    base = read(table).base
    assert (base.require, base.fail_on) == (("vllm", "sdpa"), "warning")
    assert [item.text for item in base.expect or ()] == ["driver >= 580"]
    assert [(item.id, item.until) for item in base.ignore or ()] == [("FD302", DAY)]


def test_a_profile_replaces_what_it_sets_and_keeps_the_rest() -> None:
    table = {
        "require": ["vllm"],
        "ignore": [IGNORE],
        "profile": {"ci": {"require": [], "fail-on": "never"}, "prod": {"ignore": []}},
    }
    policy = read(table)
    ci, prod = (choose(policy, name, "f") for name in ("ci", "prod"))
    assert (ci.require, ci.fail_on, len(ci.ignore or ())) == ((), "never", 1)
    assert (prod.require, prod.fail_on, prod.ignore) == (("vllm",), None, ())
    with pytest.raises(UsageError, match=r"no profile 'pord', did you mean 'prod'"):
        choose(policy, "pord", "f")


def test_a_rule_may_be_named_and_a_reason_is_scrubbed() -> None:
    named = {**IGNORE, "id": "flash-attn-built-for-other-torch", "reason": "see /home/ann/x"}
    [item] = read({"ignore": [named]}).base.ignore or ()
    assert item.id == "FD302"
    assert "ann" not in item.reason


WRONG: list[tuple[Any, str]] = [
    ([], "expected a table, got a list"),
    ({"requre": []}, "no setting is called 'requre', did you mean 'require'"),
    ({"require": "vllm"}, "require: expected a list, got text"),
    ({"require": ["vlm"]}, "require[0]: expected sdpa,"),
    ({"fail-on": True}, "fail-on: expected text, got true or false"),
    ({"expect": ["driver"]}, "expect[0]: 'driver' is neither"),
    ({"expect": [1]}, "expect[0]: expected text, got a number"),
    ({"ignore": ["FD302"]}, "ignore[0]: expected { id, reason, until }, got text"),
    ({"ignore": [{**IGNORE, "id": "FD999"}]}, "id: no rule 'FD999'"),
    ({"ignore": [{**IGNORE, "id": "FD3"}]}, "id: no rule 'FD3'"),
    ({"ignore": [{**IGNORE, "id": "FD911"}]}, "judges the policy itself"),
    ({"ignore": [{**IGNORE, "reason": " "}]}, "reason: a reason has to be given"),
    ({"ignore": [{"id": "FD302", "until": DAY}]}, "reason: missing"),
    ({"ignore": [{"id": "FD302", "reason": "x"}]}, "until: missing"),
    ({"ignore": [{**IGNORE, "until": "2026-12-31"}]}, "without quotes, got text"),
    ({"ignore": [{**IGNORE, "until": datetime(2026, 1, 1, tzinfo=timezone.utc)}]}, "got datetime"),
    ({"ignore": [{**IGNORE, "unitl": 1}]}, "did you mean 'until'"),
    ({"ignore": [IGNORE, IGNORE]}, "FD302 stands there 2 times"),
    ({"profile": 3}, "profile: expected tables"),
    ({"profile": {"ci": 3}}, "profile.ci: expected a table"),
    ({"profile": {"ci": {"profile": {}}}}, "profile.ci: no setting is called 'profile'"),
]


@pytest.mark.parametrize(("table", "said"), WRONG)
def test_a_mistake_is_named(table: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(table)
    assert said in caught.value.message


def test_all_mistakes_are_named_at_once() -> None:
    table = {
        "require": ["vlm"],
        "expect": ["x", "driver >= 5", "y"],
        "ignore": [{"id": "FD999"}],
        "profile": {"ci": {"fail-on": "no"}},
    }
    with pytest.raises(UsageError) as caught:
        read(table)
    for place in ("require[0]", "expect[0]", "expect[2]", "reason: m", "until: m", "profile.ci.f"):
        assert place in caught.value.message


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.dates()
    | st.sampled_from(["FD302", "vllm", "driver >= 580", "error", "kernel fa3 proven"])
)  # fmt: skip
KEYS = st.text(max_size=5) | st.sampled_from(
    ["require", "fail-on", "ignore", "expect", "profile", "id", "reason", "until"]
)
TABLES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5)
)


@given(TABLES)
def test_any_table_is_read_or_refused(table: Any) -> None:
    with suppress(UsageError):
        assert isinstance(read(table), Policy)
