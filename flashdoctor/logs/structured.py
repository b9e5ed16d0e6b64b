"""Lines that wrap a message in a form of their own: JSON, logfmt, a text with its ends spelled out.

Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_MESSAGES = ("log", "message", "msg", "MESSAGE", "textPayload", "text", "event", "body", "line")
_DETAILS = ("exc_info", "exception", "stack_trace", "stack", "traceback", "error", "detail")
_STAMPS = frozenset(
    ("time", "timestamp", "ts", "@timestamp", "stream", "level", "severity", "levelname", "asctime",
     "__REALTIME_TIMESTAMP", "logger", "pid", "date", "name", "kubernetes")
)  # fmt: skip
_DEEPEST = 3
_TELLING = ("Traceback (most recent", "\\n  File ", "\\nRuntimeError", "\\nImportError")


def unfold(text: str) -> list[str] | None:
    """Return the lines inside a structured line, None for one that is not structured.

    Of a JSON object that is a log entry its message remains; the message of any other JSON comes
    behind the line itself.
    """
    start = text.lstrip()[:1]
    if start == "{" and text.rstrip().endswith("}"):
        inner = _unfold_json(text)
        if inner is not None:
            return inner
    if any(word in text for word in _TELLING) and "\\n" in text:
        return [text, *_spelled_lines(text)]
    if '\\"' in text:
        return [text.replace('\\"', '"')]
    return None


def _unfold_json(text: str) -> list[str] | None:
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    messages = [line for message in _messages(body, 0) for line in message.splitlines()]
    if not messages:
        return None
    is_entry = any(isinstance(body.get(key), str) for key in _MESSAGES) and _STAMPS & body.keys()
    return messages if is_entry else [text, *messages]


def _messages(body: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield the first message of an entry, and its details."""
    for keys in (_MESSAGES, _DETAILS):
        values = [body[key] for key in keys if body.get(key)]
        for value in values[:1] if keys is _MESSAGES else values:
            yield from _texts(value, depth)


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, dict):
        yield from _messages(value, depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for item in value:
            yield from _texts(item, depth + 1)


def _spelled_lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\\n", "\\n").split("\\n"):
        if line.strip():
            yield line.replace('\\"', '"').replace("\\t", "\t").replace("\\'", "'")
