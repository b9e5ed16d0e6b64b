"""Every line that a signature knows, as people paste it: it must be met however it is dressed."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Mapping

import pytest

from flashdoctor.data.signatures import load_signatures
from flashdoctor.data.tables import load_tables
from flashdoctor.logs.lines import read_lines
from flashdoctor.logs.scan import MAX_LINE
from flashdoctor.model.log import Signature

TABLES = load_tables()
ROWS = {
    row["id"]: row
    for name in TABLES.group("signatures")
    for row in TABLES.table(name).get("signature", ())
}
HITS = [
    (signature, hit if isinstance(hit, str) else hit["text"])
    for signature in load_signatures(TABLES)
    for hit in ROWS[signature.id]["hits"]
]
BAR = "\r 10%|#   | 1/10 [00:01<00:09]\r 20%|##  | 2/10 [00:02<00:08]\r"

DRESSES: Mapping[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "docker compose": lambda text: f"vllm-1  | {text}",
    "containerd": lambda text: f"2025-01-02T03:04:05.123456789Z stderr F {text}",
    "GitHub Actions": lambda text: f"2025-01-02T03:04:05.1234567Z \x1b[31m{text}\x1b[0m",
    "journald": lambda text: f"Dec 29 15:21:11 node7 python3[1234]: {text}",
    "Ray": lambda text: f"(RayWorker pid=15, ip=10.0.0.2) {text} [repeated 7x across cluster]",
    "torchrun": lambda text: f"[rank0]: {text}",
    "docker's JSON": lambda text: json.dumps({"log": f"{text}\n", "stream": "stderr"}),
    "JSON lines": lambda text: json.dumps({"level": "error", "ts": 1, "msg": text}),
    "a quote": lambda text: f"> {text}",
    "HTML": lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"),
    "pytest": lambda text: f"E       {text.lstrip()}",
    "curly quotes": lambda text: text.replace("'", "\u2019"),
    "behind a progress bar": lambda text: f"{BAR}{text}\r",
}


def broken(text: str, width: int) -> str:
    parts = [text[start : start + width] for start in range(0, len(text), width)]
    return "\n".join(["$ python x.py", *parts, "$ "])


def boxed(text: str) -> str:
    parts = textwrap.wrap(text, 100, break_on_hyphens=False) or [""]
    return "\n".join(f"\u2502 {part:100} \u2502" for part in parts)


BROKEN: Mapping[str, Callable[[str], str]] = {
    "80 columns": lambda text: broken(text, 80),
    "97 columns": lambda text: broken(text, 97),
    "120 columns": lambda text: broken(text, 120),
    "a box": boxed,
}


def is_met(signature: Signature, data: bytes) -> bool:
    for line in read_lines([data]):
        text = line.text[:MAX_LINE]
        if any(keyword in text.lower() for keyword in signature.keywords) and (
            not signature.pattern or re.search(signature.pattern, text)
        ):
            return True
    return False


@pytest.mark.parametrize("dress", DRESSES)
def test_a_known_line_is_met_in_every_dress(dress: str) -> None:
    wear = DRESSES[dress]
    lost = [(row.id, text) for row, text in HITS if not is_met(row, f"{wear(text)}\r\n".encode())]
    assert lost == []


def test_a_known_line_is_met_in_utf16() -> None:
    lost = [(row.id, text) for row, text in HITS if not is_met(row, text.encode("utf-16"))]
    assert lost == []


@pytest.mark.parametrize("dress", BROKEN)
def test_nearly_every_known_line_is_met_where_it_was_broken(dress: str) -> None:
    wear = BROKEN[dress]
    lost = [(row.id, text) for row, text in HITS if not is_met(row, wear(text).encode())]
    assert len(lost) <= len(HITS) // 100, lost
