"""The part of YAML that launch files are written in: mappings, lists, texts, with lines. Pure.

No anchors, no tags: what is not understood stays a text. Nothing is ever refused but nesting that
is too deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from flashdoctor.model.regex import regex
from flashdoctor.tune.words import Word, plain

Node: TypeAlias = "Word | list[Node] | dict[Word, Node] | None"

_KEY = regex(
    r"(\"(?:\\.|[^\"\\])*\"|'[^']*'|[^\s#\"'\[\]{},&*!|>%@`-][^#\n]*?|-[^\s:][^\n]*?)\s*:(?=\s|$)"
)
_ITEM = regex(r"-(?=\s|$)\s*")
_BLOCK = regex(r"([|>])[+-]?\d?[+-]?\s*(?:#.*)?")
_COMMENT = regex(r"(?:^|\s)#.*$")
_QUOTED = regex(r"(?<![^\s,\[{:])(?:\"(?:\\.|[^\"\\])*\"|'[^']*')")
_QUOTE_OPENS = regex(r"(?<![^\s,\[{:])[\"']")
_FLOW = regex(
    r"\"(?:\\.|[^\"\\])*\"|'[^']*'|[\[\]{},]|:(?=\s|$)|[^\s\[\]{},\"':][^\[\]{},\n]*?(?=\s*(?:[\[\]{},\n]|:\s|:$|$))"
)
_MOST_DEEP = 60
_MOST_LINES = 20000


class _Line(NamedTuple):
    number: int
    indent: int
    text: str
    """Without indentation and comment."""
    raw: str


def read_documents(text: str) -> list[Node]:
    """Return the documents of a YAML text; keys and scalars are words with their lines."""
    documents: list[Node] = []
    for lines in _documents(text):
        reader = _Reader(lines)
        if reader.lines:
            documents.append(reader.node(reader.lines[0].indent, 0))
    return documents


def _documents(text: str) -> Iterator[list[str]]:
    """Yield the lines of each document, blank lines in place of what stood before it."""
    current: list[str] = []
    for number, line in enumerate(text.splitlines()[:_MOST_LINES]):
        if line.rstrip() == "---" or line.startswith("--- "):
            yield current
            current = [""] * (number + 1)
        else:
            current.append(line)
    yield current


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.raw = lines
        self.lines = [
            _Line(number, len(line) - len(line.lstrip(" ")), text, line)
            for number, line in enumerate(lines, 1)
            if (text := _stripped(line))
        ]
        self.at = 0

    def node(self, indent: int, depth: int) -> Node:
        """Read what starts at the current line, which is indented by `indent`."""
        if depth > _MOST_DEEP:
            self.at = len(self.lines)
            return None
        line = self.lines[self.at]
        if _ITEM.match(line.text):
            return self._items(indent, depth)
        if _KEY.match(line.text):
            return self._mapping(indent, depth)
        return self._scalar(line.text, line, indent - 1)

    def _items(self, indent: int, depth: int) -> list[Node]:
        found: list[Node] = []
        while (line := self._here(indent)) is not None:
            match = _ITEM.match(line.text)
            if match is None:
                break
            rest = line.text[match.end() :]
            if not rest:
                self.at += 1
                found.append(self._below(indent, depth))
            elif _KEY.match(rest) or _ITEM.match(rest):
                inner = indent + match.end()
                self.lines[self.at] = line._replace(indent=inner, text=rest)
                found.append(self.node(inner, depth + 1))
            else:
                found.append(self._scalar(rest, line, indent))
        return found

    def _mapping(self, indent: int, depth: int) -> dict[Word, Node]:
        found: dict[Word, Node] = {}
        while (line := self._here(indent)) is not None:
            match = _KEY.match(line.text)
            if match is None:
                break
            key = Word(plain(match[1]), line.number)
            rest = line.text[match.end() :].strip()
            if rest:
                found[key] = self._scalar(rest, line, indent)
            else:
                self.at += 1
                found[key] = self._below(indent, depth, lists_at_once=True)
        return found

    def _here(self, indent: int) -> _Line | None:
        line = self.lines[self.at] if self.at < len(self.lines) else None
        return line if line is not None and line.indent == indent else None

    def _below(self, indent: int, depth: int, *, lists_at_once: bool = False) -> Node:
        """Read what is indented deeper; a list under a key may stand as far left as the key."""
        if self.at >= len(self.lines):
            return None
        line = self.lines[self.at]
        same = lists_at_once and line.indent == indent and _ITEM.match(line.text)
        return self.node(line.indent, depth + 1) if line.indent > indent or same else None

    def _scalar(self, text: str, line: _Line, indent: int) -> Node:
        """Read a value that starts on `line`, deeper lines included."""
        if _BLOCK.fullmatch(text):
            return self._block(line, indent)
        self.at += 1
        if text[0] in "[{":
            return self._flow(text, line)
        while self.at < len(self.lines) and self.lines[self.at].indent > indent:
            text += " " + self.lines[self.at].text
            self.at += 1
        return Word(plain(text) if text[0] in "\"'" else text, line.number)

    def _block(self, line: _Line, indent: int) -> Word:
        """Read `|` and `>`: the lines below as they are. Its line is that of its first line."""
        end = line.number
        while end < len(self.raw) and (
            not self.raw[end].strip() or _indent(self.raw[end]) > indent
        ):
            end += 1
        body = self.raw[line.number : end]
        while self.at < len(self.lines) and self.lines[self.at].number <= end:
            self.at += 1
        return Word("\n".join(body), line.number + 1)

    def _flow(self, text: str, line: _Line) -> Node:
        pieces = [(text, line.number)]
        while _open(" ".join(piece for piece, _ in pieces)) and self.at < len(self.lines):
            pieces.append((self.lines[self.at].text, self.lines[self.at].number))
            self.at += 1
        tokens = [
            Word(match[0], number) for piece, number in pieces for match in _FLOW.finditer(piece)
        ]
        node, _ = _flow_node(tokens, 0, 0)
        return node


def _stripped(line: str) -> str:
    """Return a line without indentation and comment; quotes protect a `#`."""
    text = line.strip()
    if "#" not in text:
        return text
    if text.startswith("#"):
        return ""
    bare = _QUOTED.sub(lambda match: "x" * len(match[0]), text)
    if _QUOTE_OPENS.search(bare):
        return text  # the text goes on below
    comment = _COMMENT.search(bare)
    return text[: comment.start()].rstrip() if comment else text


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _open(text: str) -> bool:
    bare = re.sub(r"\"(?:\\.|[^\"\\])*\"|'[^']*'", "", text)
    return sum(bare.count(mark) for mark in "[{") > sum(bare.count(mark) for mark in "]}")


def _flow_node(tokens: list[Word], at: int, depth: int) -> tuple[Node, int]:
    """Read `[a, {b: c}]` from `at` on; return it and where the next piece stands."""
    if at >= len(tokens) or depth > _MOST_DEEP:
        return None, len(tokens)
    piece = tokens[at]
    if piece == "[":
        return _flow_list(tokens, at + 1, depth)
    if piece == "{":
        return _flow_mapping(tokens, at + 1, depth)
    return piece.part(plain(piece) if piece[0] in "\"'" else piece.strip()), at + 1


def _flow_list(tokens: list[Word], at: int, depth: int) -> tuple[Node, int]:
    items: list[Node] = []
    while at < len(tokens) and tokens[at] != "]":
        if tokens[at] == ",":
            at += 1
            continue
        item, at = _flow_node(tokens, at, depth + 1)
        items.append(item)
    return items, at + 1


def _flow_mapping(tokens: list[Word], at: int, depth: int) -> tuple[Node, int]:
    found: dict[Word, Node] = {}
    while at < len(tokens) and tokens[at] != "}":
        if tokens[at] in (",", ":"):
            at += 1
            continue
        key, at = _flow_node(tokens, at, depth + 1)
        value: Node = None
        if at < len(tokens) and tokens[at] == ":":
            value, at = _flow_node(tokens, at + 1, depth + 1)
        if isinstance(key, Word):
            found[key] = value
    return found, at + 1
