"""The age of rows, what verifying them found, and proposed rows, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flashdoctor.model.upkeep import Difference, Refresh, Unread, Verification
from flashdoctor.render.clean import clean, defuse
from flashdoctor.render.layout import hang, indented, joined, table
from flashdoctor.render.style import Style, Tone

_LONG = 600
_NAME = 48


def ages_text(rows: Sequence[tuple[int, str, str, str]], days: int, total: int) -> str:
    """Return one row a line: its age in days, the day it was checked, where it stands, its name."""
    if not rows:
        return f"none of {total} rows is {days} days old\n"
    head = ("days", "checked", "table", "row")
    lines = [(str(age), checked, where, clean(name, _NAME)) for age, checked, where, name in rows]
    count = f"{len(rows)} of {total} rows are {days} days old or older"
    return _text([*table([head, *lines]), "", count])


def verification_text(found: Verification, style: Style) -> str:
    """Return the outcome, each difference, what could not be read, and what it cost."""
    blocks = [
        _headline(found, style),
        *(_difference(item, style) for item in found.differences),
        list(_unread(found.unread, style)),
        _cost(found, style),
    ]
    return _text(joined(blocks))


def _headline(found: Verification, style: Style) -> list[str]:
    tone: Tone = "good" if found.exit_code == 0 else "error"
    count = len(found.differences)
    words = "1 difference" if count == 1 else f"{count} differences"
    said = f"{words}: {found.rows} of {found.of} rows, {found.values} values compared"
    if not found.values:
        said = "nothing could be compared"
    mark = style.mark(tone)
    first, *rest = hang(f"{mark} ", said, style.columns)
    return [style.paint(tone, mark) + first[len(mark) :], *rest]


def _difference(item: Difference, style: Style) -> list[str]:
    return [
        *hang("  ", f"{clean(str(item.row))}: {clean(item.field)}", style.columns),
        *hang("    table  ", _value(item.ours), style.columns),
        *hang("    index  ", _value(item.theirs), style.columns),
        *hang("    read   ", clean(item.read_in, _LONG), style.columns),
    ]


def _value(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, (list, tuple)):
        return clean(", ".join(map(str, value)), _LONG) or "nothing"
    return clean(str(value), _LONG)


def _unread(items: Sequence[Unread], style: Style) -> Iterator[str]:
    """Yield rows whose METADATA could not be had, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for item in items:
        reasons.setdefault(item.reason, []).append(str(item.row))
    for reason, rows in reasons.items():
        text = f"METADATA not read for {', '.join(dict.fromkeys(rows))}: {reason}"
        yield from indented(clean(text, _LONG), style.columns, 2)


def _cost(found: Verification, style: Style) -> list[str]:
    if not found.pip:
        return []
    text = f"pip {found.pip}, {found.calls} questions, {found.seconds:.0f} s; tables of"
    return indented(clean(f"{text} {found.matrix_date}"), style.columns, 2)


def refresh_text(found: Refresh, style: Style) -> str:
    """Return the diff, which `git apply` and `patch -p1` take, with what it lacks before it.

    The lines before a diff are ignored by both.
    """
    if not found.proposals and not found.unread:
        return f"nothing on the index is newer than the tables of {clean(found.matrix_date)}\n"
    rows = [
        line
        for item in found.proposals
        for line in hang(
            "# ",
            f"{clean(str(item.row))}: {len(item.fields)} fields read"
            + (f", to be read from the wheel: {', '.join(item.missing)}" if item.missing else ""),
            style.columns,
        )
    ]
    unread = [f"# {line.strip()}" for line in _unread(found.unread, style)]
    return "\n".join([*map(defuse, (*rows, *unread)), *found.diff.splitlines()]) + "\n"


def _text(lines: Sequence[str]) -> str:
    return "".join(defuse(line) + "\n" for line in lines)
