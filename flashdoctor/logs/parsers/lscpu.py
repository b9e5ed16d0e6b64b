"""`lscpu` in any language: the machine, and the number of its CPUs.

The labels are those of util-linux's translations; what stands behind them is the same in all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flashdoctor.logs.parsers._stated import on
from flashdoctor.logs.statements import REPORT, LineParser
from flashdoctor.model.facts import known
from flashdoctor.model.log import Found, Line

_SOURCE = "lscpu"
_ARCHITECTURES = (
    "architecture", "architektur", "architettura", "arquitectura", "arquitetura", "architektura",
    "arkitektur", "arkkitehtuuri", "mimari", "\u67b6\u6784", "\u67b6\u69cb",
    "\u30a2\u30fc\u30ad\u30c6\u30af\u30c1\u30e3", "\uc544\ud0a4\ud14d\ucc98",
    "\u0430\u0440\u0445\u0438\u0442\u0435\u043a\u0442\u0443\u0440\u0430",
    "\u0430\u0440\u0445\u0456\u0442\u0435\u043a\u0442\u0443\u0440\u0430",
)  # fmt: skip
_MACHINE = re.compile(
    rf"\s{{0,8}}(?:{'|'.join(_ARCHITECTURES)})\s{{0,2}}[:\uff1a]\s{{1,80}}(?P<machine>x86_64|aarch64)\s*$",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\s{0,8}(?:CPU\(s\)|Processeur\(s\)|CPU|Prozessor\(en\))\s{0,2}[:\uff1a]\s{2,80}(?P<count>\d{1,5})\s*$"
)


def _read(line: Line) -> Iterator[Found]:
    machine = _MACHINE.match(line.text)
    if machine:
        platform = f"linux_{machine['machine'].lower()}"
        yield from on(line, [known("os.platform", platform, _SOURCE)], REPORT)
    count = _COUNT.match(line.text)
    if count:
        yield from on(line, [known("os.cpu_count", int(count["count"]), _SOURCE)], REPORT)


PARSER = LineParser(
    kind="lscpu", keywords=("x86_64", "aarch64", "cpu(s):", "cpu:  ", "processeur(s)"), read=_read
)
