"""Flags that a release does not take, no longer obeys, or was given twice. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from flashdoctor.data.folklore import claim_named
from flashdoctor.model.lint import LintFinding
from flashdoctor.model.versions import order
from flashdoctor.tune.argv import Given, parse
from flashdoctor.tune.flags import Row
from flashdoctor.tune.kinds import (
    AMBIGUOUS,
    DEPRECATED,
    IGNORED,
    REMOVED,
    REPEATED,
    STRAY,
    TOO_NEW,
    UNKNOWN,
)
from flashdoctor.tune.lint_findings import Context, make, source_of, text_of
from flashdoctor.tune.words import Word

_DEMO = frozenset({"log-level", "reload", "workers"})
_MANY = frozenset({"append", "LoRAParserAction"})
_LIKENESS = 0.78
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
"""What word processors and blogs make of `--`."""
_MARKS = ("$", "{{", "<", "[", "...")


def name_findings(context: Context) -> Iterator[LintFinding]:
    """Yield what is wrong with the names of the flags of a launch."""
    for given in context.parsed.given:
        if given.flag is None:
            yield from _not_taken(given, context)
        else:
            yield from _standing(given, context)
    yield from _repeated(context)
    yield from _stray(context)


def is_placeholder(text: str) -> bool:
    """Whether a text stands for something that is filled in later: `$MODEL`, `<model>`."""
    return any(mark in text for mark in _MARKS[:2]) or text.startswith(_MARKS[2:])


def usable(text: str, context: Context) -> bool:
    """Whether the release takes a flag as it is written in a table, `--runner pooling`."""
    parsed = parse([Word(word) for word in text.split()[:1]], context.table)
    return bool(parsed.given) and parsed.given[0].flag is not None


def _not_taken(given: Given, context: Context) -> Iterator[LintFinding]:
    row = context.table.rows.get(_bare(given, context))
    if given.options:
        shown = ", ".join(given.options)
        title = f"{given.written} could be {shown}"
        yield make(AMBIGUOUS, given.written, title, flag=str(given.written),
                   advice="Write the whole name.")  # fmt: skip
    elif row is not None:
        yield _of_other_release(given, row, context)
    elif not (context.command.program == "demo" and given.name in _DEMO):
        yield _unknown(given, context)


def _bare(given: Given, context: Context) -> str:
    """Return the name a flag has in the tables, without `no-` and what follows a dot."""
    name = given.name.partition(".")[0]
    if name in context.table.rows or not name.startswith("no-"):
        return name
    return name.removeprefix("no-")


def _of_other_release(given: Given, row: Row, context: Context) -> LintFinding:
    release = context.table.release
    first, last = row["first"], row["last"]
    begins = order(first)
    meta = context.tables.table("launch/flags")["meta"]
    flag, sources = str(given.written), source_of(row, meta)
    if begins is not None and begins > release.at:
        older = [name for name in _replaced_by(row["name"], context) if usable(name, context)]
        return make(
            TOO_NEW,
            given.written,
            f"{flag} came in vLLM {first}; {release.version} does not start with it",
            flag=flag,
            replacement=older[0] if older else None,
            advice="" if older else f"Leave it out, or take vLLM {first} or newer.",
            sources=sources,
        )
    instead = _instead(row, context)
    return make(
        REMOVED,
        given.written,
        f"{flag} is gone: vLLM {last} was the last that was read with it"
        f", {release.version} does not start with it",
        flag=flag,
        replacement=instead,
        advice="" if instead else "Leave it out.",
        detail=_sentence(row.get("note")),
        sources=sources,
    )


def _replaced_by(name: str, context: Context) -> Iterator[str]:
    """Yield older flags that the flag `name` replaces."""
    for row in context.table.rows.values():
        if any(text.split()[0] == f"--{name}" for text in row.get("replacement", ())):
            yield f"--{row['name']}"


def _instead(row: Row, context: Context) -> str | None:
    found = [text for text in row.get("replacement", ()) if usable(text, context)]
    return ", ".join(found) if found else None


def _unknown(given: Given, context: Context) -> LintFinding:
    foreign = _foreign(given, context)
    release = context.table.release
    flag = str(given.written)
    newer = release.beyond and context.table.source == "the tables"
    title = f"vLLM {release.version} has no {flag}"
    if foreign is not None:
        return _from_elsewhere(given, foreign, title, context)
    close = _close(given, context)
    if newer:
        title = f"{flag} is not in the newest vLLM that was read, which is older than this one"
    return make(
        UNKNOWN,
        given.written,
        title,
        flag=flag,
        replacement=close,
        severity="warning" if newer else None,
        advice=f"Did you mean {close}?" if close else "Leave it out.",
    )


def _foreign(given: Given, context: Context) -> Row | None:
    rows = context.tables.table("launch/flags")["foreign"]
    return next((row for row in rows if row["name"] == given.name), None)


def _from_elsewhere(given: Given, row: Row, title: str, context: Context) -> LintFinding:
    replacement = _instead(row, context)
    if row["name"] in ("model-path", "model-id") and context.command.program == "serve":
        replacement = None
    claim = claim_named(context.tables, row.get("claim"))
    told = f" Folklore: {claim.id}." if claim else ""
    is_model = context.command.program == "serve" and "model" in row["name"]
    otherwise = (
        "With `vllm serve` the model is the first argument." if is_model else "Leave it out."
    )
    return make(
        UNKNOWN,
        given.written,
        f"{title}: it is a flag of {row['program']}",
        flag=str(given.written),
        replacement=replacement,
        advice="" if replacement else otherwise,
        detail=(claim.truth if claim else "") + told,
        sources=source_of(row),
    )


def _close(given: Given, context: Context) -> str | None:
    known = [
        text
        for flag in context.table.flags.values()
        for text in (flag.name, *((f"no-{flag.name}",) if flag.kind == "bool_optional" else ()))
    ]
    found = get_close_matches(given.name.partition(".")[0], known, n=1, cutoff=_LIKENESS)
    return f"--{found[0]}" if found else None


def _standing(given: Given, context: Context) -> Iterator[LintFinding]:
    """Yield what is to be said of a flag that the release takes."""
    flag = given.flag
    row = context.table.rows.get(flag.name) if flag else None
    if row is None:
        return
    release = context.table.release
    sources = source_of(row, context.tables.table("launch/flags")["meta"])
    instead = _instead(row, context)
    text = text_of(given)
    if release.reached(row.get("no_op")) or (row.get("engine") == "V0" and _only_v1(context)):
        kind, title = IGNORED, f"vLLM {release.version} takes {text} and ignores it"
    elif release.reached(row.get("deprecated")):
        kind, title = DEPRECATED, f"{text} is deprecated since vLLM {row['deprecated']}"
    else:
        return
    yield make(
        kind,
        given.written,
        title,
        flag=text,
        replacement=instead,
        advice="" if instead else "Leave it out.",
        detail=_sentence(row.get("note")),
        sources=sources,
    )


def _only_v1(context: Context) -> bool:
    return any(row["state"] == "only" and row["engine"] == "V1"
               for row in context.rows("attention", "engine"))  # fmt: skip


def _sentence(note: str | None) -> str:
    return note[:1].upper() + note[1:].rstrip(".") + "." if note else ""


def _repeated(context: Context) -> Iterator[LintFinding]:
    """Yield flags that were given twice with different values: the last one counts."""
    first: dict[tuple[str, str], Given] = {}
    for given in context.parsed.given:
        if given.flag is None or given.flag.kind in _MANY or given.flag.takes == "json":
            continue
        key = (given.flag.name, given.key)
        before = first.setdefault(key, given)
        if (before.values, before.negative) != (given.values, given.negative):
            if before.written.where != given.written.where:
                continue  # the command line is meant to win over its --config file
            text = text_of(given)
            yield make(REPEATED, before.written, f"{text} is there twice, and the last one counts",
                       flag=text, advice="Leave one of them out.")  # fmt: skip


def _stray(context: Context) -> Iterator[LintFinding]:
    """Yield words that belong to no flag; argparse does not start with any."""
    taken = 1 if context.command.program == "serve" else 0
    rest = context.parsed.words[taken:]
    unclear = any(given.flag is None for given in context.parsed.given)
    if unclear or context.command.program == "config":
        return
    if context.command.program != "serve" and context.table.release.reached("0.9.0"):
        rest = rest[1:]  # the module's parser takes a model as well
    for word in rest[:1]:
        if word and not word.strip():
            title = "a backslash with a blank behind it does not continue the line"
            advice = "Take away the blanks behind the backslash: the command ends there."
            yield make(STRAY, word, title, flag="\\", advice=advice)
        elif word[:1] and word[:1] in _DASHES:
            name = "--" + word.lstrip(_DASHES + "-")
            yield make(STRAY, word, f"{word!s} begins with a dash that is no hyphen",
                       flag=str(word), replacement=name)  # fmt: skip
        elif not is_placeholder(word) and not any(map(is_placeholder, context.parsed.words)):
            yield make(STRAY, word, f"{word!s} belongs to no flag", flag=str(word),
                       advice="Leave it out, or quote the value it is part of.")  # fmt: skip
