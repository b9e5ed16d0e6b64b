"""The formats of a report. Each is a module beside this one with `render(report, style, ...)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    from flashdoctor.render.context import Context
    from flashdoctor.render.outline import AnyReport
    from flashdoctor.render.style import Style

_MODULES = ("terminal", "json_v1", "sarif", "junit", "github", "markdown", "html")

FORMATS: Mapping[str, str] = {name.partition("_v")[0]: name for name in _MODULES}
"""The name that `--format` takes, and the module, imported only when it is asked for."""

SELF_CONTAINED = frozenset({"terminal", "json"})
"""Formats that need nothing but the report; the others are given a `Context` as well."""

_TERMINALS: Mapping[str, tuple[str, str]] = {
    "check": ("terminal", "render"),
    "diagnose": ("diagnosis_text", "diagnosis_text"),
    "smoke": ("smoke_text", "render_smoke"),
    "lint": ("lint_text", "lint_text"),
}
"""The module and function that write a command's report for people."""

Renderer: TypeAlias = "Callable[[Any, Style], str]"


def renderer(name: str) -> Callable[..., str]:
    """Return the renderer of a format in FORMATS: it takes a report and a style.

    Those that are not SELF_CONTAINED take a context as well.
    """
    return cast("Callable[..., str]", _found(FORMATS[name], "render"))


def terminal_renderer(command: str) -> Renderer:
    """Return what writes the report of a command for people."""
    return cast("Renderer", _found(*_TERMINALS[command]))


def text_of(name: str, report: AnyReport, style: Style, context: Context) -> str:
    """Return the report of a command in a format of FORMATS."""
    if name == "terminal":
        return terminal_renderer(context.command)(report, style)
    more = () if name in SELF_CONTAINED else (context,)
    return renderer(name)(report, style, *more)


def _found(module: str, function: str) -> Any:
    return getattr(import_module(f"flashdoctor.render.{module}"), function)
