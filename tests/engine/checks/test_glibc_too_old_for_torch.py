from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.glibc_too_old_for_torch import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


@pytest.mark.parametrize(
    ("words", "symbol"),
    [
        ("/lib64/libc.so.6: version `GLIBC_2.28' not found (required by x)", "GLIBC_2.28"),
        ("libstdc++.so.6: version `GLIBCXX_3.4.29' not found", "GLIBCXX_3.4.29"),
        ("version 'GLIBC_2.32' not found", "GLIBC_2.32"),
    ],
)
def test_the_loaders_words_name_the_symbol(look: Look, words: str, symbol: str) -> None:
    judgement = judge(look({"live.error": f"ImportError: {words}", "os.glibc": "2.35"}))
    assert symbol in judgement.detail


def test_what_was_imported_has_its_glibc_even_if_cuda_did_not_start(look: Look) -> None:
    facts = {
        "torch.version": "2.7.1+cu126",
        "os.glibc": "2.26",
        "live.status": "error",
        "live.torch_version": "2.7.1+cu126",
    }
    assert judge(look(facts)).outcome == "pass"


def test_both_versions_are_told(look: Look) -> None:
    judgement = judge(look({"torch.version": "2.7.1+cu126", "os.glibc": "2.27"}))
    assert "2.27" in judgement.detail
    assert "2.28" in judgement.detail
