from __future__ import annotations

from typing import Any

CHECK = "glibc-too-old-for-vllm"


def test_a_tag_that_promised_too_much_is_corrected(ask: Any) -> None:
    judgement = ask(CHECK, {"os.glibc": "2.31", "vllm.version": "0.20.0"})
    assert judgement.detail == "vLLM 0.20.0 needs glibc 2.34, this system has 2.31."
    assert ask(CHECK, {"os.glibc": "2.31", "vllm.version": "0.21.0"}).outcome == "pass"


def test_what_the_file_asks_for_counts_before_the_tag(ask: Any) -> None:
    facts = {"os.glibc": "2.31", "vllm.version": "0.20.0", "vllm.extension_glibc": "2.30"}
    assert ask(CHECK, facts).outcome == "pass"
