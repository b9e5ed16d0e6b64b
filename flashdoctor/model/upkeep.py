"""What the package index says of releases, and what became of comparing tables with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

VERIFY_SCHEMA = "flashdoctor/matrix-verify/v1"
REFRESH_SCHEMA = "flashdoctor/matrix-refresh/v1"


class Published(NamedTuple):
    """One file on the index. The tags are empty where it is a source distribution."""

    file: str
    version: str
    python: str = ""
    abi: str = ""
    platforms: tuple[str, ...] = ()
    requires_python: str | None = None

    @property
    def python_tag(self) -> str:
        """The Python it is for: `cp314`, `cp314t`, or the abi of a stable one."""
        return self.abi if self.abi.endswith("t") else self.python


class Metadata(NamedTuple):
    """METADATA of one wheel: `requires` holds its Requires-Dist lines as they stand."""

    name: str
    version: str
    file: str
    requires_python: str | None
    requires: tuple[str, ...]


class RowKey(NamedTuple):
    """Where a row stands: `torch`, `release`, `2.8.0`."""

    table: str
    section: str
    version: str

    def __str__(self) -> str:
        return f"{self.table} {self.section} {self.version}"


class Difference(NamedTuple):
    """A field that the index states otherwise. `read_in` names the file or listing."""

    row: RowKey
    field: str
    ours: Any
    theirs: Any
    read_in: str

    def to_json(self) -> dict[str, Any]:
        """Return the row, the field, both values and where the other one was read."""
        return {
            **self.row._asdict(),
            "field": self.field,
            "ours": self.ours,
            "theirs": self.theirs,
            "read_in": self.read_in,
        }


class Unread(NamedTuple):
    """A row whose METADATA could not be had, and why: what the file names say was compared."""

    row: RowKey
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the row and the reason."""
        return {**self.row._asdict(), "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Rows held against the index. `of` is the number of rows there are, `values` those compared.

    `calls` and `seconds` say what it cost.
    """

    rows: int
    of: int
    values: int
    differences: tuple[Difference, ...]
    unread: tuple[Unread, ...] = ()
    calls: int = 0
    seconds: float = 0.0
    pip: str = ""
    matrix_date: str = ""

    @property
    def exit_code(self) -> int:
        """0: all that was compared agrees; 1: something does not; 3: nothing was compared."""
        if not self.values:
            return 3
        return 1 if self.differences else 0

    def to_json(self) -> dict[str, Any]:
        """Return the v1 object."""
        return {
            "schema": VERIFY_SCHEMA,
            "exit_code": self.exit_code,
            "rows": self.rows,
            "of": self.of,
            "values": self.values,
            "differences": [item.to_json() for item in self.differences],
            "unread": [item.to_json() for item in self.unread],
            "pip": {"version": self.pip, "calls": self.calls, "seconds": round(self.seconds, 1)},
            "matrix": {"date": self.matrix_date},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A row for a release that the table lacks. `missing`: keys that only its wheel can tell."""

    row: RowKey
    fields: Mapping[str, Any]
    missing: tuple[str, ...] = ()
    replaces: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the row, what was read, and what was not."""
        return {
            **self.row._asdict(),
            "replaces": self.replaces,
            "fields": dict(self.fields),
            "missing": list(self.missing),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """What the tables lack, and the diff that would bring it in."""

    proposals: tuple[Proposal, ...]
    diff: str
    unread: tuple[Unread, ...] = ()
    notes: tuple[str, ...] = field(default=())
    matrix_date: str = ""

    @property
    def exit_code(self) -> int:
        """0: nothing newer is on the index; 1: something is."""
        return 1 if self.proposals or self.unread else 0

    def to_json(self) -> dict[str, Any]:
        """Return the v1 object."""
        return {
            "schema": REFRESH_SCHEMA,
            "exit_code": self.exit_code,
            "proposals": [item.to_json() for item in self.proposals],
            "unread": [item.to_json() for item in self.unread],
            "diff": self.diff,
            "notes": list(self.notes),
            "matrix": {"date": self.matrix_date},
        }
