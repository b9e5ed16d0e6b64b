"""Every signature against its own hits and misses, alone and on text made to slow it down."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from flashdoctor.data.signatures import load_signatures
from flashdoctor.data.tables import load_tables
from flashdoctor.engine.derive import derive
from flashdoctor.engine.matching import counts
from flashdoctor.logs.captures import facts_of
from flashdoctor.logs.patterns import meets
from flashdoctor.logs.scan import MAX_LINE
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known_or_absent
from flashdoctor.model.log import Match, Signature
from flashdoctor.model.snapshot import Snapshot

TABLES = load_tables()
SIGNATURES = load_signatures(TABLES)
ROWS = {
    row["id"]: row
    for name in TABLES.group("signatures")
    for row in TABLES.table(name).get("signature", ())
}
SLOWEST_S = 0.02
"""A line of 4096 characters that was made for one pattern; 16 of them make 64 kB."""


def samples(signature: Signature, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the lines that a row gives, each with the facts that go with it."""
    for sample in ROWS[signature.id][key]:
        written = sample if isinstance(sample, dict) else {"text": sample}
        yield written["text"], written.get("facts", {})


def accepts(signature: Signature, text: str, stated: Mapping[str, Any]) -> bool:
    """Whether the row counts for a paste that holds this line and these facts."""
    if not any(keyword in text.lower() for keyword in signature.keywords):
        return False
    met = meets(signature, text[:MAX_LINE])
    if not met:
        return False
    given = {
        path: known_or_absent(path, None if value == "absent" else value, "sample")
        for path, value in stated.items()
    }
    found = snapshots.of(facts_of(signature, met if isinstance(met, re.Match) else None))
    facts = Snapshot({**found.facts, **given})
    match = Match(signature=signature, line=1, text=text, facts=facts)
    return counts(match, derive(facts, TABLES), frozenset())


EACH = pytest.mark.parametrize("signature", SIGNATURES, ids=lambda row: str(row.id))


@EACH
def test_the_hits_of_a_row_are_met(signature: Signature) -> None:
    lost = [
        text for text, facts in samples(signature, "hits") if not accepts(signature, text, facts)
    ]
    assert lost == []


@EACH
def test_the_misses_of_a_row_are_not_met(signature: Signature) -> None:
    met = [text for text, facts in samples(signature, "misses") if accepts(signature, text, facts)]
    assert met == []


@EACH
def test_a_pattern_stays_quick_on_text_made_of_its_own_pieces(signature: Signature) -> None:
    for text in pieces(signature):
        line = (text * (MAX_LINE // len(text) + 1))[:MAX_LINE]
        assert min(cost(signature, line) for _ in range(3)) < SLOWEST_S, text


def pieces(signature: Signature) -> set[str]:
    found = {f"{keyword} " for keyword in signature.keywords[:3]}
    for text, _ in list(samples(signature, "hits"))[:2]:
        found |= {text[: len(text) * part // 3] for part in (1, 2, 3)} - {""}
    return found


def cost(signature: Signature, line: str) -> float:
    start = time.process_time()
    meets(signature, line)
    return time.process_time() - start
