"""A report, or any other body, as JSON. The shape is the contract; this file only writes it."""

from __future__ import annotations

import json
import math
from typing import Any

from flashdoctor.model.finding import Report
from flashdoctor.model.regex import regex
from flashdoctor.render.style import Style

_MARKER = regex(r"(?i)##(?=[a-z]*\[)")


def render(report: Report, _style: Style) -> str:
    """Return the v1 report object as text."""
    return dump(report.to_json())


def dump(body: Any) -> str:
    """Return `body` as ASCII JSON with a newline at its end; the same body gives the same text.

    Numbers that JSON does not have become texts. `##` before what a CI service would obey is
    written with an escape, which a JSON reader undoes.
    """
    return _dump(body, indent=2)


def dump_line(body: Any) -> str:
    """Return the same in one line."""
    return _dump(body, indent=None)


def _dump(body: Any, indent: int | None) -> str:
    try:
        text = json.dumps(body, indent=indent, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(body), indent=indent, allow_nan=False)
    return _MARKER.sub(r"#\\u0023", text) + "\n" if "##" in text else text + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
