"""What web pages, mail and terminal boxes put around a line. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*[\w.+-]*\s*$")
_FENCED = re.compile(r"^\s*`{3,}(?:[a-z]{2,12} (?=\S))?|`{3,}\s*$")
_QUOTE = re.compile(r"(?: {0,3}>(?!>>|=) ?)+")
_ENTITY = re.compile(r"&(?:gt|lt|amp|quot|apos|nbsp|#39|#x27|#34|#60|#62|#38|#160);")
_ENTITIES: Mapping[str, str] = {
    "&gt;": ">", "&lt;": "<", "&amp;": "&", "&quot;": '"', "&apos;": "'", "&nbsp;": " ",
    "&#39;": "'", "&#x27;": "'", "&#34;": '"', "&#60;": "<", "&#62;": ">", "&#38;": "&",
    "&#160;": " ",
}  # fmt: skip
_TAG = re.compile(
    r"</?(?:details|summary|pre|code|br|kbd|samp)(?: (?:open|class=\"[^\"]*\"))? ?/?>"
)

_RULE = "\u2500-\u257f"
_EDGE = re.compile(rf"\s*[{_RULE}]+>? ?")
_LAST_EDGE = re.compile(rf"\s*[{_RULE}]+\s*$")
_INNER = re.compile(r"[\u2502\u2503\u2551]")
_IS_BOXED = re.compile(rf"\s*[{_RULE}]")
_MOST_EDGES = 6  # a branch of a tree stands behind one edge a level


def strip_markup(text: str) -> str:
    """Return a line without quote marks, fences, tags, entities and the rules of a box.

    A line that is nothing but a fence or a rule becomes empty.
    """
    if "&" in text and ";" in text:
        text = _ENTITY.sub(lambda found: _ENTITIES[found[0]], text)
    if ">" in text:
        text = _strip_tags(text)
    if "```" in text or "~~~" in text:
        text = "" if _FENCE.match(text) else _FENCED.sub("", text)
    return text if text.isascii() else unbox(text)


def _strip_tags(text: str) -> str:
    if "<" in text:
        text = _TAG.sub("", text)
    quoted = _QUOTE.match(text)
    return text[quoted.end() :] if quoted else text


def unbox(text: str) -> str:
    """Return what stands inside a box of Unicode rules, or on the branch of a tree."""
    if not _IS_BOXED.match(text):
        return text
    for _ in range(_MOST_EDGES):
        edge = _EDGE.match(text)
        if edge is None:
            break
        text = text[edge.end() :]
    return _INNER.sub(" ", _LAST_EDGE.sub("", text))
