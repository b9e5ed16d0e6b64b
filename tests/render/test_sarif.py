from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.model.finding import Advice, Evidence, Finding, Report
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.context import Context
from flashdoctor.render.sarif import render
from flashdoctor.render.style import Style

SCHEMA = Path(__file__).resolve().parent.parent / "data" / "sarif-2.1.0.schema.json"
Build = Callable[[str], Report]
VALIDATOR = jsonschema.Draft4Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def run_of(report: Report, context: Context | None = None) -> Any:
    body = json.loads(render(report, Style(), context or Context()))
    VALIDATOR.validate(body)
    [run] = body["runs"]
    return run


def test_every_report_fits_the_published_schema(sample_report: Report) -> None:
    for command in ("check", "diagnose"):
        run = run_of(sample_report, Context(command=command, source="a b.log"))
        assert len(run["results"]) == len(sample_report.findings)
        assert run["invocations"][0]["exitCode"] == sample_report.exit_code


def test_the_schema_notices_what_is_wrong(build_report: Build) -> None:
    body = json.loads(render(build_report("fail"), Style(), Context()))
    body["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(body)


def test_each_result_points_at_its_rule_which_has_help(build_report: Build) -> None:
    run = run_of(build_report("many"))
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
    assert rules[0]["helpUri"] == "https://example.org/flash-attn/releases"


@pytest.mark.parametrize(
    ("context", "uri", "line"),
    [
        (Context(), "environment", 1),
        (Context(source="./snaps/node 1.json"), "snaps/node%201.json", 1),
        (Context(source="node.json", lines={"torch.version": 42}), "node.json", 42),
        (Context(pins={"flash_attn": ("uv.lock", 7)}), "uv.lock", 7),
        (Context(pins={"vllm": ("uv.lock", 7)}), "environment", 1),
        (Context(source="../up.json", lines={"gpu.name": 3}), "../up.json", 1),
    ],
)
def test_a_result_stands_where_the_evidence_does(
    build_report: Build, context: Context, uri: str, line: int
) -> None:
    place = run_of(build_report("fail"), context)["results"][0]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == uri
    assert place["physicalLocation"]["region"] == {"startLine": line}
    assert {"fullyQualifiedName": "torch.version", "kind": "fact"} in place["logicalLocations"]


def test_a_fingerprint_outlives_values_and_lines(build_report: Build) -> None:
    report = build_report("fail")
    first = report.findings[0]
    newer = first._replace(evidence=tuple(item._replace(value="9") for item in first.evidence))
    moved = Context(source="node.json", lines={"torch.version": 9})
    same = [run_of(r, c)["results"][0]["partialFingerprints"] for r, c in (
        (report, Context(source="node.json")),
        (report._replace(findings=(newer,)), moved),
    )]  # fmt: skip
    assert same[0] == same[1]
    others = run_of(report)["results"]
    prints = [item["partialFingerprints"]["primaryLocationLineHash"] for item in others]
    assert len(set(prints)) == len(prints)


def test_a_skipped_rule_is_a_notification_with_its_reason(build_report: Build) -> None:
    notes = run_of(build_report("fail"))["invocations"][0]["toolExecutionNotifications"]
    assert [note["associatedRule"]["id"] for note in notes] == ["FD511", "FD702"]
    assert "nvcc timed out" in notes[0]["message"]["text"]
    assert "vLLM" in notes[1]["message"]["text"]


def test_a_message_has_neither_placeholders_nor_links() -> None:
    text = "[click](https://e.test) {0} }{"
    finding = Finding(id="FD1", name="n", cause="c", outcome="fail", severity="error", title=text,
                      layer="host", detail=text, fix=Advice(text=text),
                      evidence=(Evidence(line=1, value=text, where=""),))  # fmt: skip
    report = Report(verdict="fail", exit_code=1, snapshot=Snapshot(), findings=(finding,))
    run = run_of(report)
    said = [run["results"][0]["message"]["text"], run["tool"]["driver"]["rules"][0]["help"]["text"]]
    for text in said:
        assert "](" not in text
        assert "{0}" not in text.replace("{{", "").replace("}}", "")


@given(st.text(max_size=60))
@settings(deadline=None)
def test_any_file_name_is_a_relative_address(name: str) -> None:
    report = Report(verdict="fail", exit_code=1, snapshot=Snapshot(), findings=(
        Finding(id="FD1", name="n", cause="c", outcome="fail", severity="error", title="t",
                layer="host"),))  # fmt: skip
    place = run_of(report, Context(source=name))["results"][0]["locations"][0]
    uri = place["physicalLocation"]["artifactLocation"]["uri"]
    parts = urlsplit(uri)
    assert uri.isascii()
    assert uri
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("", "", "", "")
