from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.engine.when import Trace, evaluate
from flashdoctor.model import snapshot
from flashdoctor.model.facts import absent, known, unknown

NOWHERE = snapshot.of([])


def ask(condition: dict[str, Any], facts: dict[str, Any], required: tuple[str, ...] = ()) -> Any:
    stated = snapshot.of(
        absent(path, "test") if value is None else known(path, value, "test")
        for path, value in facts.items()
    )
    return evaluate(condition, stated, frozenset(required), Trace())


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        ("lt", "525.60.13", "535.161.07", True),
        ("lt", "535.54.03", "535.161.07", True),
        ("ge", "12.10", "12.9", True),
        ("eq", "2.6.0+cu124", "2.6.0", True),
        ("gt", "2.7.4.post1", "2.7.4", True),
        ("same_minor", "2.6.0", "2.6.1+cu126", True),
        ("differs_minor", "2.6.0", "2.7.0", True),
        ("differs_major", "12.4", "13.0", True),
        ("same_major", "12.4", "12.9", True),
        ("satisfies", "2.6.0+cu124", ">=2.5,<2.7", True),
        ("satisfies", "2.8.0a0+nv25", ">=2.7", True),
        ("violates", "2.9.0", "==2.8.0", True),
        ("violates", "2.8.0+cu128", "==2.8.0", False),
        ("satisfies", "2.8.0", "not a specifier", None),
        ("lt", "not a version", "2.8.0", None),
        ("in", "2.8.0", ["2.8.0", "2.9.0"], True),
        ("not_in", "2.8.0", ["2.9.0"], True),
        ("matches", "2.8.0a0+nv25", "a0", True),
    ],
)
def test_versions_compare(op: str, left: str, right: Any, *, expected: bool | None) -> None:
    condition = {"fact": "torch.version", "op": op, "value": right}
    assert ask(condition, {"torch.version": left}) is expected


def test_capabilities_compare_as_numbers() -> None:
    condition = {"fact": "gpu.compute_capability", "op": "lt", "value": "10.0"}
    assert ask(condition, {"gpu.compute_capability": "9.0"}) is True
    assert ask(condition, {"gpu.compute_capability": "12.0"}) is False


def test_a_list_contains_and_lacks() -> None:
    facts = {"vllm.bundled": ["fa2", "fa3"]}
    assert ask({"fact": "vllm.bundled", "op": "contains", "value": "fa3"}, facts) is True
    assert ask({"fact": "vllm.bundled", "op": "lacks", "value": "fa4"}, facts) is True


def test_a_reference_compares_two_facts() -> None:
    condition = {"fact": "flash_attn.wheel.cxx11_abi", "op": "ne", "ref": "torch.cxx11_abi"}
    facts = {"flash_attn.wheel.cxx11_abi": False, "torch.cxx11_abi": True}
    assert ask(condition, facts) is True


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "ge", "in", "not_in", "matches", "violates"])
def test_any_comparison_with_something_absent_is_false(op: str) -> None:
    condition = {"fact": "torch.version", "op": op, "value": "2.0"}
    assert ask(condition, {"torch.version": None}) is False


def test_an_unknown_operand_is_unknown_and_named() -> None:
    trace = Trace()
    stated = snapshot.of([unknown("torch.version", "hung", "agent")])
    condition = {"fact": "torch.version", "op": "lt", "value": "2.0"}
    assert evaluate(condition, stated, frozenset(), trace) is None
    assert trace.missing == ["torch.version"]


def test_known_and_absent_ask_for_the_state() -> None:
    assert ask({"fact": "vllm.version", "op": "absent"}, {"vllm.version": None}) is True
    assert ask({"fact": "vllm.version", "op": "known"}, {"vllm.version": None}) is False
    assert ask({"fact": "vllm.version", "op": "known"}, {"vllm.version": "0.9.0"}) is True
    assert ask({"fact": "vllm.version", "op": "known"}, {}) is None


def test_required_looks_at_what_the_user_asked_for() -> None:
    assert ask({"required": "flash-attn"}, {}, ("flash-attn",)) is True
    assert ask({"required": "flash-attn"}, {}) is False


TRUTHS = {
    True: {"fact": "torch.version", "op": "known"},
    False: {"fact": "torch.version", "op": "absent"},
    None: {"fact": "vllm.version", "op": "known"},
}
KLEENE = st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=5)


@given(KLEENE)
def test_all_and_any_are_kleenes(parts: list[bool | None]) -> None:
    facts = {"torch.version": "2.6.0"}
    conditions = [TRUTHS[part] for part in parts]
    both = ask({"all": conditions}, facts)
    either = ask({"any": conditions}, facts)
    assert both is (False if False in parts else None if None in parts else True)
    assert either is (True if True in parts else None if None in parts else False)
    assert ask({"not": {"all": conditions}}, facts) is (None if both is None else not both)
