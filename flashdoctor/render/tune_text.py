"""A planned launch for people: whether it fits, the command with its reasons, where memory goes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from flashdoctor.model.finding import Finding, Report
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.model.trial import Measured, Outcome
from flashdoctor.model.tuning import Choice, TuneReport
from flashdoctor.render.clean import clean, clean_command, defuse
from flashdoctor.render.findings import finding_lines
from flashdoctor.render.layout import GAP, cells, hang, indented, joined, pad, pairs, table
from flashdoctor.render.style import Style, Tone

_BAR = 32
_LEAST_REASON = 24
_MOST_COLUMN = 44
_LIMIT = 1000
_SHORTENED = "FD792"


def render_tune(report: TuneReport, style: Style) -> str:
    """Return the report as text that ends with a newline."""
    lines = _headline(report, style)
    if not style.quiet:
        lines += ["", *joined(_blocks(report, style))]
    return "\n".join(defuse(line) for line in lines) + "\n"


def _headline(report: TuneReport, style: Style) -> list[str]:
    word = verdict_words(report)
    tone: Tone = "error" if report.exit_code else "good"
    start, *rest = hang(f"{word}  ", clean(said_of(report)), style.columns)
    return [style.paint(tone, word) + start[len(word) :], *rest]


def said_of(report: TuneReport) -> str:
    """Return what was planned, for what."""
    many = f"{report.gpus} x " if report.gpus > 1 else ""
    return f"{report.model} on {many}{report.gpu}, vLLM {report.version}, goal {report.goal}"


def verdict_words(report: TuneReport) -> str:
    """Return the first words of a report: what fits may be wrong in another way."""
    if not report.fits:
        return "DOES NOT FIT"
    return "DOES NOT START" if report.exit_code else "FITS"


def _blocks(report: TuneReport, style: Style) -> Iterator[list[str]]:
    yield _findings(report, style)
    yield _refusal(report, style)
    if report.fits:
        yield _command(report, style)
    yield from _measured(report, style)
    yield [*_memory(report), *_cache(report, style)]
    yield _proposals(report, style)
    if style.verbose:
        yield _kept(report, style)
        yield _sources(report, style)
    yield _notes(report, style)
    if report.fits:
        yield indented("To copy the command: --emit shell (docker, ...).", style.columns, 0)


def _findings(report: TuneReport, style: Style) -> list[str]:
    held = Report(
        verdict="fail" if report.exit_code else "pass",
        exit_code=report.exit_code,
        snapshot=Snapshot(),
        findings=report.findings,
    )
    return finding_lines(held, style)


def _refusal(report: TuneReport, style: Style) -> list[str]:
    """Return what vLLM itself would print, word for word."""
    if report.refusal is None:
        return []
    words = indented(clean(report.refusal, _LIMIT), style.columns, 4)
    lines = ["vllm serve, with its default batches, would print:", *words]
    if report.refusal_offline:
        said = clean(report.refusal_offline, _LIMIT)
        lines += ["LLM(...), whose batches are larger:", *indented(said, style.columns, 4)]
    return lines


def _command(report: TuneReport, style: Style) -> list[str]:
    """Return the command, a flag a line, its reason beside it; below it where there is no room."""
    first = clean_command(" ".join([*map(_assignment, report.environment), report.start]))
    words = [clean_command(flag_words(choice)) for choice in report.flags]
    lines = [f"{first} \\" if words else first]
    ends = [" \\"] * (len(words) - 1) + [""]
    written = [f"  {word}{end}" for word, end in zip(words, ends, strict=True)]
    column = max((cells(text) for text in written), default=0) + GAP
    beside = column <= _MOST_COLUMN and style.columns - column >= _LEAST_REASON
    for text, choice in zip(written, report.flags, strict=True):
        why = clean(choice.why, _LIMIT)
        if beside:
            lines += hang(pad(text, column), why, style.columns)
        else:
            lines += [text, *indented(why, style.columns, 6)]
    for variable in report.environment:
        lines += hang(f"{clean(variable.name)}: ", clean(variable.why, _LIMIT), style.columns)
    return lines


def _assignment(choice: Choice) -> str:
    return f"{choice.name}={shlex.quote(choice.value or '')}"


def flag_words(choice: Choice) -> str:
    """Return a flag as it stands in a command."""
    return choice.name if choice.value is None else f"{choice.name} {shlex.quote(choice.value)}"


def _measured(report: TuneReport, style: Style) -> Iterator[list[str]]:
    """Yield what trials on this machine gave: a table, the gain, predicted against real."""
    measured = report.measured
    if measured is None:
        return
    base = next((item.output_tps for item in measured.outcomes if item.ran), None)
    head = f"Measured here: {workload_line(measured)}"
    rows = [("trial", "tokens/s", "gain", "first token", "next", "start")]
    rows += [_trial(item, base) for item in measured.outcomes]
    lines = [*indented(head, style.columns, 0), *table(rows, indent=2)]
    for said in conclusions(measured):
        lines += indented(clean(said, _LIMIT), style.columns, 0)
    yield [*lines, *indented(f"Logs: {clean(measured.logs, _LIMIT)}", style.columns, 0)]
    if measured.compared:
        said = clean(peak_note(measured), _LIMIT)
        yield [*table(compared_rows(measured), indent=2), *indented(said, style.columns, 2)]


def workload_line(measured: Measured) -> str:
    """Return what every trial had to serve."""
    work = measured.workload
    size = f"{work['prompt_tokens']} tokens in, {work['output_tokens']} out"
    return f"{work['requests']} requests of {size}"


def conclusions(measured: Measured) -> Iterator[str]:
    """Yield what the trials come to, a sentence each."""
    if measured.best and measured.gain:
        yield f"Fastest: {measured.best}, {measured.gain:.2f} x the engine's defaults."
    same, gain = measured.same_precision, measured.same_precision_gain
    if same and gain and same != measured.best:
        yield f"Fastest at the defaults' precision: {same}, {gain:.2f} x."
    if measured.interrupted:
        yield "Interrupted: this is what was measured until then."
    if measured.left_out:
        why = "" if measured.interrupted else ", for want of time"
        yield f"Not tried{why}: {', '.join(measured.left_out)}."


def compared_rows(measured: Measured) -> list[tuple[str, ...]]:
    """Return the rows of predicted against real; the KV tokens are whole."""
    rows: list[tuple[str, ...]] = [("", "predicted", "real", "off")]
    for item in measured.compared:
        whole = item.name.endswith("tokens")
        form, unit = (",.0f", "") if whole else (",.2f", " GiB")
        sizes = [f"{size:{form}}{unit}" for size in (item.predicted, item.real)]
        rows.append((item.name, *sizes, f"{100 * item.error:+.1f} %"))
    return rows


def peak_note(measured: Measured) -> str:
    """Return where the peak comes from, which no engine logs."""
    sources = [item.source for item in measured.compared if item.name.startswith("peak")]
    if not sources:
        return "No peak: NVML told nothing of the memory in use."
    return f"peak: all that the engine's GPU had in use at the most ({sources[0]})"


def _trial(item: Outcome, base: float | None) -> tuple[str, str, str, str, str, str]:
    if not item.ran or item.output_tps is None:
        return clean(item.trial.name, 40), item.status, "", "", "", clean(item.cause, 40)
    gain = f"{item.output_tps / base:.2f} x" if base else ""
    return (
        clean(item.trial.name, 40),
        f"{item.output_tps:,.0f}",
        gain,
        _ms(item.ttft_ms),
        _ms(item.tpot_ms),
        "" if item.start_s is None else f"{item.start_s:.0f} s",
    )


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} ms"


def _memory(report: TuneReport) -> list[str]:
    """Return where the memory of one GPU goes, with a bar for each part."""
    memory = report.memory
    free = memory.left_gib
    name = "left" if free >= 0 else "too much"
    parts = [one for one in memory.parts().items() if one[1] or one[0] != "other processes"]
    rows = [(part, f"{size:.1f} GiB", _bar(size, memory.total_gib)) for part, size in parts]
    rows.append((name, f"{abs(free):.1f} GiB", _bar(abs(free), memory.total_gib)))
    width = max(len(size) for _, size, _ in rows)
    head = f"one GPU, {memory.total_gib:.1f} GiB, of which vLLM may use {memory.budget_gib:.1f}:"
    return [head, *table([(a, b.rjust(width), c) for a, b, c in rows], indent=2)]


def _bar(size: float, total: float) -> str:
    return "#" * min(round(_BAR * size / max(total, 1e-9)), _BAR)


def _cache(report: TuneReport, style: Style) -> list[str]:
    return indented(cache_line(report), style.columns, 0)


def cache_line(report: TuneReport) -> str:
    """Return how much the KV cache holds, and which attention reads it."""
    memory, attention = report.memory, report.attention
    said = f"KV cache {memory.kv_tokens:,} tokens"
    if report.fits:
        said += f" = {memory.concurrency:.1f} requests of {memory.max_model_len:,}"
    flash = f", FA{attention.fa_version}" if attention.fa_version else ""
    name = f"{clean(attention.backend)}{flash}" if attention.backend else "none named"
    if attention.refused:
        return f"{said}."
    return f"{said}. Attention: {name} ({clean(attention.why, _LIMIT)})."


def _proposals(report: TuneReport, style: Style) -> list[str]:
    lines: list[str] = []
    for proposal in report.proposals:
        option = f": {proposal.option}" if proposal.option else ""
        text = clean(f"{proposal.text}{option}", _LIMIT)
        lines += hang("- ", text, style.columns)
    if not lines:
        return []
    head = "Not chosen, as it is yours to decide:" if report.fits else "What would make it fit:"
    return [head, *lines]


def _kept(report: TuneReport, style: Style) -> list[str]:
    rows = [
        (clean(f"{choice.name} {choice.value or ''}".strip()), clean(choice.why, _LIMIT))
        for choice in report.kept
    ]
    return ["Left to the engine:", *pairs(rows, style.columns, 2)]


def _sources(report: TuneReport, style: Style) -> list[str]:
    rows = [
        (clean(choice.name), clean(choice.source, _LIMIT))
        for choice in (*report.flags, *report.environment)
    ]
    rows.append(("attention", clean(report.attention.source, _LIMIT)))
    return ["Sources:", *pairs(rows, style.columns, 2)]


def _notes(report: TuneReport, style: Style) -> list[str]:
    lines: list[str] = []
    told = [f"{one.title} ({one.id})." for one in report.findings if _is_told(one)]
    for note in (*told, *report.notes):
        lines += hang(f"{style.mark('info')} ", clean(note, _LIMIT), style.columns)
    return lines


def _is_told(finding: Finding) -> bool:
    """Whether a finding for information says more than the reasons of the flags do."""
    return finding.severity == "info" and finding.id != _SHORTENED
