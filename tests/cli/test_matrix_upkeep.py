"""`matrix show --stale`, `matrix verify` and `matrix refresh` up to the index."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from flashdoctor import pipeline
from flashdoctor.data.age import checked_on, stale
from flashdoctor.data.show import find_rows

Call = Callable[..., tuple[int, str, str]]
TABLES = pipeline.tables()


def test_every_row_has_an_age(call_main: Call) -> None:
    code, out, err = call_main("matrix", "show", "--stale", "0", "--format", "json")
    assert (code, err) == (0, "")
    body = json.loads(out)
    assert len(body["rows"]) == body["of"] > 1000
    assert {row["table"] for row in body["rows"]} >= {"compat/torch", "folklore", "launch/flags"}
    assert all(row["age_days"] >= 0 and row["name"] for row in body["rows"])
    days = [row["age_days"] for row in body["rows"]]
    assert days == sorted(days, reverse=True)


def test_rows_old_enough_are_shown(call_main: Call) -> None:
    _, out, _ = call_main("matrix", "show", "torch", "2.6.0", "--stale", "0")
    assert out.splitlines()[0].split() == ["days", "checked", "table", "row"]
    assert "compat/torch release  2.6.0" in out
    _, out, _ = call_main("matrix", "show", "torch", "--stale", "99999")
    assert out.startswith("none of ")


def test_age_counts_from_the_oldest_source() -> None:
    rows = find_rows(TABLES, "torch")
    [today] = {checked_on(row.row) for row in rows}
    assert today is not None
    later = date.fromisoformat(today).replace(year=date.fromisoformat(today).year + 1)
    assert {row.days for row in stale(rows, later, 100)} == {365}
    assert stale(rows, later, 366) == []
    sources = {"source": [{"checked": "2026-03-01"}, {"checked": "2026-01-01"}]}
    assert checked_on(sources) == "2026-01-01"
    assert checked_on({"source": "somewhere"}) is None


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("show",), "Missing argument 'NAME'"),
        (("show", "--stale", "soon"), "--stale takes a whole number of 0 or more, not 'soon'"),
        (("verify", "--sample", "0"), "--sample takes a whole number of 1 or more"),
        (("verify", "--seed", "x"), "--seed takes a whole number"),
        (("verify", "--format", "xml"), "--format takes terminal or json"),
        (("refresh", "--format", "xml"), "--format takes terminal or json"),
    ],
)
def test_wrong_usage(call_main: Call, args: tuple[str, ...], message: str) -> None:
    code, out, err = call_main("matrix", *args)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("command", ["verify", "refresh"])
def test_no_interpreter_and_no_pip_are_no_verdict(
    call_main: Call, tmp_path: Path, command: str
) -> None:
    code, out, _ = call_main("matrix", command, "--python", str(tmp_path / "nothing"))
    assert (code, out) == (3, "")
