"""Fill the user's own values into a row's fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from flashdoctor.model import versions
from flashdoctor.model.finding import Advice
from flashdoctor.model.rule import Fix
from flashdoctor.model.snapshot import Snapshot

_PLACEHOLDER = re.compile(r"\{([a-z0-9_.]+)\}")


def fill(fix: Fix, snapshot: Snapshot, values: Mapping[str, str]) -> Advice:
    """Return the fix with `{fact.path}` and `{advice.x}` replaced.

    A command with a value that is not known is left out; in a text the placeholder becomes
    "unknown". Versions lose their local tag, which no package index knows.
    """

    def lookup(path: str) -> str | None:
        if path in values:
            return values[path]
        value = snapshot.value(path)
        return None if value is None else versions.public(str(value))

    commands = (_replace(command, lookup) for command in fix.commands)
    return Advice(
        text=_PLACEHOLDER.sub(lambda match: lookup(match[1]) or "unknown", fix.text),
        commands=tuple(command for command in commands if command is not None),
        safety=fix.safety,
    )


def _replace(command: str, lookup: Callable[[str], str | None]) -> str | None:
    found = {path: lookup(path) for path in _PLACEHOLDER.findall(command)}
    if any(value is None for value in found.values()):
        return None
    return _PLACEHOLDER.sub(lambda match: str(found[match[1]]), command)
