from __future__ import annotations

from collections.abc import Callable

from flashdoctor.render.matrix_text import Section, overview_text, rows_text
from flashdoctor.render.style import Style

SECTIONS = (
    Section(
        name="release",
        keys=("version",),
        rows=(
            {"version": "2.6.0", "cuda": ["12.4", "12.6"], "ptx": True, "source": "s" * 50},
            {"version": "2.7.1", "cuda": [], "ptx": False, "source": "s" * 50, "note": "one"},
        ),
    ),
    Section(name="runs", rows=({"name": "x", "parts": [{"first": "1"}, {"first": "2"}]},)),
    Section(name="empty", rows=()),
)


def test_golden(golden: Callable[[str, str], None]) -> None:
    texts = [overview_text(SECTIONS, Style(width=60)), rows_text(SECTIONS, Style(width=60))]
    golden("matrix.txt", "=====\n".join(texts))


def test_keys_are_always_shown_and_the_rest_where_it_fits() -> None:
    lines = overview_text(SECTIONS, Style(width=60)).splitlines()
    assert lines[0] == "[release] 2 rows"
    assert lines[1].split() == ["version", "cuda", "ptx"]
    assert "note" not in lines[1]


def test_a_row_is_shown_whole() -> None:
    text = rows_text(SECTIONS, Style(width=60))
    for word in ("version  2.6.0", "12.4, 12.6", "yes", "no", "none", "parts 2"):
        assert word in text
