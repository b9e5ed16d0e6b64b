"""What a launch is judged by, and how a finding of a kind is made. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flashdoctor.data.tables import Tables
from flashdoctor.logs.command_line import shown
from flashdoctor.model.finding import Advice, Evidence, Finding
from flashdoctor.model.lint import LintFinding
from flashdoctor.model.rule import Severity
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.tune.argv import Given, Parsed
from flashdoctor.tune.flags import FlagTable, Row
from flashdoctor.tune.forms import Command
from flashdoctor.tune.kinds import Kind
from flashdoctor.tune.words import Word


class Context(NamedTuple):
    """What a launch is judged by."""

    command: Command
    parsed: Parsed
    table: FlagTable
    tables: Tables
    facts: Snapshot

    @property
    def version(self) -> str:
        """The release as it was named."""
        return self.table.release.version

    def rows(self, table: str, section: str) -> Iterator[Row]:
        """Yield the rows of launch/<table> that hold for the release."""
        for row in self.tables.table(f"launch/{table}").get(section, ()):
            if self.table.release.has(row):
                yield row


def make(  # noqa: PLR0913 - a finding is that much
    kind: Kind,
    place: Word,
    title: str,
    *,
    flag: str,
    replacement: str | None = None,
    advice: str = "",
    detail: str = "",
    severity: Severity | None = None,
    sources: Sequence[str] = (),
) -> LintFinding:
    """Make a finding about the word at `place`."""
    said = advice or (f"Write {replacement} instead." if replacement else "")
    finding = Finding(
        id=kind.id,
        name=kind.name,
        cause=kind.label,
        outcome="fail",
        severity=severity or kind.severity,
        title=title,
        layer=kind.layer,
        detail=detail,
        evidence=(Evidence(shown([place]), place.where or "the command", line=place.line),),
        fix=Advice(text=said),
        sources=tuple(sources),
    )
    return LintFinding(
        finding=finding, flag=flag, line=place.line, replacement=replacement, where=place.where
    )


def source_of(row: Mapping[str, Any], meta: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return where a row was read, itself or by the `meta` of its table."""
    text = row.get("source") or (meta or {}).get("source")
    checked = row.get("checked") or (meta or {}).get("checked")
    return (f"{text} (checked {checked})",) if text else ()


def text_of(given: Given) -> str:
    """Return a flag with two dashes, as its release calls it."""
    return f"--{given.flag.name}" if given.flag else str(given.written)
