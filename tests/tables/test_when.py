from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.schema import OPERATORS
from flashdoctor.data.when import condition_mistakes, value_mistakes
from flashdoctor.model.catalog import FACTS


def check(node: Any) -> list[str]:
    return list(condition_mistakes("when", node))


def compare(fact: str, op: str, value: Any) -> dict[str, Any]:
    return {"fact": fact, "op": op, "value": value}


def refer(fact: str, op: str, ref: Any) -> dict[str, Any]:
    return {"fact": fact, "op": op, "ref": ref}


GOOD = [
    compare("torch.version", "lt", "2.6"),
    compare("torch.version", "same_minor", "2.6.0"),
    compare("torch.version", "satisfies", ">=2.1,<3,!=2.5.*"),
    compare("gpu.compute_capability", "ge", "8.0"),
    compare("gpu.compute_capability", "in", ["8.6", "8.9"]),
    compare("driver.branch", "gt", 580),
    compare("torch.cxx11_abi", "eq", value=True),
    compare("os.system", "not_in", ["Windows", "Darwin"]),
    compare("torch.arch_list", "lacks", "sm_90"),
    compare("gpu.compute_capabilities", "contains", "9.0"),
    compare("nvml.error", "matches", "(?i)mismatch"),
    {"fact": "flash_attn.version", "op": "absent"},
    {"fact": "gpu.devices", "op": "known"},
    refer("flash_attn.wheel.torch", "differs_minor", "torch.version"),
    refer("flash_attn.wheel.cxx11_abi", "ne", "torch.cxx11_abi"),
    refer("torch.version", "violates", "vllm.torch_pin"),
    refer("gpu.compute_capability", "not_in", "gpu.compute_capabilities"),
    refer("driver.branch", "lt", "gpu.min_driver_branch"),
    {"required": "flash-attn"},
    {"not": {"any": [{"required": "vllm"}, {"fact": "vllm.version", "op": "known"}]}},
]


@pytest.mark.parametrize("node", GOOD)
def test_what_can_be_judged_has_no_mistakes(node: Any) -> None:
    assert check(node) == []
    assert check({"all": [node, {"not": node}]}) == []


@pytest.mark.parametrize(
    ("node", "mistake"),
    [
        ([], "when: expected a table, got list"),
        ({}, "when: expected one of fact, all, any, not, required, got "),
        ({"every": []}, "when: unknown word 'every'"),
        ({"all": []}, "when.all: expected a list of at least one condition"),
        ({"any": {}}, "when.any: expected a list of at least one condition"),
        ({"required": "fa9"}, "when.required: expected one of sdpa, flash-attn, fa3,"),
        ({"not": {"any": [5]}}, "when.not.any[0]: expected a table, got int"),
        (compare("torch.versoin", "eq", "2"), "did you mean 'torch.version'?"),
        (compare("torch.version", "==", "2"), "when.op: expected one of eq, ne, lt"),
        ({"fact": "torch.version", "op": "lt"}, "when: expected `value` or `ref`, one of them"),
        (
            {"fact": "torch.version", "op": "lt", "value": "2", "ref": "torch.cuda"},
            "when: expected `value` or `ref`, one of them",
        ),
        (compare("torch.version", "known", "2"), "when: 'known' takes neither"),
        (compare("torch.version", "lt", "new"), "when.value: expected a version, got 'new'"),
        (compare("torch.version", "lt", 2.6), "when.value: expected text, got number"),
        (compare("torch.version", "satisfies", "2.6"), "expected version specifiers such as"),
        (compare("driver.branch", "lt", "580"), "when.value: expected a number, got text"),
        (compare("torch.cxx11_abi", "lt", value=True), "'lt' does not fit torch.cxx11_abi, a bool"),
        (compare("torch.cxx11_abi", "eq", "yes"), "when.value: expected true or false, got text"),
        (compare("os.system", "in", []), "when.value: expected a list of at least one value"),
        (compare("driver.branch", "in", [1, "2"]), "when.value[1]: expected a number, got text"),
        (compare("torch.arch_list", "eq", "sm_90"), "'eq' does not fit torch.arch_list, a list"),
        (compare("torch.arch_list", "contains", "hopper"), "expected a target, got 'hopper'"),
        (compare("gpu.devices", "contains", "x"), "'contains' does not fit gpu.devices, a records"),
        (compare("nvml.error", "matches", "("), "when.value: not a regular expression"),
        (compare("nvml.error", "matches", 5), "when.value: not a regular expression"),
        (compare("os.glibc", "matches", "2"), ""),
        (refer("os.glibc", "lt", "os.cpu_count"), "when.ref: os.cpu_count, a int, cannot stand"),
        (refer("torch.version", "lt", "nope"), "when.ref: no fact 'nope'"),
        (refer("torch.version", "lt", 5), "when.ref: expected text, got int"),
        (
            {**compare("torch.version", "lt", "2"), "operator": "lt"},
            "when.operator: unknown key",
        ),
    ],
)
def test_what_cannot_be_judged_is_named(node: Any, mistake: str) -> None:
    found = check(node)
    assert len(found) == (1 if mistake else 0)
    assert mistake in "".join(found)


def test_every_mistake_in_a_tree_is_reported() -> None:
    node = {"all": [{"fact": "a", "op": "b"}, {"any": [{"required": 1}, {"not": []}]}]}
    assert [mistake.split(":")[0] for mistake in check(node)] == [
        "when.all[0].fact",
        "when.all[0].op",
        "when.all[1].any[0].required",
        "when.all[1].any[1].not",
    ]


@pytest.mark.parametrize("kind", sorted({spec.kind for spec in FACTS.values()}))
def test_every_kind_takes_some_operator_beside_known(kind: str) -> None:
    path = next(path for path, spec in FACTS.items() if spec.kind == kind)
    fitting = [
        op
        for op in OPERATORS
        if not any("does not fit" in mistake for mistake in check(compare(path, op, "9.0")))
    ]
    assert {"known", "absent"} <= set(fitting)
    assert len(fitting) > 2 or kind == "records"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from([*FACTS][:20])
    | st.sampled_from(OPERATORS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["fact", "op", "value", "ref", "all", "any", "not", "required", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(VALUES)
def test_no_condition_breaks_the_check(node: Any) -> None:
    assert all(mistake.startswith("when") for mistake in check(node))


@given(st.sampled_from([*{spec.kind for spec in FACTS.values()}, "target", "any"]), VALUES)
def test_no_value_breaks_the_check(kind: str, value: Any) -> None:
    assert len(list(value_mistakes("here", kind, value))) <= 1
