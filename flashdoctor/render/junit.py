"""A report as JUnit XML: one test case a rule, for whatever collects test results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flashdoctor.model.regex import regex
from flashdoctor.render.clean import defuse
from flashdoctor.render.context import PLAIN, Context
from flashdoctor.render.outline import AnyReport, Item, Other, Outline, outline
from flashdoctor.render.style import Style

_ILLEGAL = regex("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0001fffd]")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;"})


def render(report: AnyReport, _style: Style, context: Context = PLAIN) -> str:
    """Return the report as one test suite.

    A finding fails its case where it is at or above --fail-on, a crashed rule is an error, a milder
    finding is told in the output of a case that passes. A verdict that could not be had is an error
    of a case of its own, so that no reader takes it for a pass.
    """
    said = outline(report, context)
    cases = [*_found(said.items), *_undetermined(said)]
    failures, errors = (sum(kind in case for case in cases) for kind in ("<failure ", "<error "))
    found = {item.id for item in said.items}
    skips = [_skip(rule) for rule in said.skipped if rule.id not in found]
    cases += skips
    cases += [_case(rule) for rule in said.passed if rule.id not in found]
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
    skipped = f'skipped="{len(skips)}"'
    name = f'name="{_attribute(f"flashdoctor {said.command}")}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites {name} tests="{len(cases)}" failures="{failures}" errors="{errors}">',
        f"<testsuite {name} {counts} {skipped}>",
        *_properties(said),
        *cases,
        "</testsuite>",
        "</testsuites>",
    ]
    return "".join(f"{defuse(line)}\n" for text in lines for line in text.split("\n"))


def _properties(said: Outline) -> Iterator[str]:
    values = {
        "verdict": said.verdict,
        "headline": said.headline,
        "exit_code": str(said.exit_code),
        "tool": f"{said.tool} {said.version}".strip(),
        "matrix": said.matrix_date,
        **{f"stack.{part.label}": part.text for part in said.parts},
    }
    yield "<properties>"
    for name, value in values.items():
        yield f'<property name="{_attribute(name)}" value="{_attribute(value)}"/>'
    yield "</properties>"


def _found(items: Iterable[Item]) -> Iterator[str]:
    """Yield a case for each rule that found something, the findings of one rule together."""
    by_rule: dict[str, list[Item]] = {}
    for item in items:
        by_rule.setdefault(item.id, []).append(item)
    for same in by_rule.values():
        yield _case(Other(same[0].id, same[0].name, same[0].layer), _result(same))


def _result(same: Sequence[Item]) -> str:
    told = "\n\n".join("\n".join(_told(item)) for item in same)
    kind = "error" if any(item.crashed for item in same) else "failure"
    if kind == "failure" and not any(item.blocks for item in same):
        return f"<system-out>{_text(told)}</system-out>"
    more = f" (and {len(same) - 1} more)" if len(same) > 1 else ""
    message = f'message="{_attribute(same[0].title + more)}"'
    return f'<{kind} {message} type="{same[0].severity}">{_text(told)}</{kind}>'


def _told(item: Item) -> Iterator[str]:
    yield f"{item.severity}: {item.title}"
    if item.detail:
        yield item.detail
    yield from (f"  {quote.shown()}" for quote in item.evidence)
    if item.follows:
        yield f"Follows from {item.follows}."
    if item.advice:
        yield item.advice
    yield from (f"    {command}" for command in item.commands)


def _undetermined(said: Outline) -> Iterator[str]:
    if told := "\n".join(said.undetermined):
        message = f'message="{_attribute(said.headline)}"'
        body = f'<error {message} type="undetermined">{_text(told)}</error>'
        yield _case(Other("verdict", "", "verdict"), body)


def _skip(rule: Other) -> str:
    return _case(rule, f'<skipped message="{_attribute(rule.reason)}"/>')


def _case(rule: Other, result: str = "") -> str:
    group = _attribute(f"flashdoctor.{rule.layer or 'rules'}")
    start = f'<testcase classname="{group}" name="{_attribute(f"{rule.id} {rule.name}".strip())}"'
    return f"{start}>{result}</testcase>" if result else f"{start}/>"


def _attribute(text: str) -> str:
    return _ILLEGAL.sub("?", text).translate(_ENTITIES)


def _text(text: str) -> str:
    return _attribute(text).replace("&#10;", "\n")
