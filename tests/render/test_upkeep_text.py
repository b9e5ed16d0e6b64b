from __future__ import annotations

from flashdoctor.model.upkeep import (
    Difference,
    Proposal,
    Refresh,
    RowKey,
    Unread,
    Verification,
)
from flashdoctor.render.style import Style
from flashdoctor.render.upkeep_text import ages_text, refresh_text, verification_text

ROW = RowKey("torch", "release", "2.8.0")
STYLE = Style()


def test_an_agreement_says_what_was_compared_and_what_it_cost() -> None:
    found = Verification(
        rows=50, of=207, values=202, differences=(), calls=17, seconds=21.4, pip="26.3",
        matrix_date="2026-11-30",
    )  # fmt: skip
    text = verification_text(found, STYLE)
    assert text.startswith("v 0 differences: 50 of 207 rows, 202 values compared\n")
    assert "pip 26.3, 17 questions, 21 s; tables of 2026-11-30" in text
    assert (found.exit_code, found.to_json()["pip"]["calls"]) == (0, 17)


def test_a_difference_shows_both_values_harmless() -> None:
    one = Difference(ROW, "triton", ["==3.4.0"], "\x1b[31m::error::==3.5.0", "x.whl")
    lost = Unread(ROW, "pip ended with status 1")
    found = Verification(rows=1, of=207, values=3, differences=(one,), unread=(lost,))
    text = verification_text(found, STYLE)
    assert text.startswith("x 1 difference: 1 of 207 rows, 3 values compared\n")
    assert "torch release 2.8.0: triton" in text
    assert "    table  ==3.4.0\n" in text
    assert "\x1b" not in text
    assert "METADATA not read for torch release 2.8.0: pip ended with status 1" in text
    assert found.exit_code == 1
    assert found.to_json()["differences"][0]["field"] == "triton"


def test_nothing_compared_is_no_agreement() -> None:
    found = Verification(rows=1, of=207, values=0, differences=())
    assert found.exit_code == 3
    assert "nothing could be compared" in verification_text(found, STYLE)


def test_a_refresh_is_a_diff_after_remarks() -> None:
    proposal = Proposal(row=ROW, fields={"version": "2.8.0"}, missing=("glibc_floor",))
    found = Refresh(proposals=(proposal,), diff="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    text = refresh_text(found, STYLE)
    assert text.startswith("# torch release 2.8.0: 1 fields read, to be read from the wheel: glibc")
    assert text.endswith(found.diff)
    none = refresh_text(Refresh(proposals=(), diff="", matrix_date="2026-11-30"), STYLE)
    assert none == "nothing on the index is newer than the tables of 2026-11-30\n"


def test_ages_are_a_table() -> None:
    text = ages_text([(12, "2026-11-18", "compat/torch release", "2.8.0")], 10, 30)
    assert text.splitlines()[1].split() == ["12", "2026-11-18", "compat/torch", "release", "2.8.0"]
    assert text.endswith("1 of 30 rows are 10 days old or older\n")
    assert ages_text([], 10, 30) == "none of 30 rows is 10 days old\n"
