from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.python_package_shadowed import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


@pytest.mark.parametrize(
    ("hidden", "require", "severity"),
    [
        (["torch"], [], None),
        (["numpy"], [], None),
        (["vllm"], [], "warning"),
        (["vllm"], ["vllm"], None),
        (["peft", "triton"], [], None),
    ],
)
def test_it_weighs_what_is_hidden(
    look: Look, hidden: list[str], require: list[str], severity: str | None
) -> None:
    judgement = judge(look({"python.shadowed": hidden}, *require))
    assert (judgement.outcome, judgement.severity) == ("fail", severity)


def test_flash_attn_has_a_rule_of_its_own(look: Look) -> None:
    judgement = judge(look({"python.shadowed": ["flash_attn", "ray"]}))
    assert judgement.detail == "Hidden: ray."
