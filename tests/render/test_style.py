from __future__ import annotations

from flashdoctor.render.style import Style


def test_width_stays_within_reason() -> None:
    assert [Style(width=width).columns for width in (0, 60, 99, 500)] == [60, 60, 99, 120]


def test_marks_are_one_column_and_colour_is_severity() -> None:
    plain, rich = Style(), Style(color=True, unicode=True)
    assert [plain.mark(tone) for tone in ("error", "warning", "good", "none")] == [
        "x",
        "!",
        "v",
        "-",
    ]
    assert all(len(rich.mark(tone)) == 1 for tone in ("error", "warning", "info", "good", "none"))
    assert rich.paint("error", "x") == "\x1b[31mx\x1b[0m"
    assert rich.paint("info", "x") == plain.paint("error", "x") == "x"
