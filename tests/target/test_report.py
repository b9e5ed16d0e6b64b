from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact
from flashdoctor.target.report import checked, facts_of


def read(path: str, value: Any, **more: Any) -> Fact | None:
    item = {"path": path, "state": "known", "value": value, "source": "s", **more}
    found = facts_of({"facts": [item]})
    return found[0] if found else None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("torch.version", "2.6.0+cu124"),
        ("torch.cxx11_abi", False),
        ("torch.installs", 2),
        ("torch.build", "cuda"),
        ("flash_attn.wheel.file", "flash_attn-2.8.3+cu12torch2.8-cp312-cp312-linux_x86_64.whl"),
        ("python.executable", "/usr/bin/python3"),
        ("python.shadowed", []),
        ("python.pythonpath", ["/a", "/b"]),
        ("live.capability", "9.0"),
        ("live.arch_list", ["sm_90a", "compute_120"]),
        ("torch.pins_unmet", [{"package": "a", "required": "==1", "installed": None}]),
    ],
)
def test_a_value_of_the_right_kind_is_kept(path: str, value: Any) -> None:
    fact = read(path, value)
    assert fact is not None
    assert (fact.state, fact.value, fact.source) == ("known", value, "s")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("torch.version", 2.6),
        ("torch.version", ""),
        ("torch.version", "2.6 && reboot"),
        ("torch.cxx11_abi", "yes"),
        ("torch.cxx11_abi", 1),
        ("torch.installs", True),
        ("torch.installs", None),
        ("torch.build", "cuda build"),
        ("python.executable", ""),
        ("python.shadowed", "torch"),
        ("python.shadowed", [1]),
        ("python.shadowed", ["a"] * 5000),
        ("live.capability", "9"),
        ("live.arch_list", ["sm_90", "rm -rf"]),
        ("torch.pins_unmet", [["package"]]),
        ("torch.pins_unmet", [{"package": {"deep": 1}}]),
    ],
)
def test_a_value_of_another_kind_is_unknown(path: str, value: Any) -> None:
    fact = read(path, value)
    assert fact is not None
    assert (fact.state, fact.value) == ("unknown", None)
    assert "right kind" in fact.reason


def test_a_path_outside_the_catalogue_is_dropped() -> None:
    assert read("torch.no_such", "x") is None
    assert read(["torch.version"], "x") is None  # type: ignore[arg-type]  # as an agent may send


def test_absent_and_unknown_keep_their_reason_and_no_value() -> None:
    gone = read("torch.version", "2.6", state="absent", reason="r")
    assert gone is not None
    assert (gone.state, gone.value, gone.reason) == ("absent", None, "r")
    odd = read("torch.version", "2.6", state="sure")
    assert odd is not None
    assert (odd.state, bool(odd.reason)) == ("unknown", True)


def test_texts_lose_control_characters_and_broken_unicode() -> None:
    fact = read("flash_attn.wheel.file", "a\x1b[31m\udc80\x00b")
    assert fact is not None
    assert fact.value == "a[31m?b"
    json.dumps(fact.to_json()).encode("utf-8")


def test_a_record_keeps_its_allowed_keys_alone() -> None:
    value = checked(FACTS["live.imports"], [{"module": "m", "status": "ok", "secret": "x"}])
    assert value == [{"module": "m", "status": "ok"}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ITEM = st.fixed_dictionaries(
    {"path": st.sampled_from(sorted(FACTS)), "state": st.just("known") | JSON, "value": JSON},
    optional={"source": JSON, "reason": JSON},
)


@given(st.lists(ITEM | JSON, max_size=5) | JSON)
def test_any_report_gives_sound_facts(items: Any) -> None:
    for fact in facts_of({"facts": items}):
        assert fact.path in FACTS
        assert (fact.value is not None) == fact.is_known
        assert fact.state != "unknown" or fact.reason
        assert isinstance(json.dumps(fact.to_json(), allow_nan=False), str)
