"""What a lint found, for people: does the server start, what to write instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flashdoctor.model.finding import Finding
from flashdoctor.model.lint import Launched, LintFinding, LintReport
from flashdoctor.render.clean import LIMIT, clean, defuse
from flashdoctor.render.findings import head_lines, origin_lines
from flashdoctor.render.layout import hang, indented, joined, pairs
from flashdoctor.render.style import Style, Tone
from flashdoctor.render.values import label

_NUMBER_WIDTH = 5
_MOST = 20
_WORDS: Mapping[str, tuple[Tone, str]] = {
    "pass": ("good", "nothing is wrong with {what}"),
    "warn": ("warning", "{engine} starts with {what}, but not all of it does what it says"),
    "fail": ("error", "{engine} does not start with {what} as it stands"),
    "undetermined": ("warning", "nothing could be said about {what}"),
}


def lint_text(report: LintReport, style: Style) -> str:
    """Return the report as text that ends with a newline: verdict, findings, release."""
    lines = _headline(report, style)
    if not style.quiet:
        rest = joined([*_blocks(report.findings, style), _engines(report.launches, style)])
        lines += ["", *rest] if rest else []
    return "".join(defuse(line) + "\n" for line in lines)


def _headline(report: LintReport, style: Style) -> list[str]:
    tone, said = _WORDS[report.verdict]
    versions = list(dict.fromkeys(launch.engine.version for launch in report.launches))
    engine = f"vLLM {versions[0]}" if len(versions) == 1 else "vLLM"
    what = "this launch" if len(report.launches) == 1 else f"these {len(report.launches)} launches"
    text = said.format(engine=engine, what=what)
    if report.verdict == "pass":
        text += f" for {engine}"
    word = report.verdict.upper()
    first, *rest = hang(f"{word}  ", clean(text), style.columns)
    return [style.paint(tone, word) + first[len(word) :], *rest]


def _blocks(findings: Sequence[LintFinding], style: Style) -> Iterator[list[str]]:
    shown = [item for item in findings if style.verbose or item.finding.severity != "info"]
    kept = shown if style.verbose else shown[:_MOST]
    yield from (_block(item, style) for item in kept)
    if len(shown) > len(kept):
        yield indented(f"and {len(shown) - len(kept)} more (--verbose)", style.columns, 2)


def _block(item: LintFinding, style: Style) -> list[str]:
    finding = item.finding
    lines = head_lines(finding, style)
    where = f"{clean(item.where, 40)} line " if item.where else ""
    for evidence in finding.evidence:
        if evidence.fact is not None:
            continue
        front = f"  {where}{evidence.line or '':>{0 if where else _NUMBER_WIDTH}} | "
        lines += hang(front, clean(str(evidence.value), LIMIT), style.columns)
    lines += pairs(_facts(finding), style.columns, 4)
    if finding.detail:
        lines += indented(clean(finding.detail, LIMIT * 4), style.columns, 4)
    if finding.fix.text:
        lines += indented(clean(finding.fix.text, LIMIT * 4), style.columns, 2)
    return lines + (origin_lines(finding, style) if style.verbose else [])


def _facts(finding: Finding) -> list[tuple[str, str]]:
    """Return what is known of the model and the machine, for findings that rest on that."""
    known = [each for each in finding.evidence if each.fact and each.value is not None]
    return [(label(str(each.fact)), clean(str(each.value), LIMIT)) for each in known]


def _engines(launches: Sequence[Launched], style: Style) -> list[str]:
    """Return by which release a launch was judged, who named it, and how well it is known."""
    lines: list[str] = []
    for text in dict.fromkeys(map(_engine, launches)):
        lines += indented(clean(text), style.columns, 2)
    if style.verbose:
        for launch in launches:
            lines += hang(
                f"  line {launch.line}: ", clean(launch.command, LIMIT * 2), style.columns
            )
    return lines


def _engine(launch: Launched) -> str:
    engine = launch.engine
    exact = "" if engine.exact else "; not read itself, so the releases next to it count"
    return f"vLLM {engine.version} ({engine.named_by}), flags from {engine.flags_from}{exact}."
