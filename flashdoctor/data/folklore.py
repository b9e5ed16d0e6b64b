"""Claims that people repeat: looked up by name, searched by words, and found in texts. Pure.

`mentioned` is what `lint`, `diagnose` and `resolve` point at claims by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from flashdoctor.data.tables import Tables
from flashdoctor.model.claim import Claim
from flashdoctor.model.regex import regex
from flashdoctor.model.versions import order

_TABLE = "folklore"
_LISTS = ("keywords", "patterns", "launch", "capabilities", "hits", "misses")
_OTHERS = ("package", "since", "said", "note", "unverified")
_WORD = regex(r"[a-z0-9]+(?:\.[0-9a-z]+)*")
_SHORT = 3
_WEIGHTS = (("id", 4), ("keywords", 3), ("claim", 3), ("package", 2), ("truth", 1))
_COMMON = frozenset(
    ["a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "has",
     "have", "how", "i", "if", "in", "is", "it", "its", "my", "of", "on", "or", "that", "the",
     "this", "to", "was", "what", "when", "which", "why", "with", "you"]
)  # fmt: skip
_LONGEST = 16 << 10


class Match(NamedTuple):
    """A claim that a search found; `share` of the words asked for is in it, `score` ranks it."""

    claim: Claim
    share: float
    score: float


def load_claims(tables: Tables) -> tuple[Claim, ...]:
    """Return every claim, in the order of the table."""
    return tables.derived(_TABLE, _read)


def _read(tables: Tables) -> tuple[Claim, ...]:
    return tuple(map(_claim, tables.table(_TABLE)["claim"]))


def _claim(row: Any) -> Claim:
    optional: dict[str, Any] = {key: row[key] for key in _OTHERS if key in row}
    optional |= {key: tuple(row[key]) for key in _LISTS if key in row}
    return Claim(
        id=row["id"],
        claim=row["claim"],
        verdict=row["verdict"],
        truth=row["truth"],
        source=row["source"],
        checked=str(row["checked"]),
        **optional,
    )


def claim_named(tables: Tables, name: str | None) -> Claim | None:
    """Return the claim with this id, None where there is none."""
    return next((claim for claim in load_claims(tables) if claim.id == name), None)


def search(claims: Iterable[Claim], words: Sequence[str]) -> list[Match]:
    """Return the claims that hold at least half of the words and nearly as many as the best one.

    The best comes first. No words: every claim, in its order.
    """
    wanted = _words(" ".join(words))
    if not wanted:
        return [Match(claim, 1.0, 0.0) for claim in claims]
    found = [match for claim in claims if (match := _match(claim, wanted)).share >= 1 / 2]
    best = max((match.share for match in found), default=0.0)
    close = (match for match in found if match.share > best - 1 / 3)
    return sorted(close, key=lambda match: (-match.share, -match.score))


def _match(claim: Claim, wanted: Sequence[str]) -> Match:
    fields = [(weight, _words(_text(claim, field))) for field, weight in _WEIGHTS]
    scores = [max(_overlap(word, have) * weight for weight, have in fields) for word in wanted]
    share = sum(score > 0 for score in scores) / len(wanted)
    return Match(claim, share, sum(scores))


def _text(claim: Claim, field: str) -> str:
    value = getattr(claim, field)
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _overlap(word: str, have: Iterable[str]) -> float:
    """Return 1 for the very word, less for one that begins alike, 0 for none."""
    best = 0.0
    for other in have:
        if word == other:
            return 1.0
        if min(len(word), len(other)) > _SHORT and (
            other.startswith(word) or word.startswith(other)
        ):
            best = 1 / 2
    return best


def _words(text: str) -> list[str]:
    found = _WORD.findall(text.casefold().replace("_", " ").replace("-", " "))
    return [word for word in dict.fromkeys(found) if word not in _COMMON]


def mentioned(tables: Tables, text: str, capability: str | None = None) -> tuple[Claim, ...]:
    """Return the claims that a text carries: a log, a sentence, a command. Its first 16 KiB count.

    `capability` is the GPU's that it is about; without one, claims about certain GPUs are left out.

    A name in a text is not yet the claim: patterns are made of what only a believer writes, or of
    the very message that people misread.
    """
    return tuple(
        claim
        for claim in load_claims(tables)
        if claim.is_about(capability) and claim.is_in(text[:_LONGEST])
    )


def about_plan(
    tables: Tables, wants: Iterable[str], gpu: str, capability: str | None = None
) -> tuple[Claim, ...]:
    """Return the claims that asking for these packages on this GPU stands upon."""
    return mentioned(tables, f"resolve: want {' '.join(wants)}; gpu {gpu}", capability)


def launched_by(tables: Tables, command: str, version: str) -> Iterator[Claim]:
    """Yield the claims that a launch of a vLLM release acts upon, its variables before it.

    What was right once, and still is for that release, is left out.
    """
    at = order(version)
    for claim in load_claims(tables):
        began = order(claim.since) if claim.since else None
        if began is not None and at is not None and at < began:
            continue
        if claim.is_in_launch(command[:_LONGEST]):
            yield claim
