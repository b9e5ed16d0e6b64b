"""The shape of every table in matrices/, and the words of the `when` language.

A table without a shape here is a mistake: what ships is what was checked.
"""

from __future__ import annotations

from collections.abc import Mapping

from flashdoctor.data.compat import COMPAT_SHAPES
from flashdoctor.data.kernels import KERNELS
from flashdoctor.data.launch import LAUNCH_SHAPES
from flashdoctor.data.provenance import META, sourced
from flashdoctor.data.shape import Field, Section, Shape, may, need
from flashdoctor.data.signature_shape import SIGNATURES
from flashdoctor.model.claim import VERDICTS
from flashdoctor.model.rule import BASES, COMPONENTS, LAYERS, PACKAGES, SAFETIES, SEVERITIES

SCHEMA = "flashdoctor/matrices/v1"

OPERATORS = (
    "eq", "ne", "lt", "le", "gt", "ge",
    "same_minor", "same_major", "differs_minor", "differs_major",
    "in", "not_in", "contains", "lacks", "matches", "satisfies", "violates",
    "known", "absent",
)  # fmt: skip
"""Every `op` of the `when` language of a rule."""

_SOURCE = Section({"url": need("text"), "checked": need("date")}, single=True)
_FIX = Section(
    {
        "text": need("text"),
        "commands": may("text", many=True),
        "safety": may("text", *SAFETIES),
        "package": may("text", *PACKAGES),
    },
    single=True,
)
_EXAMPLE = Section(
    {
        "facts": need("table"),
        "expect": need("text", "fail", "pass", "skip"),
        "require": may("text", *COMPONENTS, many=True),
    },
    single=True,
)
_RULE = Section(
    {
        "id": need("text"),
        "name": need("label"),
        "cause": may("label"),
        "title": need("text"),
        "layer": need("text", *LAYERS),
        "severity": need("text", *SEVERITIES),
        "unrequired": may("text", *SEVERITIES),
        "basis": need("text", *BASES),
        "component": may("text", *COMPONENTS),
        "follows": may("text", many=True),
        "evidence": may("text", many=True),
        "about": may("text"),
        "outside": may("bool"),
        "decides": may("text", *COMPONENTS, many=True),
        "when": may("table"),
        "check": may("label"),
        "fix": Field("table", of=_FIX),
        "source": Field("table", many=True, of=_SOURCE, filled=True),
        "example": Field("table", many=True, of=_EXAMPLE, filled=True),
        "note": may("text"),
    },
)

_CLAIM = sourced(
    {
        "id": need("label"),
        "claim": need("text"),
        "keywords": may("text", many=True),
        "patterns": may("pattern", many=True),
        "launch": may("pattern", many=True),
        "capabilities": may("capability", many=True),
        "hits": may("text", many=True),
        "misses": may("text", many=True),
        "said": may("text"),
        "verdict": need("text", *VERDICTS),
        "truth": need("text"),
        "package": may("label"),
        "since": may("version"),
    },
    "id",
)

_META = Shape(values=Section({"schema": need("text", SCHEMA), "date": need("day")}, single=True))
_RULES = Shape({"rule": _RULE})

SHAPES: Mapping[str, Shape] = {
    "meta": _META,
    "folklore": Shape({"meta": META, "claim": _CLAIM}),
    "kernels": KERNELS,
    **{f"compat/{name}": shape for name, shape in COMPAT_SHAPES.items()},
    **{f"launch/{name}": shape for name, shape in LAUNCH_SHAPES.items()},
}
"""By table name, which is the path of its file inside matrices/ without the ending."""


def shape_of(name: str) -> Shape | None:
    """Return the shape of the table `name`, None where there is no such table."""
    group = name.partition("/")[0]
    return {"rules": _RULES, "signatures": SIGNATURES}.get(group) or SHAPES.get(name)
