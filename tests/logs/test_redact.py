from __future__ import annotations

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.redact import SECRET, redact

WORDS = string.ascii_letters + string.digits
TOKEN = "hf_" + "aB3" * 10
KEY_BODY = ["b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gt"] * 5


def redacted(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return "".join(redact([[data]]))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain line\n\nlast", "plain line\n\nlast\n"),
        ("\x1b[31mred\x1b[0m\r\n", "red\n"),
        (f"export HF_TOKEN={TOKEN}\n", f"export HF_TOKEN={SECRET}\n"),
        ("hf_aB3aB3\x1b[31maB3aB3aB3aB3aB3aB3\n", f"{SECRET}\n"),
        (
            "Dec 29 15:21:11 gpu01 vllm[3]: at 10.0.0.7\n",
            "Dec 29 15:21:11 <host> vllm[3]: at <ip>\n",
        ),
        (
            "2025-12-29T15:21:11.1+01:00 gpu01 vllm[12]: /home/jo/x\n",
            "2025-12-29T15:21:11.1+01:00 <host> vllm[12]: ~/x\n",
        ),
        ("(base) jo@gpu01:~$ pip list\n", "(base) <user>@<host>:~$ pip list\n"),
        ('"api_key":\n  "abc"\nnext\n', f'"api_key":\n{SECRET}\nnext\n'),
        (
            "- name: HF_TOKEN\n  value: ab c\nnext\n",
            f"- name: HF_TOKEN\n  value: {SECRET} c\nnext\n",
        ),
        ("- name: HF_HOME\n  value: ab\n", "- name: HF_HOME\n  value: ab\n"),
        (
            f"token: eyJ{'aB3' * 9}.{'aB3' * 9}\n  {'c2l' * 9}\n  torch 2.9\n",
            f"token: {SECRET}\n{SECRET}\n  torch 2.9\n",
        ),
        (" 10%| | 1/9\r 20%|#| 2/9\rdone\n", " 20%|#| 2/9\ndone\n"),
    ],
)
def test_what_is_cut_and_what_stays(text: str, shown: str) -> None:
    assert redacted(text) == shown


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("OPENSSH PRIVATE KEY", ""),
        ("RSA PRIVATE KEY", "vllm-1  | "),
        ("PGP PRIVATE KEY BLOCK", "> "),
    ],
)
def test_a_private_key_of_many_lines_is_cut(name: str, prefix: str) -> None:
    key = [
        f"-----BEGIN {name}-----",
        "Proc-Type: 4,ENCRYPTED",
        "",
        *KEY_BODY,
        f"-----END {name}-----",
    ]
    text = "\n".join(prefix + line for line in ["before", *key, "after 10.0.0.7"])
    shown = redacted(text + "\n")
    assert not any(line in shown for line in KEY_BODY)
    assert shown.startswith(f"{prefix}before\n")
    assert shown.endswith(f"{prefix}after <ip>\n")
    assert shown.count("\n") == text.count("\n") + 1


def test_a_line_that_another_process_wrote_into_a_key_stays() -> None:
    text = "\n".join(
        ["-----BEGIN PRIVATE KEY-----", KEY_BODY[0], "INFO the server is up", KEY_BODY[1]]
    )
    assert redacted(text) == f"{SECRET}\n{SECRET}\nINFO the server is up\n{SECRET}\n"


def test_a_key_that_never_ends_does_not_hide_the_rest() -> None:
    text = "-----BEGIN PRIVATE KEY-----\n" + "word\n" * 400 + "RuntimeError: x\n"
    assert redacted(text).endswith("word\nRuntimeError: x\n")


def test_a_token_broken_by_a_terminal_is_cut_to_its_end() -> None:
    line = f"{'x' * 50} --token {TOKEN}"
    broken = f"{line[:80]}\n{line[80:]} and more\n"
    assert redacted(broken) == f"{'x' * 50} --token {SECRET}\n{SECRET} and more\n"


def test_a_secret_anywhere_in_a_line_of_a_megabyte_is_cut() -> None:
    words = "\x1b[1msome words\x1b[0m of no interest " * 8_000
    shown = redacted(f"{words}{TOKEN} {words}password={TOKEN} {words}\nlast\n")
    assert TOKEN not in shown
    assert shown.count(SECRET) == 2
    assert shown.endswith("\nlast\n")
    assert "\x1b" not in shown
    assert shown.count("of no interest") == 24_000


@given(
    st.lists(st.text(WORDS + " =:/", max_size=40), max_size=8),
    st.text(WORDS, min_size=30, max_size=40),
    st.integers(0, 400),
)
def test_a_token_never_survives(lines: list[str], word: str, cut: int) -> None:
    token = f"hf_{word}"
    data = "\n".join([*lines, f"HF_TOKEN={token} {token}", *lines]).encode()
    shown = "".join(redact([[data[:cut], data[cut:]]]))
    assert token not in shown
    assert shown == "".join(redact([[data]]))


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=10))
def test_scrubbing_twice_changes_nothing_more(lines: list[str]) -> None:
    once = redacted("\n".join(lines))
    assert redacted(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        b"x", b"\n", b"a:", b"a@", b"eyJ", b"1.2.3.", b"key=", b"hf_a ", b"/home/", b"0a:", b"~a",
        b"-----BEGIN PRIVATE KEY-----\n", b"?token=", b"password='", b"C:/Users/", b"GPU-a1-",
        b"\x1b[", b"\r", b"A b ", b"curl -u ", b"a 1 0.0 0.0 1 ", b"-rw-r--r-- 1 ",
        b"docker login ", b"name: a_key, value: ", b"a.b:1:1 [0] ", b"/scratch/a",
    ],
)  # fmt: skip
def test_hostile_text_takes_no_longer_than_its_length_allows(piece: bytes) -> None:
    start = time.process_time()
    for _ in redact([[piece * (500_000 // len(piece))]]):
        pass
    assert time.process_time() - start < 4  # 0.7 s for the slowest on a slow machine
