"""Claims that people repeat, as text: the list, or some of them in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashdoctor.model.claim import VERDICTS, Claim
from flashdoctor.render.clean import clean, defuse
from flashdoctor.render.layout import hang, indented, joined, pairs
from flashdoctor.render.style import Style

_LONG = 2000
_VERDICT = max(map(len, VERDICTS)) + 2


def list_text(claims: Sequence[Claim], style: Style) -> str:
    """Return one claim a paragraph: verdict, claim, and its name, by which it is asked for."""
    lines: list[str] = []
    for claim in claims:
        start = f"{claim.verdict:{_VERDICT}}"
        lines += hang(start, f"{clean(claim.claim, _LONG)} [{clean(claim.id)}]", style.columns)
    return _text([*lines, "", f"{len(claims)} claims; flashdoctor folklore WORDS tells more"])


def claims_text(claims: Sequence[Claim], words: str, style: Style) -> str:
    """Return the best claims in full, up to three, and the names of the rest."""
    if not claims:
        return _text(
            [f"nothing is known about a claim with the words: {clean(words)}",
             "flashdoctor folklore lists all of them"]
        )  # fmt: skip
    shown = claims if style.verbose else claims[:3]
    blocks = [list(_block(claim, style)) for claim in shown]
    rest = ", ".join(clean(claim.id) for claim in claims[len(shown) :])
    return _text(joined([*blocks, indented(f"also: {rest}", style.columns, 0) if rest else []]))


def pointer_lines(claims: Sequence[Claim], style: Style) -> list[str]:
    """Return a line a claim that the user's own text or wish carries: what became of it, where."""
    lines: list[str] = []
    for claim in claims:
        became = "partly true" if claim.verdict == "partly" else claim.verdict
        said = f'"{clean(claim.claim)}" is {clean(became)}'
        lines += hang(
            "folklore: ", f"{said}: flashdoctor folklore {clean(claim.id)}", style.columns
        )
    return lines


def _block(claim: Claim, style: Style) -> Iterator[str]:
    yield from hang(f"{claim.verdict.upper()}  ", clean(claim.claim, _LONG), style.columns)
    yield from indented(clean(claim.truth, _LONG), style.columns, 2)
    yield from pairs(list(_facts(claim)), style.columns, 2)


def _facts(claim: Claim) -> Iterator[tuple[str, str]]:
    if claim.since:
        yield "since", clean(f"{claim.package} {claim.since}")
    yield "evidence", clean(f"{claim.source} (checked {claim.checked})", _LONG)
    if claim.said:
        yield "met in", clean(claim.said, _LONG)
    if claim.note:
        yield "unverified" if claim.unverified else "note", clean(claim.note, _LONG)
    yield "name", clean(claim.id)


def _text(lines: Sequence[str]) -> str:
    return "".join(defuse(line) + "\n" for line in lines)
