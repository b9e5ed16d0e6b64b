from __future__ import annotations

import json
from collections.abc import Callable

Call = Callable[..., tuple[int, str, str]]


def test_all_claims_are_listed(call_main: Call) -> None:
    code, out, err = call_main("folklore")
    assert (code, err) == (0, "")
    assert "[nvidia-smi-cuda]" in out
    body = json.loads(call_main("folklore", "--format", "json")[1])
    assert body["schema"] == "flashdoctor/folklore/v1"
    assert len(body["claims"]) >= 48
    assert f"{len(body['claims'])} claims" in out


def test_words_bring_the_whole_claim(call_main: Call) -> None:
    code, out, _ = call_main("folklore", "tensor parallel", "power of two")
    assert code == 0
    assert out.startswith("FALSE  The tensor-parallel size must be a power of two\n")
    assert "divide the attention heads" in out
    assert "evidence" in out
    _, out, _ = call_main("folklore", "flash-attn", "T4", "--format", "json")
    [claim] = json.loads(out)["claims"]
    assert (claim["id"], claim["verdict"], claim["since"]) == ("fa2-turing", "false", "2.0.0")
    assert claim["said"].startswith("https://")
    assert {"patterns", "hits"} & set(claim) == set()


def test_unknown_words_are_an_answer_and_unknown_formats_are_not(call_main: Call) -> None:
    code, out, _ = call_main("folklore", "xylophone")
    assert (code, out.splitlines()[0]) == (
        0, "nothing is known about a claim with the words: xylophone",
    )  # fmt: skip
    code, out, err = call_main("folklore", "--format", "yaml")
    assert (code, out) == (2, "")
    assert "--format takes" in err


def test_what_was_asked_is_shown_harmless(call_main: Call) -> None:
    _, out, _ = call_main("folklore", "\x1b[31m::error::x")
    assert "\x1b" not in out
    assert not any(line.lstrip().startswith("::") for line in out.splitlines())
