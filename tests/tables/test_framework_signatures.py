"""The signatures of framework.toml that repeat what matrices/launch says: the two must agree."""

from __future__ import annotations

import re
from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.model.versions import order

TABLES = load_tables()
NEWEST = "0.33.0"


def signature(identity: str) -> dict[str, Any]:
    rows = TABLES.table("signatures/framework")["signature"]
    return next(row for row in rows if row["id"] == identity)


def flags() -> dict[str, str]:
    """Return the last release of every flag that the newest release does not have."""
    rows = TABLES.table("launch/flags")["flag"]
    return {row["name"]: row["last"] for row in rows if row["last"] != NEWEST}


REMOVED = sorted((name, last) for name, last in flags().items() if name != "version")
"""Without --version, which the main program still takes."""


@pytest.mark.parametrize(("name", "last"), REMOVED, ids=[name for name, _ in REMOVED])
def test_every_flag_that_is_gone_is_known_as_removed(name: str, last: str) -> None:
    row = signature("LS6211")
    pattern = re.compile(row["pattern"])

    as_option = pattern.search(f"vllm: error: unrecognized arguments: --{name} 1")
    as_keyword = pattern.search(
        f"TypeError: EngineArgs.__init__() got an unexpected keyword argument "
        f"'{name.replace('-', '_')}'"
    )

    assert as_option is not None
    assert as_option["flag"] == name
    assert as_keyword is not None
    assert as_keyword["flag"] == name.replace("-", "_")
    assert still_there(row["unless"], name) == last


def still_there(unless: dict[str, Any], name: str) -> str:
    """Return the last release up to which `unless` takes the flag for known."""
    found = [
        version["value"]
        for flag, version in (part["all"] for part in unless["any"])
        if re.search(flag["value"], name)
    ]
    assert len(found) == 1
    return str(found[0])


def test_no_flag_of_the_newest_release_counts_as_removed() -> None:
    pattern = re.compile(signature("LS6211")["pattern"])
    current = [row["name"] for row in TABLES.table("launch/flags")["flag"] if row["last"] == NEWEST]

    taken = [name for name in current if pattern.search(f"error: unrecognized arguments: --{name}")]

    assert taken == []


def test_every_variable_that_is_gone_is_known_as_ignored() -> None:
    pattern = re.compile(signature("LS6202")["pattern"])
    rows = TABLES.table("launch/environment")["variable"]

    for row in rows:
        if not row["name"].startswith("VLLM_"):
            continue
        line = f"Unknown vLLM environment variable detected: {row['name']}"
        gone = order(row["last"]) != order(NEWEST)
        assert (pattern.search(line) is not None) == gone, row["name"]
