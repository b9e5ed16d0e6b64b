"""FD607: this vLLM does not take this Python."""

from __future__ import annotations

from flashdoctor.engine.checks._vllm import (
    installed_version,
    is_from_matrix,
    is_row_of,
    release_in,
    release_row,
    row_before,
)
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.specifiers import fits

_LIMITS, _PYTHON = "vllm.python_requires", "python.version"
_NARROWER = ("0.10.0", "0.10.1.1", "<3.13,>=3.9")
"""The table has 0.10.2, the first of its X.Y that takes 3.13 (METADATA of these releases)."""


def judge(view: View) -> Judgement:
    """Compare the interpreter with Requires-Python of the release."""
    version = installed_version(view)
    limits, python = _limits(view, version), view.need(_PYTHON)
    if limits is None or python is None:
        raise MissingFactError(_LIMITS if limits is None else _PYTHON)
    if fits(python, limits):
        return passed(_LIMITS, _PYTHON)
    if _may_be_wider(view, version, python):
        raise MissingFactError(_LIMITS)
    detail = f"vLLM {version} takes Python {limits}, this is Python {python}."
    return failed(_LIMITS, _PYTHON, "vllm.version", detail=detail)


def _may_be_wider(view: View, version: str, python: str) -> bool:
    """Whether the limits are those of a later patch, and the X.Y before took this Python."""
    row = release_row(view)
    if row is None or not is_from_matrix(view.get(_LIMITS)) or is_row_of(row, version):
        return False
    before = row_before(view, row)
    return before is not None and fits(python, before["requires_python"])


def _limits(view: View, version: str) -> str | None:
    first, last, limits = _NARROWER
    if release_in(version, first, last) and is_from_matrix(view.get(_LIMITS)):
        return limits
    own: str | None = view.need(_LIMITS)
    return own
