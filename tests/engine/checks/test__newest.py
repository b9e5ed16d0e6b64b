from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("package", "newest"),
    [("vllm", "0.33.0"), ("transformers", "5.24.0"), ("flash_attn", "2.8.3.post2")],
)
def test_only_what_came_after_the_tables_is_newer(ask: Any, package: str, newest: str) -> None:
    check = f"{package}-newer-than-matrix"
    path = f"{package}.version"
    assert ask(check, {path: newest}).outcome == "pass"
    assert ask(check, {path: "0.1.0"}).outcome == "pass"
    judgement = ask(check, {path: "99.0"})
    assert judgement.detail == f"99.0 is newer than {newest}, the newest that was looked at."
