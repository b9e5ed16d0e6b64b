"""Environment variables that the release does not read, no longer reads, or never did. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from flashdoctor.model.lint import LintFinding
from flashdoctor.model.versions import order
from flashdoctor.tune.flags import Releases, Row, locate
from flashdoctor.tune.forms import Setting
from flashdoctor.tune.kinds import VARIABLE_IGNORED, VARIABLE_UNKNOWN
from flashdoctor.tune.lint_findings import Context, make, source_of
from flashdoctor.tune.lint_names import is_placeholder, usable

_PREFIX = "VLLM_"
_SINCE = "0.4.2"
_STRICT = "fail-on-environ-validation"
_LIKENESS = 0.85


def environment_findings(context: Context) -> Iterator[LintFinding]:
    """Yield variables that do not do what they were set for."""
    table = context.tables.table("launch/environment")
    rows = {row["name"]: row for row in table["variable"]}
    release = locate(context.version, table["meta"]["sampled"])
    for setting in context.command.environment:
        row = rows.get(setting.name)
        if row is not None:
            yield from _known(setting, row, release, context)
        elif setting.name.startswith(_PREFIX) and release.reached(_SINCE):
            yield _unknown(setting, rows, context)


def _known(
    setting: Setting, row: Row, release: Releases, context: Context
) -> Iterator[LintFinding]:
    meta: Any = context.tables.table("launch/environment")["meta"]
    name, sources = setting.name, source_of(row, meta)
    begins = order(row["first"])
    if not name.startswith(_PREFIX):
        return  # others read it too
    if not release.has(row):
        if begins is not None and begins > release.at:
            if row["first"] != _SINCE:  # where envs.py begins: it may be older
                title = f"vLLM {context.version} does not read {name}, which came in {row['first']}"
                yield _make(setting, title, None, context, sources)
            return
        title = f"vLLM {context.version} ignores {name}: {row['last']} was the last to read it"
        replacement = _instead(setting, row, context)
        yield _make(setting, title, replacement, context, sources)
    elif release.reached(row.get("deprecated")):
        title = f"{name} is deprecated since vLLM {row['deprecated']}"
        replacement = _instead(setting, row, context)
        yield _make(setting, title, replacement, context, sources)


def _instead(setting: Setting, row: Row, context: Context) -> str | None:
    found = [text for text in row.get("replacement", ()) if usable(text, context)]
    if not found:
        return None
    value = str(setting.value)
    first = str(found[0])
    if is_placeholder(value) or not value:
        return first
    return f"{first} {_renamed(value, context) if 'backend' in first else value}"


def _renamed(value: str, context: Context) -> str:
    """Return what the release calls an attention backend."""
    for row in context.tables.table("launch/attention")["renamed"]:
        if row["name"] == value and not context.table.release.has(row):
            return str(row.get("now", value))
    return value


def _make(
    setting: Setting,
    title: str,
    replacement: str | None,
    context: Context,
    sources: tuple[str, ...],
) -> LintFinding:
    strict = context.parsed.last(_STRICT) is not None and "deprecated" not in title
    return make(
        VARIABLE_IGNORED,
        setting.value.part(f"{setting.name}={setting.value}"),
        title,
        flag=setting.name,
        replacement=replacement,
        advice="" if replacement else "Leave it out.",
        severity="error" if strict else None,
        detail=f"--{_STRICT} makes vLLM stop at it." if strict else "",
        sources=sources,
    )


def _unknown(setting: Setting, rows: dict[str, Row], context: Context) -> LintFinding:
    close = get_close_matches(setting.name, rows, n=1, cutoff=_LIKENESS)
    strict = context.parsed.last(_STRICT) is not None
    return make(
        VARIABLE_UNKNOWN,
        setting.value.part(f"{setting.name}={setting.value}"),
        f"no vLLM that was read knows {setting.name}",
        flag=setting.name,
        replacement=close[0] if close else None,
        advice=f"Did you mean {close[0]}?" if close else "Leave it out.",
        severity="error" if strict else None,
    )
