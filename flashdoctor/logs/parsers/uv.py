"""`uv tree` and pipdeptree, and the lock files of uv, poetry and pdm.

A lock file says what is to be installed, for every platform at once: it counts as a mention, and a
package that it holds in two versions is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.parsers._packages import (
    PATHS,
    normalised,
    state_package,
    watched_keywords,
)
from flashdoctor.logs.parsers._stated import on
from flashdoctor.logs.statements import MENTION, BlockParser
from flashdoctor.model.log import Found, Line

_TREE_SOURCE = "uv tree"
_LOCK_SOURCE = "lock file"
_NODE = re.compile(
    r"[\s|\u2502\u251c\u2514\u2500`+-]{0,80}(?P<name>[A-Za-z0-9][\w.-]{0,80})"
    r"(?:\[[\w, .-]{0,60}\])?\sv(?P<version>\d[\w.!+]{0,62})"
    r"(?:\s\([^()]{0,80}\)|\s\[[^\]]{0,80}\]){0,4}\s*$"
)
_DEPENDENCY = re.compile(
    r"[\s|\u2502\u251c\u2514\u2500`+-]{0,80}(?P<name>[A-Za-z0-9][\w.-]{0,80}) "
    r"\[required: [^\]]{1,120}, installed: (?P<version>\d[\w.!+]{0,62})\]\s*$"
)
_NAME = re.compile(r"\s{0,4}name = \"(?P<name>[\w.-]{1,80})\"\s*$")
_VERSION = re.compile(r"\s{0,4}version = \"(?P<version>\d[\w.!+]{0,62})\"\s*$")


class _Uv:
    """Nodes of a tree as they come; packages of a lock file once it is over."""

    def __init__(self) -> None:
        self.open = False  # whether a package of a lock file waits for its version: the next line
        self._name = ""
        self._locked: dict[str, dict[str, Line]] = {}

    def feed(self, line: Line) -> Iterable[Found]:
        """Read a node of a tree, or a line of a lock file."""
        name, version = _NAME.match(line.text), _VERSION.match(line.text)
        waiting, self._name = self._name, name["name"] if name else ""
        self.open = bool(self._name)
        if version and waiting and normalised(waiting) in PATHS:
            self._locked.setdefault(waiting, {}).setdefault(version["version"], line)
        node = _NODE.match(line.text) or _DEPENDENCY.match(line.text)
        if node is None:
            return ()
        return on(line, state_package(node["name"], node["version"], _TREE_SOURCE))

    def end(self) -> Iterator[Found]:
        """Give what a lock file holds once."""
        for name, found in self._locked.items():
            if len(found) == 1:
                [(version, line)] = found.items()
                yield from on(line, state_package(name, version, _LOCK_SOURCE), MENTION)


PARSER = BlockParser(
    kind="uv", keywords=('name = "', "] v", ", installed: ", *watched_keywords(" v")), make=_Uv
)
