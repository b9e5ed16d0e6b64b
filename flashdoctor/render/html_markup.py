"""HTML built from elements: every text is escaped unless it is markup already."""

from __future__ import annotations

from typing import TypeAlias

from flashdoctor.model.regex import regex
from flashdoctor.render.clean import clean_line

_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\n": " "}
)
_VOID = frozenset({"meta", "input"})
_OWN_LINE = frozenset(
    {
        "article", "body", "button", "details", "div", "footer", "h1", "h2", "h3", "h4", "head",
        "header", "html", "input", "li", "main", "meta", "nav", "ol", "p", "script", "section",
        "style", "summary", "table", "tbody", "td", "th", "thead", "title", "tr", "ul",
    }
)  # fmt: skip
_NAMES = {"class_": "class", "for_": "for", "http_equiv": "http-equiv", "type_": "type"}
_LINK = regex(
    r"(https://[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:/[\w.~!$&()*+,;=:/?%#-]*)?)"
    r"((?: \(checked [0-9-]+\))?)"
)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child: TypeAlias = "str | Markup | None"
Attribute: TypeAlias = "str | int | bool | None"


def escaped(text: str) -> Markup:
    """Return a text as it stands in an element or in a quoted attribute, in one line."""
    return text if isinstance(text, Markup) else Markup(text.translate(_ENTITIES))


def escaped_lines(text: str) -> Markup:
    """Return a text that keeps its lines and blanks, for an element that shows them."""
    return Markup("\n".join(escaped(clean_line(line)) for line in text.split("\n")))


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element. A None among the children or attributes is left out.

    An attribute that is True stands without a value; `_` in its name becomes `-`, `class_` and
    `for_` lose theirs.
    """
    start = f"<{name}{''.join(map(_attribute, attributes, attributes.values()))}>"
    end = "" if name in _VOID else f"</{name}>"
    inner = joined(*children)
    return Markup(f"{start}{inner}{end}" + ("\n" if name in _OWN_LINE else ""))


def joined(*children: Child) -> Markup:
    """Return elements and texts one behind the other."""
    return Markup("".join(escaped(child) for child in children if child))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    written = _NAMES.get(name, name.replace("_", "-"))
    return f" {written}" if value is True else f' {written}="{escaped(str(value))}"'


def source_link(text: str) -> Markup:
    """Return a source: linked where it is nothing but an https address and the day it was read."""
    found = _LINK.fullmatch(text)
    if not found:
        return escaped(text)
    return joined(tag("a", found[1], href=found[1], rel="noreferrer noopener"), found[2])


def unseen(text: str) -> Markup:
    """Return a text for readers that do not see colours and positions."""
    return tag("span", text, class_="unseen")
