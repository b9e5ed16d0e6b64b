"""What is known of the installed vLLM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from flashdoctor.data import lookup
from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model import versions
from flashdoctor.model.facts import Fact

Row: TypeAlias = Mapping[str, Any]

EXTENSION = r"vllm\._C"
"""vLLM's own module among those that are imported live."""

_SUBJECT = "vllm.version"


def installed_version(view: View) -> str:
    """Return the version of vLLM; skips the rule where there is none or nobody knows."""
    version = view.need(_SUBJECT)
    if version is None:
        raise MissingFactError(_SUBJECT)
    return str(version)


def release_row(view: View) -> Row | None:
    """Return the matrix row of the installed vLLM's X.Y."""
    version = view.value(_SUBJECT)
    return lookup.vllm_release(view.tables, version) if version else None


def is_from_matrix(fact: Fact) -> bool:
    """Whether a fact comes from the row of vLLM's X.Y and not from what is installed."""
    return fact.source.startswith("matrix")


def is_row_of(row: Row, version: str) -> bool:
    """Whether a row was read from this very release, and not from another patch of its X.Y."""
    return versions.order(row["version"]) == versions.order(version)


def row_before(view: View, row: Row) -> Row | None:
    """Return the row of the X.Y before: an early patch of this X.Y asks for no less."""
    rows: list[Row] = view.tables.compat("vllm")["release"]
    older = [item for item in rows if _order(item) < _order(row)]
    return max(older, key=_order, default=None)


def _order(row: Row) -> tuple[tuple[int, ...], int]:
    return versions.order(row["version"]) or ((), 0)


def release_in(version: str, first: str, last: str) -> bool:
    """Whether a version lies between two releases, both included."""
    found, low, high = (versions.order(text) for text in (version, first, last))
    return found is not None and low is not None and high is not None and low <= found <= high
