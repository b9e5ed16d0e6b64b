from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from flashdoctor.model.finding import Report
from flashdoctor.model.rule import Fix, Rule
from flashdoctor.render.context import Context
from flashdoctor.render.junit import render
from flashdoctor.render.style import Style

Build = Callable[[str], Report]
TAGS = {"testsuites", "testsuite", "properties", "property", "testcase", "failure", "error",
        "skipped", "system-out"}  # fmt: skip


def suite_of(report: Report, context: Context | None = None) -> ET.Element:
    root = ET.fromstring(render(report, Style(), context or Context()))
    assert {element.tag for element in root.iter()} <= TAGS
    return root[0]


def outcomes(suite: ET.Element) -> dict[str, str]:
    return {
        case.attrib["name"].split()[0]: case[0].tag if len(case) else "pass"
        for case in suite.findall("testcase")
    }


def test_counts_are_those_of_the_cases(sample_report: Report) -> None:
    suite = suite_of(sample_report)
    found = list(outcomes(suite).values())
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.attrib[attribute]) == found.count(tag)


@pytest.mark.parametrize(
    ("fail_on", "first", "second"),
    [
        ("error", "failure", "system-out"),
        ("warning", "failure", "failure"),
        ("never", "system-out", "system-out"),
    ],
)
def test_a_case_fails_where_the_run_does(
    build_report: Build, fail_on: str, first: str, second: str
) -> None:
    found = outcomes(suite_of(build_report("fail"), Context(fail_on=fail_on)))
    assert (found["FD302"], found["FD611"], found["FD690"]) == (first, second, "system-out")


def test_a_crash_is_an_error_and_a_skip_has_its_reason(build_report: Build) -> None:
    suite = suite_of(build_report("crash"))
    assert outcomes(suite)["FD404"] == "error"
    reasons = [element.attrib["message"] for element in suite.iter("skipped")]
    assert reasons == [
        "not known: CUDA toolkit; nvcc timed out", "not known: vLLM torch pin, torch CUDA",
    ]  # fmt: skip


def test_a_rule_has_one_name_whether_it_passes_or_not(build_report: Build) -> None:
    fix = Fix(text="x")
    rule = Rule("FD302", "flash-attn-abi", "c", "t", "flash-attn", "error", "error", "documented",
                fix, (), ())  # fmt: skip
    context = Context(rules={"FD302": rule, "FD301": rule._replace(id="FD301")})
    names = {case.attrib["name"]: case.attrib["classname"]
             for case in suite_of(build_report("pass"), context).findall("testcase")}  # fmt: skip
    assert names["FD301 flash-attn-abi"] == "flashdoctor.flash-attn"
