"""FD901: a release is newer than every row about it."""

from __future__ import annotations

from typing import Any

from flashdoctor.data.tables import Tables
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model.versions import order, public

_PACKAGES = {
    "torch.version": ("torch", "torch"),
    "vllm.version": ("vLLM", "vllm"),
    "transformers.version": ("transformers", "transformers"),
    "flash_attn.version": ("flash-attn", "flash_attn"),
}


def judge(view: View) -> Judgement:
    """Name every installed release that the tables end before, in one finding."""
    known = [path for path in _PACKAGES if view.get(path).state != "unknown"]
    if not known:
        raise MissingFactError(next(iter(_PACKAGES)))
    told = {path: text for path in known if (text := _newer(view, path)) is not None}
    if not told:
        return passed(*known)
    return failed(*told, detail=f"Newer than the tables of {view.tables.date}: {_join(told)}.")


def _newer(view: View, path: str) -> str | None:
    """Return what to say of a package, None where the tables reach as far as its release."""
    name, table = _PACKAGES[path]
    version = view.value(path)
    have = order(public(version)) if isinstance(version, str) else None
    if have is None:
        return None
    newest = newest_known(view.tables, table)
    if have <= (order(newest) or have):
        return None
    return f"{name} {version} (they end at {newest})"


def newest_known(tables: Tables, table: str) -> str:
    """Return the newest release that a table of compat/ speaks of."""
    rows: list[Any] = tables.compat(table)["release"]
    ranges = tables.compat(table).get("torch_range", ())
    versions = [row["version"] for row in rows] + [row["last"] for row in ranges]
    return str(max(versions, key=lambda text: order(text) or ((), 0)))


def _join(told: dict[str, str]) -> str:
    return ", ".join(told.values())
