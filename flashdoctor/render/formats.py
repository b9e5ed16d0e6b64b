"""The formats of a report. Each is a module beside this one with `render(report, style)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from flashdoctor.model.finding import Report
    from flashdoctor.render.style import Style

Renderer: TypeAlias = "Callable[[Report, Style], str]"

_MODULES = ("terminal", "json_v1")

FORMATS: Mapping[str, str] = {name.partition("_v")[0]: name for name in _MODULES}
"""The name that `--format` takes, and the module, imported only when it is asked for."""


def renderer(name: str) -> Renderer:
    """Return the renderer of a format in FORMATS."""
    return cast("Renderer", import_module(f"flashdoctor.render.{FORMATS[name]}").render)
