"""A planned launch in GitHub's Markdown: for an issue, a merge request or a job summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flashdoctor.model.trial import Measured, Outcome
from flashdoctor.model.tuning import MemoryAccount, TuneReport
from flashdoctor.render.clean import clean, clean_command, defuse
from flashdoctor.render.inert import cell, fenced, prose, span
from flashdoctor.render.markdown import finding_block
from flashdoctor.render.outline import Outline
from flashdoctor.render.tune_outline import tune_outline
from flashdoctor.render.tune_text import (
    cache_line,
    compared_rows,
    conclusions,
    flag_words,
    peak_note,
    said_of,
    verdict_words,
    workload_line,
)

_LIMIT = 1000


def render_tune_markdown(report: TuneReport) -> str:
    """Return verdict, command, flags with reasons, memory, what was measured, findings."""
    said = tune_outline(report)
    blocks = [[f"### {verdict_words(report)}: {prose(clean(said_of(report), _LIMIT))}"]]
    blocks += [block for block in _blocks(report, said) if block]
    lines = [line for block in blocks for line in [*block, ""]]
    return "".join(f"{defuse(line)}\n" for line in lines[:-1])


def _blocks(report: TuneReport, said: Outline) -> Iterator[list[str]]:
    if report.fits:
        yield fenced([clean_command(report.command)], "sh")
        choices = (*report.flags, *report.environment)
        rows = [(span(clean_command(flag_words(one))), prose(clean(one.why, _LIMIT)))
                for one in choices]  # fmt: skip
        yield _table(("Flag", "Why"), rows)
    if report.refusal:
        yield ["vLLM would print:"]
        yield fenced([clean(report.refusal, _LIMIT)], "text")
    yield _memory(report.memory)
    yield [prose(cache_line(report))]
    if report.measured:
        yield from _measured(report.measured)
    if report.proposals:
        yield [f"- {prose(clean(one.text, _LIMIT))}{_option(one.option)}"
               for one in report.proposals]  # fmt: skip
    yield from map(finding_block, said.items)
    yield [prose(said.footer)]


def _option(option: str) -> str:
    return f": {span(clean_command(option))}" if option else ""


def _memory(memory: MemoryAccount) -> list[str]:
    rows = [(name, f"{size:.1f} GiB") for name, size in memory.parts().items()]
    rows.append(("left" if memory.left_gib >= 0 else "too much", f"{abs(memory.left_gib):.1f} GiB"))
    head = f"of {memory.total_gib:.1f} GiB, {memory.budget_gib:.1f} for vLLM"
    return _table(("Memory of one GPU", head), rows)


def _measured(measured: Measured) -> Iterator[list[str]]:
    yield [f"Measured: {prose(workload_line(measured))}"]
    base = next((one.output_tps for one in measured.outcomes if one.ran), None)
    head = ("Trial", "Output tokens a second", "To the defaults", "First token", "Next")
    yield _table(head, [_trial(one, base) for one in measured.outcomes])
    yield [f"- {prose(text)}" for text in conclusions(measured)]
    if measured.compared:
        first, *rows = compared_rows(measured)
        yield _table(("Figure", *first[1:]), rows)
        yield [prose(peak_note(measured))]


def _trial(one: Outcome, base: float | None) -> tuple[str, ...]:
    name = span(clean(one.trial.name))
    if not one.ran or one.output_tps is None:
        return name, one.status, "", "", ""
    gain = f"{one.output_tps / base:.2f} x" if base else ""
    times = ("" if each is None else f"{each:.1f} ms" for each in (one.ttft_ms, one.tpot_ms))
    return (name, f"{one.output_tps:,.0f}", gain, *times)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    listed = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *listed]
