from __future__ import annotations

import re
from collections.abc import Callable

from flashdoctor.model.finding import Report
from flashdoctor.render.snapshot_text import snapshot_text
from flashdoctor.render.style import Style


def test_golden(build_report: Callable[[str], Report], golden: Callable[[str, str], None]) -> None:
    texts = [
        snapshot_text(build_report(name).snapshot, Style()) for name in ("conflicts", "hostile")
    ]
    golden("snapshot.txt", "=====\n".join(texts))


def test_every_fact_has_its_state_and_source(build_report: Callable[[str], Report]) -> None:
    text = snapshot_text(build_report("undetermined").snapshot, Style(width=120))
    assert re.search(r"torch\.version +2\.7\.1\+cu126 \(torch/version\.py\)\n", text)
    assert "not known (NVML: driver not loaded) (NVML)" in text
    assert re.search(
        r"vllm\.version +absent ", snapshot_text(build_report("pass").snapshot, Style())
    )
