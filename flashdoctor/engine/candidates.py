"""What a paste gives reason to suspect: for each cause its lines and rules, made into one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from flashdoctor.engine.advice import fill
from flashdoctor.engine.derive import GROUPS, OF_IMAGE
from flashdoctor.engine.matching import paths_in
from flashdoctor.engine.remarks import remark
from flashdoctor.model import versions
from flashdoctor.model.catalog import FACTS
from flashdoctor.model.finding import Advice, Certainty, Evidence, Finding
from flashdoctor.model.log import MENTION, STRENGTHS, Cause, Match, Reading
from flashdoctor.model.rule import SEVERITIES, Rule, Severity, Source
from flashdoctor.model.scrub import scrub_text
from flashdoctor.model.snapshot import Snapshot

PROOF, RULE, HINT, WEAK, SYMPTOM = range(5)
"""How far a candidate is borne out, the best first: by a line that names the fault, by a rule over
reported facts, by a line that points there, by a rule over facts of less worth, by a line that
only says that something failed."""

_CERTAINTY: Mapping[int, Certainty] = {
    PROOF: "certain",
    RULE: "likely",
    HINT: "likely",
    WEAK: "possible",
    SYMPTOM: "possible",
}
_STANDING = dict(zip(STRENGTHS, (PROOF, HINT, SYMPTOM), strict=True))
_MAX_LINES = 5
_OF_THE_BUILD = frozenset(
    {"torch.cuda", "torch.cxx11_abi", "torch.arch_list", "torch.min_driver", "torch.glibc_floor"}
)
_OF_THE_VLLM_BUILD = frozenset({"vllm.cuda", "vllm.min_driver", "vllm.min_capability"})
GUESSED = "default wheel"
"""In the source of what holds only where torch came from the package index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One cause. `standing` is one of PROOF ... SYMPTOM; `line` the last that bears it out.

    `explained_by` names the causes that would explain this one. `warned`: the program itself called
    it a warning. `supported`: lines and a rule agree.
    """

    cause: str
    standing: int
    finding: Finding
    line: int = 0
    explained_by: frozenset[str] = frozenset()
    ask: tuple[str, ...] = ()
    warned: bool = False
    supported: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What all candidates of one paste are weighed with. `facts` holds the derived ones too."""

    reading: Reading
    facts: Snapshot
    causes: Mapping[str, Cause]
    rules: Mapping[str, Rule]
    failed: Mapping[str, str] = field(default_factory=dict)
    """The cause of each rule that failed, by the rule's id."""


def weigh_all(
    matches: Iterable[Match], findings: Iterable[Finding], basis: Basis
) -> Iterator[Candidate]:
    """Bring lines and rules together by the cause that they point at."""
    lines: dict[str, list[Match]] = {}
    judged: dict[str, list[Finding]] = {}
    for match in matches:
        if match.signature.cause is not None:
            lines.setdefault(match.signature.cause, []).append(match)
    for finding in findings:
        judged.setdefault(finding.cause, []).append(finding)
    for name in dict.fromkeys([*lines, *judged]):
        ruled = sorted(judged.get(name, ()), key=lambda item: SEVERITIES.index(item.severity))
        if name in lines:
            yield _from_lines(basis.causes[name], lines[name], ruled, basis)
        else:
            yield _from_rules(name, ruled, basis)


def _from_rules(name: str, findings: list[Finding], basis: Basis) -> Candidate:
    cause = basis.causes.get(name)
    finding = _toned_down(findings[0], cause, basis)
    standing = RULE if finding.severity == "error" else WEAK
    return Candidate(
        cause=name,
        standing=standing,
        finding=finding._replace(
            layer=cause.layer if cause else finding.layer,
            evidence=_located(finding.evidence, basis),
            certainty=_CERTAINTY[standing],
        ),
        explained_by=_explained_by(cause, findings, basis) - {name},
        ask=cause.ask if cause else (),
    )


def _from_lines(
    cause: Cause, matches: list[Match], ruled: list[Finding], basis: Basis
) -> Candidate:
    best = min(matches, key=lambda match: (_standing(match), match.line))
    rule = ruled[0] if ruled else None
    bearing = [match for match in matches if _standing(match) == _standing(best)]
    standing = _together(_standing(best), rule, basis)
    signature = best.signature
    fix = _fix(best, cause, rule, basis)
    finding = Finding(
        id=rule.id if rule else signature.id,
        name=rule.name if rule else signature.name,
        cause=cause.name,
        outcome="fail",
        severity=_severity(cause, matches, rule),
        title=signature.title or cause.title,
        layer=cause.layer,
        evidence=(*_quoted(best, matches), *_located(_compared(best, rule, basis), basis)),
        fix=fix,
        sources=rule.sources if rule and fix is rule.fix else _sources(signature.sources, cause),
        detail=" ".join(filter(None, [_remark(best, basis), rule.detail if rule else ""])),
        certainty=_CERTAINTY[standing],
    )
    return Candidate(
        cause=cause.name,
        standing=standing,
        finding=finding,
        line=max(match.line for match in bearing),
        explained_by=_explained_by(cause, ruled, basis) - {cause.name},
        ask=cause.ask,
        warned=all(match.warned for match in bearing),
        supported=rule is not None,
    )


def _standing(match: Match) -> int:
    return _STANDING[match.signature.strength]


