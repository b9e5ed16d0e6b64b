"""A snapshot as text: one fact a line, with its source."""

from __future__ import annotations

from flashdoctor.model.facts import Fact
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.clean import clean, defuse
from flashdoctor.render.findings import conflict_lines
from flashdoctor.render.layout import pairs
from flashdoctor.render.style import Style
from flashdoctor.render.values import state_text


def snapshot_text(snapshot: Snapshot, style: Style) -> str:
    """Return every fact by path, then the differences between sources."""
    lines = pairs([(clean(fact.path), _text(fact)) for fact in snapshot], style.columns, 0)
    conflicts = conflict_lines(snapshot.conflicts, style._replace(verbose=True))
    if conflicts:
        lines += ["", *conflicts]
    return "".join(defuse(line) + "\n" for line in lines)


def _text(fact: Fact) -> str:
    text = "absent" if fact.state == "absent" else state_text(fact, full=True)
    return f"{text}  ({clean(fact.source)})" if fact.source else text
