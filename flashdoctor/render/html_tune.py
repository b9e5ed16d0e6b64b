"""A planned launch as one page: the command, the memory, what was measured, each form to copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from flashdoctor.model.tuning import Choice, TuneReport
from flashdoctor.render.clean import clean, clean_command, defuse
from flashdoctor.render.html_findings import command, findings_section, others_section
from flashdoctor.render.html_markup import Markup, escaped_lines, source_link, tag
from flashdoctor.render.html_memory import memory_section
from flashdoctor.render.html_page import page
from flashdoctor.render.html_trials import trials_section
from flashdoctor.render.outline import Outline
from flashdoctor.render.style import Tone
from flashdoctor.render.tune_outline import tune_outline
from flashdoctor.render.tune_text import cache_line, flag_words, said_of, verdict_words

_LIMIT = 1000
_NAMES: Mapping[str, str] = {
    "launch": "Launch",
    "memory": "Memory",
    "findings": "Findings",
    "more": "More findings",
    "measured": "Measured",
    "forms": "Other forms",
    "notes": "Notes",
}


def render_tune_html(report: TuneReport, emitted: Mapping[str, str]) -> str:
    """Return the page; `emitted` holds the launch in each form of `--emit`, by its name."""
    said = tune_outline(report)
    found: dict[str, Markup | None] = {
        "findings": findings_section(said) if said.items or not report.fits else None,
        "launch": _launch(report),
        "memory": memory_section(report.memory, cache_line(report)),
        "more": others_section(said),
        "measured": trials_section(report.measured) if report.measured else None,
        "forms": _forms(emitted),
        "notes": _notes(report),
    }
    shown = {name: section for name, section in found.items() if section}
    text = page(
        f"flashdoctor tune: {verdict_words(report).lower()}",
        *_header(report, said, shown),
        tag("main", *shown.values(), class_="two long" if len(shown) > 2 else "two"),  # noqa: PLR2004 - beside two
        tag("footer", tag("p", said.footer, class_="quiet")),
        tag("p", id="said", class_="unseen", role="status"),
        verdict=said.verdict,
        exit_code=said.exit_code,
    )
    return "".join(f"{defuse(line)}\n" for line in text.splitlines())


def _header(report: TuneReport, said: Outline, shown: Mapping[str, object]) -> Iterator[Markup]:
    yield tag("a", "Skip to the launch", href=f"#{next(iter(shown))}", class_="skip")
    tone: Tone = "error" if report.exit_code else "good"
    badge = tag("span", verdict_words(report), class_="badge")
    title = tag("h1", clean(said_of(report), _LIMIT))
    run = tag("p", f"flashdoctor tune, exit code {said.exit_code}", class_="quiet")
    links = [tag("li", tag("a", _NAMES[name], href=f"#{name}")) for name in shown]
    nav = tag("nav", tag("ul", *links), aria_label="Sections")
    yield tag("header", tag("div", badge, title, run, class_=f"verdict {tone}"), nav)


def _launch(report: TuneReport) -> Markup:
    """Return the command and why each flag is there; what vLLM would print where it stops."""
    parts = [tag("h2", "The launch" if report.fits else "What vLLM would print", id="launch")]
    if report.fits:
        parts.append(command(clean_command(report.command), "that starts the server"))
    parts += _refusals(report)
    if report.proposals:
        head = "Not chosen, as it is yours to decide" if report.fits else "What would make it fit"
        items = [tag("li", *_proposal(one.text, one.option)) for one in report.proposals]
        parts += [tag("h3", head), tag("ul", *items, class_="plain")]
    if report.fits:
        parts += _choices("Flags", (*report.flags, *report.environment), "flags")
    kept = [*_choices("Left to the engine", report.kept, "kept")]
    if kept:
        title, table = kept
        parts.append(tag("details", tag("summary", title), table))
    return tag("section", *parts, aria_labelledby="launch")


def _refusals(report: TuneReport) -> Iterator[Markup]:
    said = {
        "vllm serve:": report.refusal,
        "LLM(...), whose batches are larger:": report.refusal_offline,
    }
    for who, text in said.items():
        if text:
            yield tag("p", who)
            yield tag("p", tag("code", clean(text, _LIMIT)))


def _proposal(text: str, option: str) -> Iterator[str | Markup]:
    yield clean(text, _LIMIT)
    if option:
        yield ": "
        yield tag("code", clean_command(option))


def _choices(title: str, choices: Iterable[Choice], name: str) -> Iterator[Markup]:
    rows = [
        tag(
            "tr",
            tag("th", tag("code", clean_command(flag_words(one))), scope="row"),
            tag("td", clean(one.why, _LIMIT), " ",
                tag("span", source_link(clean(one.source, _LIMIT)), class_="quiet")),
        )
        for one in choices
    ]  # fmt: skip
    if rows:
        yield tag("h3", title, id=name)
        yield tag("table", tag("tbody", *rows), aria_labelledby=name)


def _forms(emitted: Mapping[str, str]) -> Markup | None:
    """Return the launch for a shell, docker and others, each with its button."""
    if not emitted:
        return None
    blocks = [_form(name, text) for name, text in emitted.items()]
    title = tag("h2", "The launch in other forms", id="forms")
    return tag("section", title, *blocks, class_="wide", aria_labelledby="forms")


def _form(name: str, text: str) -> Markup:
    copied = command(escaped_lines(text.rstrip("\n")), f"for {name}")
    return tag("details", tag("summary", name), copied, id=f"form-{name}")


def _notes(report: TuneReport) -> Markup | None:
    if not report.notes:
        return None
    items = [tag("li", clean(note, _LIMIT)) for note in report.notes]
    title = tag("h2", "Notes", id="notes")
    return tag("section", title, tag("ul", *items, class_="plain"), class_="wide",
               aria_labelledby="notes")  # fmt: skip
