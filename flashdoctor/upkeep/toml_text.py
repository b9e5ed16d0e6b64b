"""A table's TOML with proposed rows in it, as a unified diff. Pure.

A key that could not be read stands there as a comment, so that a row which was merely applied does
not pass the check of the tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import pairwise
from typing import Any

from flashdoctor.model.upkeep import Proposal

_HEAD = re.compile(r"^\[\[(?P<section>[\w.]+)\]\]\s*$", re.MULTILINE)
_VERSION = re.compile(r'^(?:version|first) = "(?P<version>[^"]+)"', re.MULTILINE)
_KEY = r"^{key} = (?P<value>.*)$"


def diff_of(path: str, text: str, proposals: Sequence[Proposal], today: str) -> str:
    """Return the diff that brings rows into a table; empty where there are none."""
    new = text
    for proposal in proposals:
        new = _with_row(new, proposal, today)
    old_lines, new_lines = text.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(unified_diff(old_lines, new_lines, f"a/{path}", f"b/{path}"))


def _with_row(text: str, proposal: Proposal, today: str) -> str:
    blocks = _blocks(text)
    same = [block for block in blocks if _is(block, proposal.row.section)]
    old = next((block for block in same if _version(block) == proposal.replaces), None)
    row = "\n".join(_row(proposal, old, today)) + "\n\n"
    if old is not None:
        place = blocks.index(old)
        return "".join([*blocks[:place], row, *blocks[place + 1 :]])
    place = blocks.index(same[-1]) + 1
    return "".join([*blocks[:place], *([] if blocks[place - 1].endswith("\n\n") else ["\n"]), row,
                    *blocks[place:]])  # fmt: skip


def _blocks(text: str) -> list[str]:
    """Cut a table before each `[[section]]`; joined again they are the text."""
    starts = [0, *(match.start() for match in _HEAD.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


def _is(block: str, section: str) -> bool:
    match = _HEAD.match(block)
    return match is not None and match["section"] == section


def _version(block: str) -> str | None:
    match = _VERSION.search(block)
    return match["version"] if match else None


def _row(proposal: Proposal, old: str | None, today: str) -> Iterator[str]:
    yield f"[[{proposal.row.section}]]"
    for key, value in proposal.fields.items():
        if key != "source":
            yield f"{key} = {toml_value(value)}"
    for key in proposal.missing:
        yield f"# {key}: not in METADATA, read it from the wheel{_was(key, proposal, old)}"
    yield f"source = {toml_value(proposal.fields['source'])}"
    yield f"checked = {today}"


def _was(key: str, proposal: Proposal, old: str | None) -> str:
    found = re.search(_KEY.format(key=re.escape(key)), old or "", re.MULTILINE)
    return f" ({proposal.replaces} had {found['value']})" if found else ""


def toml_value(value: Any) -> str:
    """Return text, a bool, a number or a list of them as TOML: JSON writes these the same way.

    What is not ASCII is escaped: nothing that an index states reaches a terminal alive.
    """
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(value)
