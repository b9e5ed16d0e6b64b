from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.finding import Report
from flashdoctor.render.context import Context
from flashdoctor.render.github import annotation, render, summary
from flashdoctor.render.markdown import render as render_markdown
from flashdoctor.render.style import Style

Build = Callable[[str], Report]


class Read(NamedTuple):
    """A workflow command as the runner understands it."""

    level: str
    properties: dict[str, str]
    message: str


def read(line: str) -> Read:
    """Take a line apart as actions/runner does: `::name key=value,key=value::message`."""
    head, _, message = line.removeprefix("::").partition("::")
    level, _, given = head.partition(" ")
    pairs = (part.split("=", 1) for part in given.split(",") if "=" in part)
    plain = {key: unescaped(value, {"%3A": ":", "%2C": ","}) for key, value in pairs}
    return Read(level, plain, unescaped(message, {}))


def unescaped(text: str, more: dict[str, str]) -> str:
    for escape, char in {"%0D": "\r", "%0A": "\n", **more, "%25": "%"}.items():
        text = text.replace(escape, char)
    return text


@given(st.text(), st.text(), st.text())
def test_the_runner_reads_back_what_was_meant(message: str, title: str, file: str) -> None:
    line = annotation("error", message, {"file": file, "title": title})
    assert "\n" not in line
    assert "\r" not in line
    assert read(line) == ("error", {"file": file, "title": title}, message)


def test_levels_titles_and_places(build_report: Build) -> None:
    context = Context(pins={"flash_attn": ("requirements.txt", 7)})
    lines = render(build_report("fail"), Style(), context).splitlines()
    assert lines[0].startswith("FAIL  ")
    told = [read(line) for line in lines if line.startswith("::")]
    assert [one.level for one in told] == ["error", "warning", "notice"]
    assert told[0].properties == {
        "file": "requirements.txt",
        "line": "7",
        "title": "FD302 flash-attn was built for another torch",
    }
    assert "pip install --no-deps https://example.org/releases" in told[0].message
    assert "file" not in told[1].properties
    assert "Follows from FD302." in told[1].message


@pytest.mark.parametrize("which", ["pass", "pass_live"])
def test_a_pass_annotates_nothing(build_report: Build, which: str) -> None:
    text = render(build_report(which), Style(), Context())
    assert text.startswith("PASS  ")
    assert "::" not in text


def test_the_summary_is_the_markdown_with_room_behind_it(build_report: Build) -> None:
    report = build_report("fail")
    text = summary(report, Style(), Context())
    assert text == render_markdown(report, Style(), Context()) + "\n"
