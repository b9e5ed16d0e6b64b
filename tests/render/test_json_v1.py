from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import known
from flashdoctor.model.finding import Report
from flashdoctor.model.snapshot import from_json, of
from flashdoctor.render.json_v1 import dump, render
from flashdoctor.render.style import Style

SCHEMA = Path(__file__).resolve().parent.parent / "data" / "report_v1.schema.json"


@pytest.fixture(scope="module")
def schema() -> Any:
    body = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(body)
    return body


def test_every_report_has_the_shape_of_the_contract(sample_report: Report, schema: Any) -> None:
    body = json.loads(render(sample_report, Style()))
    jsonschema.validate(body, schema)
    assert body["verdict"] == sample_report.verdict
    assert [item["id"] for item in body["findings"]] == [f.id for f in sample_report.findings]


@pytest.mark.parametrize("key", ["verdict", "exit_code", "facts", "findings", "skipped", "matrix"])
def test_the_schema_notices_what_is_gone(
    build_report: Callable[[str], Report], schema: Any, key: str
) -> None:
    body = json.loads(render(build_report("fail"), Style()))
    del body[key]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, schema)


def test_style_changes_nothing(build_report: Callable[[str], Report]) -> None:
    report = build_report("fail")
    loud = Style(width=60, color=True, unicode=True, verbose=True, quiet=True)
    assert render(report, Style()) == render(report, loud) == render(report, Style())


def test_values_survive_and_nothing_hostile_stands_in_the_text(
    build_report: Callable[[str], Report],
) -> None:
    text = render(build_report("hostile"), Style())
    assert text.isascii()
    assert "\x1b" not in text
    assert "##[" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert json.loads(text)["findings"][0]["evidence"][0]["value"].startswith("\x1b[31mred")
    assert "##[error]old" in json.loads(text)["findings"][0]["title"]


def test_numbers_that_json_lacks_become_texts(build_report: Callable[[str], Report]) -> None:
    odd = of([known("gpu.memory_mib", float("nan"), "x"), known("gpu.count", [float("inf")], "x")])
    facts = json.loads(render(build_report("pass")._replace(snapshot=odd), Style()))["facts"]
    assert facts["gpu.memory_mib"]["value"] == "nan"
    assert facts["gpu.count"]["value"] == ["inf"]


def test_a_snapshot_reads_back(build_report: Callable[[str], Report]) -> None:
    snapshot = build_report("conflicts").snapshot
    assert from_json(json.loads(dump(snapshot.to_json()))) == snapshot


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_dump_is_strict_json_that_reads_back(body: Any) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    text = dump(body)
    read = json.loads(text, parse_constant=refuse)
    assert text.isascii()
    assert text.endswith("\n")
    if "inf" not in text:
        assert read == body
