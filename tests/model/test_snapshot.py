from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.errors import InputError
from flashdoctor.model import snapshot
from flashdoctor.model.facts import Fact, absent, known, unknown

PATHS = ("gpu.name", "torch.version", "driver.version", "os.glibc")


def facts() -> st.SearchStrategy[Fact]:
    path = st.sampled_from(PATHS)
    text = st.text(max_size=8)
    return st.one_of(
        st.builds(known, path, st.one_of(text, st.integers(), st.booleans()), text),
        st.builds(absent, path, text),
        st.builds(unknown, path, text, text),
    )


@given(st.lists(facts(), max_size=6), st.lists(facts(), max_size=6))
def test_json_round_trip_keeps_everything(first: list[Fact], second: list[Fact]) -> None:
    whole = snapshot.merge(snapshot.of(first), snapshot.of(second))
    again = snapshot.from_json(json.loads(json.dumps(whole.to_json())))
    assert again == whole


@given(st.lists(facts(), max_size=6))
def test_merging_a_snapshot_with_itself_changes_nothing(items: list[Fact]) -> None:
    one = snapshot.of(items)
    assert snapshot.merge(one, one) == one


def test_what_nobody_stated_is_unknown() -> None:
    fact = snapshot.of([])["gpu.name"]
    assert (fact.state, fact.reason) == ("unknown", "not stated")


def test_the_more_trusted_layer_wins_and_the_conflict_is_kept() -> None:
    seen = snapshot.of([known("torch.version", "2.6.0+cu126", "torch/version.py")])
    said = snapshot.of([known("torch.version", "2.6.0", "METADATA")])
    whole = snapshot.merge(seen, said)
    assert whole.value("torch.version") == "2.6.0+cu126"
    (conflict,) = whole.conflicts
    assert (conflict.kept.source, conflict.dropped.source) == ("torch/version.py", "METADATA")


def test_knowledge_beats_ignorance_of_a_more_trusted_layer() -> None:
    unsure = snapshot.of([unknown("gpu.name", "NVML hangs", "NVML")])
    sure = snapshot.of([known("gpu.name", "NVIDIA H200", "nvidia-smi")])
    whole = snapshot.merge(unsure, sure)
    assert whole.value("gpu.name") == "NVIDIA H200"
    assert not whole.conflicts


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (None, "not a flashdoctor snapshot"),
        ({"schema": "flashdoctor/snapshot/v9"}, "not a flashdoctor snapshot"),
        ({"schema": snapshot.SCHEMA, "facts": []}, "`facts` is not an object"),
        ({"schema": snapshot.SCHEMA, "facts": {"a": 1, "b": {"state": "x"}}}, "a: `state`"),
        ({"schema": snapshot.SCHEMA, "facts": {"a": {"state": "known"}}}, "without a value"),
        ({"schema": snapshot.SCHEMA, "facts": {}, "conflicts": [1]}, r"conflicts\[0\]"),
    ],
)
def test_a_broken_snapshot_says_what_is_wrong(body: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        snapshot.from_json(body)


def test_every_mistake_is_named_at_once() -> None:
    body = {"schema": snapshot.SCHEMA, "facts": {"a": {"state": "odd"}, "b": {"state": "known"}}}
    with pytest.raises(InputError) as caught:
        snapshot.from_json(body)
    assert "a:" in caught.value.message
    assert "b:" in caught.value.message
