"""C++ symbol names, as far as a reader needs them."""

from __future__ import annotations

from collections.abc import Sequence

from flashdoctor.model.regex import regex

_LENGTH = regex(r"\d+")
_SPECIAL = regex(r"[CD]\d")
_OLD_STRING = regex(r"(?:E|RK|PK|R|P)Ss")


def readable(symbol: str) -> str:
    """Return the qualified name in a mangled symbol, `c10::Error::Error`, else the symbol.

    Covers names without template arguments; of a template the part before them is given. Source:
    Itanium C++ ABI, 5.1 "External Names".
    """
    rest = symbol.removeprefix("_ZN").lstrip("rVK")
    parts: list[str] = []
    while symbol.startswith("_ZN") and (match := _LENGTH.match(rest)):
        end = match.end() + int(match[0])
        parts.append(rest[match.end() : end])
        rest = rest[end:]
    if parts and _SPECIAL.match(rest):
        parts.append(("~" if rest[0] == "D" else "") + parts[-1])
    return "::".join(parts) or symbol


def summary(symbols: Sequence[str]) -> str:
    """Return the first missing symbol in words, and how many more there are."""
    first = symbols[0]
    string = " with the new std::string" if "__cxx11" in first else ""
    string = " with the old std::string" if _OLD_STRING.search(first) else string
    more = f" and {len(symbols) - 1} more" if len(symbols) > 1 else ""
    return f"{readable(first)}{string}{more}"
