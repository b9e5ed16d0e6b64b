"""The order of candidates: the likeliest root cause first, and who explains whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from flashdoctor.engine.candidates import HINT, RULE, Candidate
from flashdoctor.model.log import LOG_LAYERS
from flashdoctor.model.rule import LAYERS, SEVERITIES, Severity

_LAYERS = (*LAYERS, *LOG_LAYERS)
_Links: TypeAlias = Mapping[str, tuple[str, ...]]  # a cause, and the causes that explain it


def order(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Rank the candidates from 1 and name what each follows from.

    By severity, then by what bears them out, root causes before what follows from them, what a
    program called an error before what it called a warning, what a rule supports, the deeper
    layer, the later line. A cause that explains another stands above it, as far up as that one
    would, and is as severe where a line bears it out. `explained_by` is narrowed to what holds.
    """
    ranked = sorted(candidates, key=lambda item: _position(item, {}, {}))
    links = _links(ranked)
    raised = {item.cause: item for item in _raised(ranked, links)}
    standing = _inherited(ranked, links)
    placed: dict[str, Candidate] = {}
    for item in sorted(raised.values(), key=lambda item: _position(item, links, standing)):
        for cause in (*_above(item.cause, links), item.cause):
            placed.setdefault(cause, raised[cause])
    return tuple(
        _numbered(item, rank, links[item.cause], raised)
        for rank, item in enumerate(placed.values(), start=1)
    )


def _position(
    item: Candidate, links: _Links, standing: Mapping[str, int]
) -> tuple[int, int, bool, bool, bool, int, int, str]:
    return (
        SEVERITIES.index(item.finding.severity),
        standing.get(item.cause, item.standing),
        bool(links.get(item.cause)),
        item.warned,
        not item.supported,
        _LAYERS.index(item.finding.layer),
        -item.line,
        item.finding.id,
    )


def _links(ranked: list[Candidate]) -> _Links:
    """Return who explains whom, the likeliest first; what would close a circle is left out."""
    links: dict[str, tuple[str, ...]] = {item.cause: () for item in ranked}
    for item in ranked:
        for deeper in ranked:
            if deeper.cause not in item.explained_by or not _can_explain(deeper):
                continue
            if item.cause not in (deeper.cause, *_above(deeper.cause, links)):
                links[item.cause] = (*links[item.cause], deeper.cause)
    return links


def _can_explain(item: Candidate) -> bool:
    return item.standing <= HINT and item.finding.severity != "info"


def _above(cause: str, links: _Links) -> list[str]:
    """Return all that explains a cause, the deepest first."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        for deeper in links[name]:
            if deeper not in found:
                visit(deeper)
                found.setdefault(deeper)

    visit(cause)
    return list(found)


def _raised(ranked: list[Candidate], links: _Links) -> Iterator[Candidate]:
    """Make what explains something worse as severe as that: the root of an error is one."""
    worst: dict[str, Severity] = {item.cause: item.finding.severity for item in ranked}
    for item in ranked:
        for deeper in _above(item.cause, links):
            worst[deeper] = min(worst[deeper], item.finding.severity, key=SEVERITIES.index)
    for item in ranked:
        severity = item.finding.severity if item.standing == RULE else worst[item.cause]
        yield replace(item, finding=item.finding._replace(severity=severity))


def _inherited(ranked: list[Candidate], links: _Links) -> dict[str, int]:
    """Return how well each cause is borne out, by itself or by what it explains."""
    standing = {item.cause: item.standing for item in ranked}
    for item in ranked:
        for deeper in _above(item.cause, links):
            standing[deeper] = min(standing[deeper], item.standing)
    return standing


def _numbered(
    item: Candidate, rank: int, above: tuple[str, ...], everyone: Mapping[str, Candidate]
) -> Candidate:
    follows = everyone[above[0]].finding.id if above else None
    return replace(
        item,
        finding=item.finding._replace(rank=rank, follows=follows),
        explained_by=frozenset(above),
    )
