from __future__ import annotations

import pytest

from flashdoctor.engine.when import OPERATORS, STATE_OPERATORS
from flashdoctor.render.conditions import condition_lines


@pytest.mark.parametrize("operator", [*OPERATORS, *STATE_OPERATORS])
def test_every_operator_has_words(operator: str) -> None:
    (line,) = condition_lines({"fact": "torch.version", "op": operator, "value": "2.6"})
    assert line.startswith("torch.version ")
    assert f" {operator} " not in line


def test_groups_are_an_outline() -> None:
    condition = {
        "any": [
            {"not": {"fact": "torch.cxx11_abi", "op": "eq", "value": True}},
            {"all": [{"required": "vllm"}, {"fact": "gpu.count", "op": "ge", "value": 2}]},
        ]
    }
    assert condition_lines(condition, 2) == [
        "  any of",
        "    not",
        "      torch.cxx11_abi is new",
        "    all of",
        "      vllm is required",
        "      gpu.count is at least 2",
    ]


def test_a_reference_is_named_by_its_path() -> None:
    condition = {"fact": "vllm.cuda", "op": "differs_major", "ref": "torch.cuda"}
    assert condition_lines(condition) == ["vllm.cuda differs in its major version from torch.cuda"]
