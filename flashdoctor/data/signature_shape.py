"""The shape of the tables in matrices/signatures: causes, and the lines that point at them."""

from __future__ import annotations

from flashdoctor.data.shape import Field, Section, Shape, may, need
from flashdoctor.model.log import LOG_LAYERS, STRENGTHS
from flashdoctor.model.rule import LAYERS, PACKAGES, SAFETIES, SEVERITIES

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
_SOURCES = Field("table", many=True, of=_SOURCE, filled=True)

_CAUSE = Section(
    {
        "name": need("label"),
        "title": need("text"),
        "layer": need("text", *LAYERS, *LOG_LAYERS),
        "severity": need("text", *SEVERITIES),
        "explained_by": may("label", many=True),
        "ask": may("text", many=True),
        "fix": Field("table", of=_FIX),
        "source": _SOURCES,
        "note": may("text"),
    },
    unique=(("name",),),
    required=False,
)

_SIGNATURE = Section(
    {
        "id": need("text"),
        "name": need("label"),
        "cause": may("label"),
        "strength": may("text", *STRENGTHS),
        "severity": may("text", *SEVERITIES),
        "title": may("text"),
        "keywords": Field("text", many=True, filled=True),
        "pattern": may("pattern"),
        "captures": may("table"),
        "convert": may("table"),
        "sets": may("table"),
        "when": may("table"),
        "unless": may("table"),
        "fix": Field("table", required=False, of=_FIX),
        "hits": Field("any", many=True, filled=True),
        "misses": Field("any", many=True, filled=True),
        "source": _SOURCES,
        "note": may("text"),
    },
    required=False,
)

SIGNATURES = Shape({"cause": _CAUSE, "signature": _SIGNATURE})
