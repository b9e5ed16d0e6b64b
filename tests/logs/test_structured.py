from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.structured import unfold

MESSAGE = 'RuntimeError: "x" failed'


@pytest.mark.parametrize(
    "entry",
    [
        {"log": f"{MESSAGE}\n", "stream": "stderr", "time": "2025-01-01T00:00:00Z"},
        {"message": MESSAGE, "level": "error"},
        {"ts": 1.5, "msg": MESSAGE},
        {"MESSAGE": MESSAGE, "__REALTIME_TIMESTAMP": "1"},
        {"textPayload": MESSAGE, "severity": "ERROR"},
        {"event": MESSAGE, "timestamp": "2025"},
        {"@timestamp": "2025", "message": MESSAGE, "kubernetes": {"pod": "x"}},
    ],
)
def test_of_a_log_entry_its_message_remains(entry: dict[str, Any]) -> None:
    assert unfold(json.dumps(entry)) == [MESSAGE]


def test_the_lines_and_details_of_an_entry_come_one_by_one() -> None:
    entry = {
        "level": "error",
        "message": "a\nb",
        "exc_info": "Traceback\n  File",
        "error": {"msg": "c"},
    }
    assert unfold(json.dumps(entry)) == ["a", "b", "Traceback", "  File", "c"]


def test_other_json_stays_with_its_message_behind_it() -> None:
    answer = json.dumps({"object": "error", "message": "too long", "code": 400})
    assert unfold(answer) == [answer, "too long"]
    nested = json.dumps({"error": {"message": "no such model", "type": "NotFound"}})
    assert unfold(nested) == [nested, "no such model"]


@pytest.mark.parametrize(
    "text",
    [
        '{"hidden_size": 4096, "torch_dtype": "bfloat16"}',
        "{not json}",
        "{'python': 'dict'}",
        "{" * 20_000 + "}" * 20_000,
        '{"a":' * 20_000 + "1" + "}" * 20_000,
        "[1, 2]",
        "plain text",
        "{}",
        '{"log": 5, "time": 1}',
        '{"log": null}',
    ],
)
def test_what_holds_no_message_is_left_alone(text: str) -> None:
    assert unfold(text) is None


def test_escaped_quotes_are_undone() -> None:
    text = 'level=error msg="could not select device driver \\"\\" with capabilities: [[gpu]]"'
    assert unfold(text) == [text.replace('\\"', '"')]


def test_a_traceback_with_its_line_ends_spelled_out() -> None:
    text = "b'Traceback (most recent call last):\\n  File \"x.py\"\\nRuntimeError: boom\\n'"
    assert unfold(text) == [
        text,
        "b'Traceback (most recent call last):",
        '  File "x.py"',
        "RuntimeError: boom",
        "'",
    ]


def test_a_path_of_windows_is_no_line_end() -> None:
    assert unfold("C:\\new\\nvcc is not there") is None


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda part: (
        st.lists(part) | st.dictionaries(st.sampled_from(["log", "error", "msg", "x"]), part)
    ),
)


@given(st.dictionaries(st.sampled_from(["log", "message", "time", "error", "stack"]), trees))
def test_any_entry_gives_lines_without_ends(body: dict[str, Any]) -> None:
    lines = unfold(json.dumps(body)) or []
    assert not any("\n" in line for line in lines)


@given(st.text() | st.text('{}"\\n:[], log'))
def test_any_text_survives(text: str) -> None:
    assert unfold(text) is None or isinstance(unfold(text), list)
