"""What a report says, in parts that are safe to show: the input of every format that others read.

A report of any command becomes one `Outline`. Its texts are single printable lines without names
and secrets; what a format still has to do is to escape its own syntax.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from flashdoctor.model.finding import Evidence, Finding, Question, Report, Skipped, Verdict
from flashdoctor.model.lint import LintFinding, LintReport
from flashdoctor.model.regex import regex
from flashdoctor.model.rule import Severity
from flashdoctor.model.scrub import scrub_text, scrub_version
from flashdoctor.model.smoke import SmokeReport
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.clean import clean, clean_command
from flashdoctor.render.context import PLAIN, Context
from flashdoctor.render.formats import terminal_renderer
from flashdoctor.render.missing import next_steps
from flashdoctor.render.places import Place, place_of
from flashdoctor.render.policy_text import policy_text
from flashdoctor.render.proof import established
from flashdoctor.render.stack import Part, stack_parts
from flashdoctor.render.style import MAX_WIDTH, Style, Tone
from flashdoctor.render.values import label, value_text

AnyReport: TypeAlias = Report | SmokeReport | LintReport

VALUE_LIMIT = 1000
"""Characters of one value or quoted line; JSON carries the whole."""

TEXT_LIMIT = 4000
_ID_LIMIT = 100
_SMOKE_STEPS = (Question("flashdoctor check", "says why no kernel could be proven"),)
_TAG = regex(r" [A-Z]{2}\d+(?:, [a-z]+)?$")  # a diagnosis' first line ends with its rule


class Quote(NamedTuple):
    """A piece of evidence: a fact's label and value, or a line of a text (no label then)."""

    label: str
    text: str
    where: str
    fact: str | None = None
    line: int | None = None

    def shown(self) -> str:
        """Return it in one line."""
        front = f"{self.label}: " if self.label else f"line {self.line}: " if self.line else ""
        return f"{front}{self.text}"


class Item(NamedTuple):
    """A finding. `blocks`: whether it fails the run, by --fail-on."""

    id: str
    name: str
    cause: str
    title: str
    detail: str
    severity: Severity
    crashed: bool
    blocks: bool
    layer: str
    follows: str
    certainty: str
    evidence: tuple[Quote, ...]
    advice: str
    commands: tuple[str, ...]
    safety: str
    sources: tuple[str, ...]
    place: Place


class Other(NamedTuple):
    """A rule without a finding; `reason`: why it could not be judged, empty where it passed."""

    id: str
    name: str
    layer: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A report in parts. `headline` is the verdict line without the verdict's word.

    `notes`: what is missing for a verdict, or what else the command has to say.
    """

    command: str
    verdict: Verdict
    exit_code: int
    headline: str
    items: tuple[Item, ...]
    skipped: tuple[Other, ...] = ()
    passed: tuple[Other, ...] = ()
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    ask: tuple[Question, ...] = ()
    tool: str = ""
    version: str = ""
    matrix_date: str = ""

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Why there is no verdict, and what to run next, in lines; empty where there is one."""
        if self.verdict != "undetermined":
            return ()
        steps = (f"Run next: {item.command}  ({item.why})" for item in self.ask)
        return (self.headline, *self.notes, *steps)

    @property
    def footer(self) -> str:
        """Which program and which tables said so."""
        tables = f"tables of {self.matrix_date}" if self.matrix_date else ""
        return ", ".join(part for part in (f"{self.tool} {self.version}".strip(), tables) if part)


def outline(report: AnyReport, context: Context = PLAIN) -> Outline:
    """Return the parts of a report of any command."""
    rest = _rest(report, context)
    return Outline(
        command=context.command,
        verdict=report.verdict,
        exit_code=report.exit_code,
        headline=_headline(report, context),
        items=tuple(_items(report, context)),
        skipped=rest.skipped,
        passed=rest.passed,
        parts=rest.parts,
        notes=rest.notes,
        ask=rest.ask,
        tool=_line(str(report.tool.get("name", "flashdoctor"))),
        version=_line(str(report.tool.get("version", ""))),
        matrix_date=_line(report.matrix_date),
    )


class _Rest(NamedTuple):
    skipped: tuple[Other, ...] = ()
    passed: tuple[Other, ...] = ()
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    ask: tuple[Question, ...] = ()


def _rest(report: AnyReport, context: Context) -> _Rest:
    if isinstance(report, SmokeReport):
        note = (_line(report.note, TEXT_LIMIT),) if report.note else ()
        ask = _SMOKE_STEPS if report.verdict == "undetermined" else ()
        return _Rest(parts=tuple(_cases(report)), notes=note, ask=ask)
    if isinstance(report, LintReport):
        return _Rest(parts=tuple(_launches(report)))
    return _Rest(
        skipped=tuple(_skipped(item, context) for item in report.skipped),
        passed=tuple(_other(name, context) for name in report.passed),
        parts=tuple(Part(p.label, p.tone, _value(p.text)) for p in stack_parts(report)),
        notes=(*_missing(report.missing, report.snapshot), *_said(report, context)),
        ask=tuple(map(_question, report.ask or _next_steps(report, context))),
    )


