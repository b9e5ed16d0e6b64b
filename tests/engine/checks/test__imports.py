from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.engine.checks._imports import failed_import, imports_well, kind_of_error
from flashdoctor.engine.view import MissingFactError

FLASH = "flash_attn|flash_attn_2_cuda"


def test_the_first_failed_module_gives_its_error(look: Any) -> None:
    records = [
        {"module": "flash_attn_2_cuda", "status": "ok"},
        {"module": "flash_attn", "status": "error", "error": "ModuleNotFoundError: einops"},
    ]
    view = look({"live.status": "ok", "live.imports": records})
    assert failed_import(view, FLASH) == "ModuleNotFoundError: einops"
    assert not imports_well(view, FLASH)
    assert imports_well(view, "flash_attn_2_cuda")


def test_a_crash_has_no_words(look: Any) -> None:
    records = [{"module": "flash_attn", "status": "crashed"}]
    view = look({"live.status": "ok", "live.imports": records})
    assert failed_import(view, FLASH) == "crashed"


def test_another_module_or_a_broken_torch_says_nothing(look: Any) -> None:
    other = [{"module": "flash_attn_interface", "status": "error", "error": "x"}]
    for facts in (
        {"live.status": "ok", "live.imports": other},
        {"live.status": "error", "live.imports": [{"module": "flash_attn", "status": "error"}]},
        {},
    ):
        view = look(facts)
        with pytest.raises(MissingFactError):
            failed_import(view, FLASH)
        assert not imports_well(view, FLASH)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("ImportError: libcudart.so.12: cannot open shared object file", "cuda library"),
        ("ImportError: libcublasLt.so.13: cannot open shared object file", "cuda library"),
        ("ImportError: libc10.so: cannot open shared object file", "other"),
        ("libc.so.6: version `GLIBC_2.32' not found (required by x.so)", "system library"),
        ("libstdc++.so.6: version `GLIBCXX_3.4.29' not found", "system library"),
        ("undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs", "other"),
    ],
)
def test_errors_of_the_loader_are_told_apart(error: str, kind: str) -> None:
    assert kind_of_error(error) == kind


@given(st.text())
def test_any_error_is_of_some_kind(text: str) -> None:
    assert kind_of_error(text) in {"cuda library", "system library", "other"}