def _together(standing: int, rule: Finding | None, basis: Basis) -> int:
    """Return how well a cause is borne out by a line and by a rule over reported facts."""
    if rule is None or rule.severity != "error" or not _is_reported(rule, basis):
        return standing
    return PROOF if standing <= HINT else RULE


def _severity(cause: Cause, matches: list[Match], rule: Finding | None) -> Severity:
    found = [match.signature.severity or cause.severity for match in matches]
    if rule and cause.severity == "error":
        found.append(rule.severity)
    return min(found, key=SEVERITIES.index)


def _explained_by(cause: Cause | None, findings: list[Finding], basis: Basis) -> frozenset[str]:
    ids = (id_ for finding in findings for id_ in basis.rules[finding.id].follows)
    deeper = {basis.failed[id_] for id_ in ids if id_ in basis.failed}
    return frozenset(deeper.union(cause.explained_by if cause else ()))


def _fix(best: Match, cause: Cause, rule: Finding | None, basis: Basis) -> Advice:
    """Return the rule's own fix where all its commands could be filled in, else the row's."""
    if rule:
        wanted = basis.rules[rule.id].fix.commands
        if wanted and len(rule.fix.commands) == len(wanted):
            return rule.fix
    known = Snapshot({**basis.facts.facts, **best.facts.facts})
    return fill(best.signature.fix or cause.fix, known, {})


def _sources(sources: tuple[Source, ...], cause: Cause) -> tuple[str, ...]:
    found = (f"{source.url} (checked {source.checked.isoformat()})" for source in sources)
    causes = (f"{source.url} (checked {source.checked.isoformat()})" for source in cause.sources)
    return tuple(dict.fromkeys([*found, *causes]))


def _quoted(best: Match, matches: list[Match]) -> tuple[Evidence, ...]:
    """Return the lines that say it, the best first, each once."""
    ordered = [best, *sorted(matches, key=lambda match: (_standing(match), match.line))]
    lines = {match.line: match.text for match in reversed(ordered)}
    numbers = list(dict.fromkeys(match.line for match in ordered))[:_MAX_LINES]
    return tuple(
        Evidence(line=number, value=scrub_text(lines[number]), where=f"line {number}")
        for number in numbers
    )


def _compared(best: Match, rule: Finding | None, basis: Basis) -> tuple[Evidence, ...]:
    """Return the facts that speak for it: those of the rule, and what the row asks about."""
    asked = (*paths_in(best.signature.when), *paths_in(best.signature.unless))
    known = [path for path in asked if path in basis.facts and path not in best.facts]
    found = {item.fact: item for item in rule.evidence} if rule else {}
    for path in known:
        fact = basis.facts[path]
        if fact.is_known:
            found.setdefault(path, Evidence(fact=path, value=fact.value, where=fact.source))
    return tuple(found.values())


def _remark(best: Match, basis: Basis) -> str:
    own = {path: fact for path, fact in best.facts.facts.items() if path in best.own}
    return remark(Snapshot(own), basis.facts)


def _located(evidence: tuple[Evidence, ...], basis: Basis) -> tuple[Evidence, ...]:
    """Add to each fact the line where it stands."""
    return tuple(_with_line(item, item.fact, basis) if item.fact else item for item in evidence)


def _with_line(item: Evidence, path: str, basis: Basis) -> Evidence:
    line = basis.reading.where.get(path)
    if line is None or item.where != basis.facts[path].source:
        return item
    others = [pair.dropped for pair in basis.facts.conflicts if pair.kept.path == path]
    differs = f"; {others[0].source} says {others[0].value}" if others else ""
    return item._replace(where=f"{item.where}, line {line}{differs}")


def _toned_down(finding: Finding, cause: Cause | None, basis: Basis) -> Finding:
    """Make an error a warning where no line bears it out and its facts are not reported ones.

    A cause that is no error by itself is none here either: nobody looked at the machine. Nor is
    what rests on the version of a development build, which is no release of the tables yet.
    """
    if finding.severity != "error":
        return finding
    is_error = cause is None or cause.severity == "error"
    if is_error and _is_reported(finding, basis) and not _rests_on_development(finding):
        return finding
    return finding._replace(severity="warning")


def _rests_on_development(finding: Finding) -> bool:
    """Whether a version that is compared is one between two releases: 0.16.0rc2.dev147+g1a2b."""
    return any(
        versions.is_development(str(item.value))
        for item in finding.evidence
        if item.fact and FACTS[item.fact].kind == "version"
    )


def _is_reported(finding: Finding, basis: Basis) -> bool:
    paths = [item.fact for item in finding.evidence if item.fact]
    return bool(paths) and all(_fact_is_reported(path, basis) for path in paths)


def _fact_is_reported(path: str, basis: Basis) -> bool:
    """Whether a tool or a package list says so, or it follows from what one of them says."""
    if path in basis.reading.trust:
        return _is_told(path, basis)
    if path in _OF_THE_VLLM_BUILD:
        return False
    if path in _OF_THE_BUILD and GUESSED in basis.facts["torch.cuda"].source:
        return False
    heads = (head for prefix, head in GROUPS.items() if path.startswith(prefix))
    return _is_told(path, basis) and all(_is_told(head, basis) for head in heads)


def _is_told(path: str, basis: Basis) -> bool:
    """Whether more than a mention says so; what nobody says is left to what it follows from."""
    if basis.facts[path].source.startswith(OF_IMAGE):
        return False
    return basis.reading.trust.get(path, MENTION + 1) > MENTION
