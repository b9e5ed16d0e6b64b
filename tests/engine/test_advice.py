from __future__ import annotations

from flashdoctor.engine.advice import fill
from flashdoctor.model import snapshot
from flashdoctor.model.facts import known
from flashdoctor.model.rule import Fix

STATED = snapshot.of([known("torch.version", "2.6.0+cu124", "x")])


def test_values_are_filled_in_without_their_local_tag() -> None:
    fix = Fix(text="Keep torch {torch.version}.", commands=("pip install torch=={torch.version}",))
    advice = fill(fix, STATED, {})
    assert advice.text == "Keep torch 2.6.0."
    assert advice.commands == ("pip install torch==2.6.0",)


def test_a_command_with_an_unknown_value_is_left_out() -> None:
    fix = Fix(text="Text.", commands=("pip install vllm=={vllm.version}", "nvidia-smi"))
    assert fill(fix, STATED, {}).commands == ("nvidia-smi",)


def test_what_a_check_computed_wins() -> None:
    fix = Fix(text="Text.", commands=("pip install torch --index-url .../{advice.index}",))
    advice = fill(fix, STATED, {"advice.index": "cu126"})
    assert advice.commands == ("pip install torch --index-url .../cu126",)
