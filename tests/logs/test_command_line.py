from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.command_line import (
    flag_name,
    read_arguments,
    read_quantity,
    shown,
    skip_prefix,
    split_words,
    visible_flags,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vllm serve x/y --a 1", ["vllm", "serve", "x/y", "--a", "1"]),
        ("a 'b c' \"d e\" f\\ g", ["a", "b c", "d e", "f g"]),
        ("a 'b c", ["a", "'b", "c"]),
        ("a | b", ["a"]),
        ("a && b", ["a"]),
        ("a 2>&1 b", ["a"]),
        ("a > x.log", ["a"]),
        ("a # b", ["a"]),
        ("--x='{\"a\": 1}'", ['--x={"a": 1}']),
        ("", []),
    ],
)
def test_words_as_a_shell_has_them(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("text", "program"),
    [("A=1 B=2 sudo -E nohup vllm serve", "vllm"), ("env A=1 python x.py", "python"),
     ("uv run --with x vllm", "x"), ("srun -n 1 vllm", "vllm"), ("$ vllm", "vllm")],
)  # fmt: skip
def test_what_stands_in_front_of_a_program(text: str, program: str) -> None:
    words = split_words(text)
    assert words[skip_prefix(words)] == program


def test_flags_and_their_values() -> None:
    words = split_words("m --tensor_parallel_size=2 --enforce-eager n -tp 4 --seed -1 --lora a=b")
    arguments = read_arguments(words)
    assert arguments.words == ("m", "n")
    assert arguments.flags == {
        "tensor-parallel-size": "2",
        "enforce-eager": None,
        "tp": "4",
        "seed": "-1",
        "lora": "a=b",
    }
    assert arguments.first("nothing", "tp") == "4"


def test_a_switch_takes_only_a_truth_value() -> None:
    arguments = read_arguments(["--enable-chunked-prefill", "false", "--trust-remote-code", "x"])
    assert arguments.flags == {"enable-chunked-prefill": "false", "trust-remote-code": None}
    assert arguments.words == ("x",)


def test_names_of_flags_keep_what_follows_the_dot() -> None:
    assert flag_name("attention_config.flash_attn_version") == "attention-config.flash_attn_version"


def test_secrets_are_not_shown() -> None:
    words = ["x", "--api-key", "s1", "--hf-token=s2", "--max-num-batched-tokens", "8", "TOKEN=s3"]
    assert shown(words) == (
        "x --api-key <secret> --hf-token=<secret> --max-num-batched-tokens 8 TOKEN=<secret>"
    )
    records = {record["name"]: record["value"] for record in visible_flags(read_arguments(words))}
    assert records["api-key"] == "<secret>"
    assert records["max-num-batched-tokens"] == "8"


@pytest.mark.parametrize(
    ("text", "number"),
    [("32768", 32768), ("32k", 32000), ("32K", 32768), ("1,024", 1024), ("1.5k", 1500),
     ("auto", None), ("-1", None)],
)  # fmt: skip
def test_quantities(text: str, number: int | None) -> None:
    assert read_quantity(text) == number


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    words = split_words(text)
    assert skip_prefix(words) >= 0
    visible_flags(read_arguments(words))
    assert len(shown(words)) <= 600
    read_quantity(text)
