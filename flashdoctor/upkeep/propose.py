"""Rows for releases that the tables lack: what was read, and what is left to read. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from flashdoctor.data.schema import shape_of
from flashdoctor.data.tables import Tables
from flashdoctor.model.regex import regex
from flashdoctor.model.upkeep import Metadata, Proposal, Published, RowKey
from flashdoctor.model.versions import minor, order
from flashdoctor.upkeep.fields import agree, from_metadata, from_names

_FINAL = regex(r"\d+(?:\.\d+)*(?:\.?post\d+)?")
_KEPT_APART = ("source", "checked", "note", "conflict", "unverified", "unverified_fields")
_BY_MINOR = ("vllm", "transformers")
"""Tables that hold the last patch release of each X.Y."""


def newer_releases(
    tables: Tables, table: str, files: Mapping[str, Sequence[Published]]
) -> list[str]:
    """Return the final releases on the index that are newer than the table's row for them.

    In a table by X.Y that is a later patch release of an X.Y as well; elsewhere all that follow
    the newest row.
    """
    rows = [row["version"] for row in tables.compat(table)["release"]]
    have = {minor(version): version for version in sorted(rows, key=_order)}
    newest = max(rows, key=_order)
    last = max((row["last"] for row in tables.compat(table).get("torch_range", ())),
               key=_order, default=newest)  # fmt: skip
    found = []
    for version in files:
        if not _FINAL.fullmatch(version):
            continue
        known = have.get(minor(version)) if table in _BY_MINOR else None
        if _order(version) > _order(known or max(newest, last, key=_order)):
            found.append(version)
    return sorted(found, key=_order)


def _order(version: str) -> Any:
    return order(version) or ((), 0)


def propose(
    tables: Tables,
    table: str,
    files: Mapping[str, Sequence[Published]],
    known: Mapping[str, Metadata | None],
) -> list[Proposal]:
    """Return a row for each release (by X.Y: for the last of each) whose METADATA was read.

    flash-attn has no wheel on the index: its rows hold what the listing says.
    """
    versions = sorted(known, key=_order)
    if table in _BY_MINOR:
        versions = [list(group)[-1] for _, group in groupby(versions, key=minor)]
    return [
        _proposal(tables, table, version, files[version], known[version])
        for version in versions
        if known[version] is not None or table == "flash_attn"
    ]


def _proposal(
    tables: Tables,
    table: str,
    version: str,
    files: Sequence[Published],
    metadata: Metadata | None,
) -> Proposal:
    fields: dict[str, Any] = {"version": version}
    shape = shape_of(f"compat/{table}")
    keys = shape.sections["release"].fields if shape else {}
    if "minor" in keys:
        fields["minor"] = minor(version)
    fields |= from_names(table, files)
    fields |= from_metadata(table, metadata) if metadata else {}
    old = _replaced(tables, table, version)
    wanted = set(old or ()) | {key for key, spec in keys.items() if spec.required}
    ordered = [key for key in keys if key not in _KEPT_APART]
    fields = {key: fields[key] for key in ordered if key in fields}
    file = metadata.file if metadata else ", ".join(sorted(item.file for item in files))
    read = "METADATA and file names" if metadata else "file name and Requires-Python"
    return Proposal(
        row=RowKey(table, "release", version),
        fields={**fields, "source": f"{file} on the package index ({read})"},
        missing=tuple(key for key in ordered if key in wanted and key not in fields),
        replaces=old["version"] if old else None,
    )


def _replaced(tables: Tables, table: str, version: str) -> Mapping[str, Any] | None:
    rows = tables.compat(table)["release"] if table in _BY_MINOR else ()
    return next((row for row in rows if row["minor"] == minor(version)), None)


def ranges(tables: Tables, known: Mapping[str, Metadata | None]) -> list[Proposal]:
    """Return rows of vLLM's torch pins for releases after the last range, one for each run."""
    last = max(tables.compat("vllm")["torch_range"], key=lambda row: _order(row["last"]))
    pins = [
        (version, str(from_metadata("vllm", metadata).get("torch", "")).removeprefix("=="))
        for version, metadata in sorted(known.items(), key=lambda item: _order(item[0]))
        if metadata is not None and _order(version) > _order(last["last"])
    ]
    found: list[Proposal] = []
    for pin, group in groupby(pins, key=lambda item: item[1]):
        versions = [version for version, _ in group]
        goes_on = not found and agree(pin, last["torch"])
        first = last["first"] if goes_on else versions[0]
        if pin:
            found.append(
                Proposal(
                    row=RowKey("vllm", "torch_range", first),
                    fields={"first": first, "last": versions[-1], "torch": pin,
                            "source": "vllm METADATA of every patch release"},
                    replaces=first if goes_on else None,
                )
            )  # fmt: skip
    return found
