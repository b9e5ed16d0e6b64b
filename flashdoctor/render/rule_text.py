"""Rules as text: the list, and one of them explained."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from flashdoctor.model.rule import Example, Rule
from flashdoctor.render.clean import clean, defuse
from flashdoctor.render.conditions import condition_lines
from flashdoctor.render.findings import command_lines
from flashdoctor.render.layout import hang, indented, pad
from flashdoctor.render.style import Style

_SEVERITY_WIDTH = 9
_LONG = 2000


def list_text(rules: Iterable[Rule], style: Style) -> str:
    """Return one rule a line: id, severity, title; its name below it with `verbose`."""
    lines: list[str] = []
    for rule in rules:
        start = f"{rule.id}  {pad(rule.severity, _SEVERITY_WIDTH)}"
        lines += hang(start, clean(rule.title), style.columns)
        if style.verbose:
            lines += indented(clean(rule.name), style.columns, len(start))
    return _joined(lines)


def explain_text(rule: Rule, style: Style) -> str:
    """Return everything that a rule's row says."""
    lines = [
        *hang(f"{rule.id}  ", clean(rule.title), style.columns),
        "",
        *_facts(rule, style),
        "",
        *_judged(rule, style),
        "",
        "What to do" + (", your own values in the braces" if "{" in _fix_texts(rule) else ""),
        *indented(clean(rule.fix.text, _LONG), style.columns, 2),
        *command_lines(rule.fix.commands),
        "",
        "Sources",
        *_sources(rule, style),
        *(["", "Examples", *_examples(rule.examples, style)] if rule.examples else []),
    ]
    return _joined(lines)


def _fix_texts(rule: Rule) -> str:
    return " ".join((rule.fix.text, *rule.fix.commands))


def _facts(rule: Rule, style: Style) -> Iterator[str]:
    severity: str = rule.severity
    if rule.component and rule.unrequired != rule.severity:
        severity += f", {rule.unrequired} where {rule.component} is not required"
    rows = [("name", rule.name), ("severity", severity), ("layer", rule.layer)]
    rows.append(("basis", rule.basis))
    if rule.cause != rule.name:
        rows.append(("cause", rule.cause))
    if rule.follows:
        rows.append(("explained by", ", ".join(rule.follows)))
    if rule.decides:
        rows.append(("a pass means", f"{', '.join(rule.decides)} fits"))
    rows.append(("fix is", rule.fix.safety))
    for name, text in rows:
        yield from hang(pad(name, 14), clean(text), style.columns)


def _judged(rule: Rule, style: Style) -> Iterator[str]:
    if rule.when is not None:
        yield "Fails when"
        for line in condition_lines(rule.when, 2):
            indent = len(line) - len(line.lstrip())
            yield from hang(" " * indent, clean(line), style.columns)
    elif rule.judge is not None:
        yield f"Judged by `flashdoctor {rule.judge}`"
    else:
        yield "Judged by code"
        name = str(rule.check).replace("-", "_")
        yield f"  flashdoctor/engine/checks/{clean(name)}.py"
    if rule.note:
        yield from ("", *indented(clean(rule.note, _LONG), style.columns, 0))


def _sources(rule: Rule, style: Style) -> Iterator[str]:
    for source in rule.sources:
        yield from hang("  ", f"{clean(source.url)} ({source.checked.isoformat()})", style.columns)


def _examples(examples: Iterable[Example], style: Style) -> Iterator[str]:
    for example in examples:
        words = [f"{path}={_shown(value)}" for path, value in example.facts.items()]
        words += [f"--require {component}" for component in example.require]
        yield from hang(f"  {example.expect}  ", clean(" ".join(words), _LONG), style.columns)


def _shown(value: object) -> str:
    if value is None:
        return "absent"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else shlex.quote(str(value))


def _joined(lines: Iterable[str]) -> str:
    return "".join(defuse(line) + "\n" for line in lines)
