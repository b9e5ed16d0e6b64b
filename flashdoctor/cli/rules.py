"""`flashdoctor rules list` and `flashdoctor rules explain ID`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashdoctor.cli import options
from flashdoctor.cli.options import did_you_mean
from flashdoctor.cli.output import Outcome, read_style
from flashdoctor.cli.parsing import Command, new_app
from flashdoctor.errors import UsageError

if TYPE_CHECKING:
    from flashdoctor.model.rule import Rule

SCHEMA = "flashdoctor/rules/v1"

app = new_app("Show the rules that stacks are judged by.")

RuleId = Annotated[str, typer.Argument(metavar="ID", show_default=False, help="An id or a name.")]


@app.command("list", cls=Command)
def list_rules(
    *,
    output_format: options.Format = "terminal",
    output: options.Output = None,
    verbose: options.Verbose = False,
) -> Outcome:
    """List every rule: id, severity, title."""
    options.one_of("--format", output_format, options.TEXT_FORMATS)

    rules = _all_rules()
    if output_format == "json":
        return Outcome(text=_json(rules), output=output)
    from flashdoctor.render.rule_text import list_text

    return Outcome(text=list_text(rules, read_style(output, verbose=verbose)), output=output)


@app.command("explain", cls=Command)
def explain(
    rule_id: RuleId,
    *,
    output_format: options.Format = "terminal",
    output: options.Output = None,
) -> Outcome:
    """Explain one rule: what it looks at, what to do, how we know."""
    options.one_of("--format", output_format, options.TEXT_FORMATS)

    rule = _find(rule_id, _all_rules())
    if output_format == "json":
        return Outcome(text=_json((rule,)), output=output)
    from flashdoctor.render.rule_text import explain_text

    return Outcome(text=explain_text(rule, read_style(output)), output=output)


def _all_rules() -> tuple[Rule, ...]:
    """Return the rows, and what `lint` and `tune` judge themselves, by id."""
    from flashdoctor import pipeline, planning

    return tuple(sorted((*pipeline.rules(), *planning.launch_rules()), key=lambda rule: rule.id))


def _find(word: str, rules: tuple[Rule, ...]) -> Rule:
    for rule in rules:
        if word.upper() == rule.id or word.lower() == rule.name:
            return rule
    words = [known for rule in rules for known in (rule.id, rule.name)]
    raise UsageError(f"no rule {word!r}{did_you_mean(word, words)}", hint="flashdoctor rules list")


def _json(rules: tuple[Rule, ...]) -> str:
    from flashdoctor.render.json_v1 import dump

    return dump({"schema": SCHEMA, "rules": [_row(rule) for rule in rules]})


def _row(rule: Rule) -> dict[str, Any]:
    """Return a rule as its row has it, with the defaults filled in."""
    return {
        "id": rule.id,
        "name": rule.name,
        "cause": rule.cause,
        "title": rule.title,
        "layer": rule.layer,
        "severity": rule.severity,
        "unrequired": rule.unrequired,
        "basis": rule.basis,
        "component": rule.component,
        "follows": list(rule.follows),
        "decides": list(rule.decides),
        "when": rule.when,
        "check": rule.check,
        "judge": rule.judge,
        "note": rule.note,
        "fix": {
            "text": rule.fix.text,
            "commands": list(rule.fix.commands),
            "safety": rule.fix.safety,
        },
        "sources": [
            {"url": source.url, "checked": source.checked.isoformat()} for source in rule.sources
        ],
        "examples": [
            {"facts": dict(item.facts), "expect": item.expect, "require": list(item.require)}
            for item in rule.examples
        ],
    }
