"""Where a row was read: the keys that every row of a table carries, or inherits from [meta].

`source` names what was read, `checked` the day. `unverified` marks a row that nobody read again,
`unverified_fields` single values; `conflict` says what another source states and which of the two
wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flashdoctor.data.shape import Field, Section, may, need
from flashdoctor.model.rule import SEVERITIES

_KEYS = {
    "source": need("text"),
    "checked": need("date"),
    "note": may("text"),
    "conflict": may("text"),
    "unverified": may("bool"),
    "unverified_fields": may("text", many=True),
}
_META = {"method": need("text"), "rules": may("text", many=True), "checked": need("date")}

META = Section(_META, single=True)
"""The [meta] of a table whose rows all say where they were read."""

SAMPLED_META = Section(
    {**_META, "source": need("text"), "sampled": Field("version", many=True, filled=True)},
    single=True,
)
"""The [meta] of a table that one reading of many releases gave: its rows may inherit from it."""


def sourced(fields: Mapping[str, Field], *unique: str | tuple[str, ...]) -> Section:
    """Describe rows that each say where they were read."""
    keys = tuple((key,) if isinstance(key, str) else key for key in unique)
    return Section({**fields, **_KEYS}, unique=keys)


def sampled(fields: Mapping[str, Field], *unique: str | tuple[str, ...]) -> Section:
    """Describe rows that take `source` and `checked` from a SAMPLED_META where they lack them."""
    return replace(sourced(fields, *unique), inherits=("source", "checked"))


FACTS = sourced(
    {
        "id": need("label"),
        "text": need("text"),
        "severity": may("text", *SEVERITIES),
        "detect": may("text"),
    },
    "id",
)
"""Statements that no figure holds."""
