from __future__ import annotations

import pytest

from flashdoctor.data.pattern import slow_parts

ENDLESS = "any character without end: write .{0,200}"
NESTED = "a repeat without end inside another"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a.*b", [ENDLESS]),
        (r"(?i)no kernel image.+found (\d+)", [ENDLESS]),
        ("(?:a|b.*c)", [ENDLESS]),
        ("(?=a.{0,999})b", [ENDLESS]),
        ("(a+)+", [NESTED]),
        (r"(?:\s*,\s*\w+)*", [NESTED]),
        ("(?:x|(?:y*z)){1,}", [NESTED]),
        ("(?:a.*)*", [ENDLESS, NESTED]),
    ],
)
def test_what_is_slow_is_named(pattern: str, expected: list[str]) -> None:
    assert sorted(slow_parts(pattern)) == sorted(expected)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        r"found version (\d+)",
        r"\d+(?:\.\d{1,4}){0,3}",
        r"a.{0,200}b.{0,80}?c",
        r"(?i)[^']*'(?P<name>\w+)'",
        r"(?<!x)a(?:b|c)?(?=d)",
    ],
)
def test_what_is_bounded_is_left_alone(pattern: str) -> None:
    assert list(slow_parts(pattern)) == []
