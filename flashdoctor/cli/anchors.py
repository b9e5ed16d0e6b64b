"""Lines of files that a finding can be hung on: where a package is pinned, where a fact stands."""

from __future__ import annotations

import re
from pathlib import Path

from flashdoctor.model.catalog import FACTS

FILES = (
    "pylock.toml", "uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "conda-lock.yml",
    "requirements.lock", "requirements.txt", "environment.yml", "environment.yaml",
    "pyproject.toml", "Pipfile",
)  # fmt: skip
"""Files in which packages are pinned, what was resolved before what was asked for."""

_OTHER_NAMES = {"pytorch": "torch", "flashinfer_python": "flashinfer"}
_MOST_BYTES = 16 * 1024 * 1024
_NAME = re.compile(
    r"""^\s*(?:
        name\s*[=:]\s*["']?(?P<locked>[\w.-]+)["']?\s*$  # uv.lock, poetry.lock, pylock.toml
      | "(?P<json>[\w.-]+)"\s*:\s*\{                     # Pipfile.lock
      | (?:-\s+)?["']?(?P<asked>[A-Za-z0-9][\w.-]*)      # requirements, TOML lists and keys, conda
        \s*(?:\[[^\]]*\])?\s*(?:[=<>~!@;,"']|\#|$)
    )""",
    re.VERBOSE,
)


_FACT = re.compile(r'"([a-z0-9_]+(?:\.[a-z0-9_]+)+)"\s*:\s*\{')


def parse_facts(text: str) -> dict[str, int]:
    """Return the line, from 1, of each fact in the text of a snapshot, by its path."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        for match in _FACT.finditer(line):
            if match[1] in FACTS:
                found.setdefault(match[1], number)
    return found


def parse_pins(text: str) -> dict[str, int]:
    """Return the line, from 1, that first names a package, by the head of the facts about it."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _NAME.match(line)
        name = match and (match["locked"] or match["json"] or match["asked"])
        if name:
            head = re.sub(r"[-_.]+", "_", name.lower())
            head = _OTHER_NAMES.get(head, head)
            if f"{head}.version" in FACTS:
                found.setdefault(head, number)
    return found


def read_pins(folder: Path) -> dict[str, tuple[str, int]]:
    """Return the file and line that name a package, by its facts; the first of FILES that does."""
    found: dict[str, tuple[str, int]] = {}
    for name in FILES:
        for head, line in parse_pins(_read(folder / name)).items():
            found.setdefault(head, (name, line))
    return found


def read_facts(path: Path) -> dict[str, int]:
    """Return the line of each fact in a snapshot's file."""
    return parse_facts(_read(path))


def _read(path: Path) -> str:
    """Return the text of a file; one that is not there, or cannot be read, holds nothing."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return ""
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ""
