"""Fill the user's own values into a row's fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flashdoctor.model import versions
from flashdoctor.model.catalog import FACTS
from flashdoctor.model.finding import Advice
from flashdoctor.model.regex import regex
from flashdoctor.model.rule import Fix
from flashdoctor.model.snapshot import Snapshot

_PLACEHOLDER = regex(r"\{([a-z0-9_.]+)\}")
_IN_QUOTES = regex(r'"[^"]*\{([a-z0-9_.]+)\}[^"]*"')
_PLAIN_WORD = regex(r"[\w@%+=:,./~-]*")
_PLAIN_WORDS = regex(r"[\w@%+=:,./~ -]*")
_HARMLESS_IN_QUOTES = regex(r'[^"$`\\\x00-\x1f\x7f]*')


def fill(fix: Fix, snapshot: Snapshot, values: Mapping[str, str]) -> Advice:
    """Return the fix with `{fact.path}` and `{advice.x}` replaced.

    A command with a value that is not known is left out; in a text the placeholder becomes
    "unknown". Versions lose their local tag, which no package index knows. Values come from the
    machine that is examined: none of them can add anything to a command but a plain word.
    """

    def lookup(path: str) -> str | None:
        if path in values:
            return values[path]
        value = snapshot.value(path)
        if value is None or FACTS[path].kind != "version":
            return None if value is None else str(value)
        return versions.public(str(value))

    commands = (_replace(command, lookup) for command in fix.commands)
    return Advice(
        text=_PLACEHOLDER.sub(lambda match: lookup(match[1]) or "unknown", fix.text),
        commands=tuple(command for command in commands if command is not None),
        safety=fix.safety,
        package=fix.package,
    )


def _replace(command: str, lookup: Callable[[str], str | None]) -> str | None:
    quoted = set(_IN_QUOTES.findall(command))
    words: dict[str, str] = {}
    for path in _PLACEHOLDER.findall(command):
        word = _shell_word(path, lookup(path), in_quotes=path in quoted)
        if word is None:
            return None
        words[path] = word
    return _PLACEHOLDER.sub(lambda match: words[match[1]], command)


def _shell_word(path: str, value: str | None, *, in_quotes: bool) -> str | None:
    """Return the value as a shell takes it for itself, None where that cannot be."""
    if value is None:
        return None
    if in_quotes:
        return value if _HARMLESS_IN_QUOTES.fullmatch(value) else None
    plain = _PLAIN_WORDS if path.startswith("advice.") else _PLAIN_WORD
    if plain.fullmatch(value):
        return value
    import shlex  # noqa: PLC0415 - hardly any value needs it

    return shlex.quote(value)
