"""Words of a command with the line each stands in, split as a shell does. Pure, nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flashdoctor.model.regex import regex

_TOKEN = regex(
    r"(?P<next>\\(?:\r?\n|\Z))"
    r"|(?P<line>\r?\n)"
    r"|(?P<comment>(?<!\S)\#[^\n]*)"
    r"|(?P<end>&&|\|\|?|;|\d?>>?&?\d?|<<?<?|&)"
    r"|(?P<blank>[ \t]+)"
    r"|(?P<word>(?:\\\r?\n|\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|\$\{[^}\n]*\}|\$\([^)\n]*\)|\{\{[^\n]*?\}\}"
    r"|[^\s\"'\\;&|<>]|[\"'\\])+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_QUOTED = regex(r"\"((?:\\.|[^\"\\])*)\"|'([^']*)'|\\(\r?\n)|\\(.)", re.DOTALL)
_INNER = regex(r"\\([\"\\$`])")
_PLACEHOLDER = regex(r"<[^<>\s]+>")
_MOST_WORDS = 4000


class Word(str):
    """One word. `line` counts from 1; `where` names the file it was read from, if another one."""

    __slots__ = ("line", "where")

    line: int
    where: str

    def __new__(  # noqa: PYI034 - Self is not in Python 3.10, and nothing derives from it
        cls, text: str, line: int = 1, where: str = ""
    ) -> Word:
        """Make a word that stands in `line`."""
        word = super().__new__(cls, text)
        word.line = line
        word.where = where
        return word

    def part(self, text: str) -> Word:
        """Return another word from the same place."""
        return Word(text, self.line, self.where)


def split_commands(text: str, first_line: int = 1) -> list[list[Word]]:
    """Split shell text into simple commands of words.

    Line ends (but for escaped ones), `;`, `&&` and pipes end a command; what a redirection names
    is left out. No quote has to be closed. `<model>` is a word, not two redirections.
    """
    commands: list[list[Word]] = [[]]
    line, skip, count = first_line, False, 0
    for kind, piece in _tokens(text):
        if kind == "line" or (kind == "end" and piece[:1] in "&|;"):
            commands.append([])
        elif kind == "end":
            skip = not piece[-1].isdigit()
        elif kind == "word" and skip:
            skip = False
        elif kind == "word" and count < _MOST_WORDS:
            commands[-1].append(Word(plain(piece), line))
            count += 1
        line += piece.count("\n")
    return [command for command in commands if command]


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        match = (_PLACEHOLDER.match(text, at) if text[at] == "<" else None) or _TOKEN.match(
            text, at
        )
        if match is None:
            return
        yield match.lastgroup or "word", match[0]
        at = match.end()


def plain(word: str) -> str:
    """Return a word without its quotes and escapes."""
    return _QUOTED.sub(_unquoted, word)


def _unquoted(match: re.Match[str]) -> str:
    if match[1] is not None:
        return _INNER.sub(r"\1", match[1].replace("\\\n", ""))
    return match[2] if match[2] is not None else match[4] or ""
