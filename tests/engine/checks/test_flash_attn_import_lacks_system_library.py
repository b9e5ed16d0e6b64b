from __future__ import annotations

from typing import Any

import pytest

CHECK = "flash-attn-import-lacks-system-library"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("libc.so.6: version `GLIBC_2.32' not found (required by x.so)", "fail"),
        ("libstdc++.so.6: version `GLIBCXX_3.4.29' not found", "fail"),
        ("libstdc++.so.6: version `CXXABI_1.3.13' not found", "fail"),
        ("undefined symbol: _ZN3c104cuda9SetDeviceEi", "pass"),
    ],
)
def test_versions_of_the_c_and_cpp_libraries_are_recognised(
    ask: Any, error: str, outcome: str
) -> None:
    records = [{"module": "flash_attn_2_cuda", "status": "error", "error": error}]
    facts = {"flash_attn.version": "2.8.3", "live.status": "ok", "live.imports": records}
    assert ask(CHECK, facts).outcome == outcome
