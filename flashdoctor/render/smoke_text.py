"""A smoke report for people: what was proven, the table, what is wrong, what the default is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flashdoctor.model.finding import Report
from flashdoctor.model.smoke import SmokeCase, SmokeReport
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.clean import clean, defuse
from flashdoctor.render.findings import finding_lines
from flashdoctor.render.kernel_names import family_words
from flashdoctor.render.layout import hang, indented, joined
from flashdoctor.render.smoke_default import default_text
from flashdoctor.render.smoke_table import table_lines
from flashdoctor.render.style import Style, Tone

_NOWHERE = frozenset({"cpu", "not-run"})
_SLOW_S = 2.0
_MANY = 16  # cases; up to that many are shown all
_WORDS: Mapping[str, tuple[str, Tone]] = {
    "pass": ("PROVEN", "good"),
    "warn": ("PROVEN", "warning"),
    "fail": ("FAIL", "error"),
    "undetermined": ("UNPROVEN", "warning"),
}
_PACKAGES = {
    "flash-attn": "flash-attn",
    "fa3": "flash-attn-3",
    "fa4": "flash-attn-4",
    "vllm_flash_attn": "vLLM",
    "vllm": "vLLM",
}
_CALLERS = {"sdpa": "SDPA", "xformers": "xformers"}


def render_smoke(report: SmokeReport, style: Style) -> str:
    """Return the report as text that ends with a newline."""
    lines = _headline(report, style)
    if not style.quiet:
        lines += ["", *joined(_blocks(report, style))]
    return "\n".join(defuse(line) for line in lines) + "\n"


def _headline(report: SmokeReport, style: Style) -> list[str]:
    word, tone = _WORDS[report.verdict]
    if report.verdict in {"pass", "warn"} and not report.proven:
        word = "PASS"
    start, *rest = hang(f"{word}  ", _said(report), style.columns)
    return [style.paint(tone, word) + start[len(word) :], *rest]


def _said(report: SmokeReport) -> str:
    where = clean(report.started.device) or clean(report.where) or "this machine"
    if report.verdict == "fail":
        title = clean(report.findings[0].title) if report.findings else "a case failed"
        return f"{title}, on {where}"
    if report.verdict == "undetermined":
        return clean(report.note) or f"no kernel could be named on {where}"
    if not report.proven:
        return f"each case was answered as it should be, on {where}"
    count = sum(finding.severity == "warning" for finding in report.findings)
    more = f", with {count} warning{'s' if count != 1 else ''}" if count else ""
    return f"{_proof(report)} on {where}{more}"


def _proof(report: SmokeReport) -> str:
    """Return whose kernel runs: that of the packages, else torch's own."""
    proven = [item for item in report.cases if item.proven]
    names = dict.fromkeys(_PACKAGES[i.case.api] for i in proven if i.case.api in _PACKAGES)
    packages = [_versioned(name, report) for name in names]
    if len(packages) == 1:
        return f"{packages[0]} runs its own kernel"
    if packages:
        return f"{', '.join(packages[:-1])} and {packages[-1]} run their own kernels"
    families = dict.fromkeys(item.family for item in proven)
    shown = [family for family in families if family != "math"] or list(families)
    first = next((item for item in proven if item.case.api == "sdpa"), proven[0]).case
    caller = _CALLERS.get(first.api) or clean(first.label)
    return f"{caller} runs {' and '.join(map(family_words, shown[:3]))}"


def _versioned(name: str, report: SmokeReport) -> str:
    return clean(f"{name} {report.versions.get(name, '')}".strip(), 60)


def _blocks(report: SmokeReport, style: Style) -> Iterator[list[str]]:
    yield _table(report, style)
    yield _findings(report, style)
    if report.note and report.verdict != "undetermined" and not report.findings:
        yield indented(clean(report.note, 1000), style.columns, 0)
    if style.verbose:
        yield _told(report, style)
    default = default_text(report)
    yield [
        *(indented(default, style.columns, 0) if default else ()),
        *_seconds(report, style),
        *_left_out(report, style),
    ]


def _table(report: SmokeReport, style: Style) -> list[str]:
    """Return the table, and how many cases it leaves out; a hint where nothing ran on a GPU."""
    if not style.verbose and all(item.status in _NOWHERE for item in report.cases):
        return indented("flashdoctor check says why.", style.columns, 0)
    shown = [item for item in report.cases if _is_shown(item, report, style)]
    lines = table_lines(shown, style)
    left = len(report.cases) - len(shown)
    if left:
        lines += indented(f"and {left} more, in order (--verbose)", style.columns, 2)
    return lines


def _is_shown(item: SmokeCase, report: SmokeReport, style: Style) -> bool:
    if style.verbose or len(report.cases) <= _MANY or item.case.main:
        return True
    return not item.as_expected and item.status not in {"missing", "cpu", "inferred"}


def _findings(report: SmokeReport, style: Style) -> list[str]:
    """Return the findings; their evidence is the table above."""
    shown = [f if style.verbose else f._replace(evidence=()) for f in report.findings]
    held = Report(
        verdict=report.verdict,
        exit_code=report.exit_code,
        snapshot=Snapshot(),
        findings=tuple(shown),
    )
    return finding_lines(held, style)


def _told(report: SmokeReport, style: Style) -> list[str]:
    """Return what was said, case by case."""
    lines: list[str] = []
    for item in report.cases:
        if item.messages and not item.proven:
            lines += hang(f"{clean(item.case.name)}  ", clean(item.messages[0]), style.columns)
            for message in item.messages[1:]:
                lines += indented(clean(message), style.columns, 4)
    return lines


def _seconds(report: SmokeReport, style: Style) -> list[str]:
    own = report.started.seconds
    if own is None:
        return []
    count = len(report.cases)
    cases, rest = f"{count} case{'s' if count != 1 else ''}", max(report.seconds - own, 0)
    took = f"{cases} in {rest:.1f} s, over {own:.1f} s of torch's own start."
    return indented(f"{took}{_compiled(report)}{_compared_at(report)}", style.columns, 0)


def _left_out(report: SmokeReport, style: Style) -> list[str]:
    labels = ", ".join(dict.fromkeys(clean(case.label) for case in report.left_out))
    if not labels or report.verdict == "undetermined":
        return []
    return indented(f"Not run, as it compiles first: {labels} (--compile).", style.columns, 0)


def _compiled(report: SmokeReport) -> str:
    """Return what took long, which is as a rule a compiler."""
    slow = [i for i in report.cases if (i.seconds or 0) > _SLOW_S]
    parts = [f"{clean(item.case.label)} {item.seconds:.1f} s" for item in slow]
    return f" Slowest: {', '.join(parts)}." if parts else ""


def _compared_at(report: SmokeReport) -> str:
    """Return the call at which gains were measured."""
    for item in report.cases:
        if item.gain_over_math is not None:
            case, shape = item.case, item.case.shape
            sizes = f"{shape.batch} x {shape.q_len} tokens, {shape.heads} heads of {shape.head_dim}"
            causal = ", causal" if case.causal else ""
            return f" Gains are over math at {sizes}, {clean(case.dtype)}{causal}."
    return ""