def _next_steps(report: Report, context: Context) -> tuple[Question, ...]:
    return next_steps(report) if context.command == "check" else ()


def _said(report: Report, context: Context) -> Iterator[str]:
    """Yield what a pass rests on, and the policy."""
    if context.command == "check" and report.verdict in {"pass", "warn"}:
        yield _value(established(report.snapshot), TEXT_LIMIT)
    if text := policy_text(report.snapshot):
        yield _value(text, TEXT_LIMIT)


def _line(text: str, limit: int = _ID_LIMIT) -> str:
    return clean(scrub_text(text), limit)


def _value(text: str, limit: int = VALUE_LIMIT) -> str:
    """Return a value in which four numbers with dots are a version; see `scrub_version`."""
    return clean(scrub_version(text), limit)


def _command(text: str) -> str:
    return clean_command(scrub_version(clean_command(text)))


def _headline(report: AnyReport, context: Context) -> str:
    said = terminal_renderer(context.command)(report, Style(width=MAX_WIDTH, quiet=True))
    return _TAG.sub("", _value(said.partition(" ")[2], TEXT_LIMIT))


def _items(report: AnyReport, context: Context) -> Iterator[Item]:
    blocking = {"error": ("error",), "warning": ("error", "warning")}.get(context.fail_on, ())
    for found in report.findings:
        finding = found.finding if isinstance(found, LintFinding) else found
        yield Item(
            id=_line(finding.id),
            name=_line(finding.name),
            cause=_line(finding.cause),
            title=_value(finding.title, TEXT_LIMIT),
            detail=_value(finding.detail, TEXT_LIMIT),
            severity=finding.severity,
            crashed=finding.outcome == "crash",
            blocks=finding.severity in blocking,
            layer=_line(finding.layer),
            follows=_line(finding.follows or ""),
            certainty=finding.certainty or "",
            evidence=tuple(map(_quote, finding.evidence)),
            advice=_value(finding.fix.text, TEXT_LIMIT),
            commands=tuple(_command(command) for command in finding.fix.commands),
            safety=finding.fix.safety,
            sources=tuple(_value(source) for source in finding.sources),
            place=_place(found, finding, context),
        )


def _place(found: Finding | LintFinding, finding: Finding, context: Context) -> Place:
    if isinstance(found, LintFinding):
        named = replace(context, source=found.where or context.source)
        return place_of((), named, "launch-command", line=found.line)
    stable = "standard-input" if context.command == "diagnose" else "environment"
    return place_of(finding.evidence, context, stable)


def _quote(item: Evidence) -> Quote:
    where = _line(item.where, VALUE_LIMIT)
    if item.fact is None:
        return Quote("", _line(str(item.value), VALUE_LIMIT), where, line=item.line)
    text = _value(value_text(item.fact, item.value, full=True))
    return Quote(_line(label(item.fact)), text, where, fact=_line(item.fact))


def _skipped(item: Skipped, context: Context) -> Other:
    needs = ", ".join(label(path) for path in item.needs)
    parts = (f"not known: {needs}" if needs else "", item.reason)
    reason = "; ".join(part for part in parts if part) or "a fact is missing"
    return _other(item.id, context)._replace(reason=_line(reason, VALUE_LIMIT))


def _other(name: str, context: Context) -> Other:
    rule = context.rules.get(name)
    return Other(_line(name), rule.name if rule else "", rule.layer if rule else "")


def _missing(paths: Iterable[str], snapshot: Snapshot) -> Iterator[str]:
    for path in paths:
        reason = snapshot[path].reason
        said = f"{label(path)} is not known" + (f": {reason}" if reason else "")
        yield _line(said, VALUE_LIMIT)


def _question(item: Question) -> Question:
    return Question(command=_command(item.command), why=_line(item.why, VALUE_LIMIT))


def _cases(report: SmokeReport) -> Iterator[Part]:
    for case in report.cases:
        took = f", {case.ms:.2f} ms" if case.ms is not None else ""
        family = f", {case.family}" if case.family else ""
        tone: Tone = "good" if case.as_expected else "none"
        yield Part(_line(case.case.label), tone, _line(f"{case.status}{family}{took}", VALUE_LIMIT))


def _launches(report: LintReport) -> Iterator[Part]:
    for launch in report.launches:
        engine = launch.engine
        text = f"vLLM {engine.version} ({engine.named_by}), flags from {engine.flags_from}"
        yield Part(f"launch in line {launch.line}", "none", _value(text))
