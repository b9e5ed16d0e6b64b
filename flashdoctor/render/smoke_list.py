"""The cases as a list, and kernel names with their families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flashdoctor.model.smoke import Case
from flashdoctor.render.clean import clean, defuse
from flashdoctor.render.kernel_names import clip
from flashdoctor.render.layout import pad, pairs
from flashdoctor.render.style import Style

SCHEMA = "flashdoctor/smoke-cases/v1"


def list_text(cases: Sequence[Case], style: Style) -> str:
    """Return a line a case: its name, the family it should hit, and why it would not run.

    `v`: it runs by itself; `-`: it does not.
    """
    rows = [(f"{_mark(case, style)} {clean(case.name)}", _about(case)) for case in cases]
    lines = pairs(rows, style.columns, 0)
    return "".join(f"{defuse(line)}\n" for line in lines)


def _mark(case: Case, style: Style) -> str:
    return style.mark("none" if case.lacks or case.on_request else "good")


def _about(case: Case) -> str:
    due = f"refused: {clean(case.refusal)}" if case.refusal else clean(case.expected_family)
    why = clean(case.lacks) or ("only by its name" if case.on_request else "")
    return f"{due}; {why}" if why else due


def to_json(cases: Sequence[Case]) -> dict[str, Any]:
    """Return the same as an object."""
    return {
        "schema": SCHEMA,
        "cases": [
            {
                **case.to_agent(),
                "expected_family": case.expected_family,
                "accepted_families": list(case.expected),
                "expected_refusal": case.refusal or None,
                "proves": list(case.proves),
                "quick": case.quick,
                "on_request": case.on_request,
                "available": not case.lacks,
                "lacks": case.lacks or None,
            }
            for case in cases
        ],
    }


def classified_text(rows: Sequence[Mapping[str, str]], style: Style) -> str:
    """Return one line a kernel: its family and its name, cut to the width."""
    width = max((len(row["family"]) for row in rows), default=0)
    lines = [f"{pad(row['family'], width)}  {clean(row['kernel'], 4000)}" for row in rows]
    return "\n".join(defuse(clip(line, style.columns)) for line in lines) + "\n"
