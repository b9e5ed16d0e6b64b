"""A report as SARIF 2.1.0, which code scanning and many viewers read.

Results hold what was found and nothing else: GitHub shows one of any kind as an alert. Rules that
could not be judged are notifications of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flashdoctor.model.regex import regex
from flashdoctor.model.rule import Severity
from flashdoctor.render.context import PLAIN, Context
from flashdoctor.render.inert import fenced, prose
from flashdoctor.render.json_v1 import dump
from flashdoctor.render.outline import AnyReport, Item, Other, Outline, Quote, outline
from flashdoctor.render.style import Style

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
VERSION = "2.1.0"
_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_BRACES = str.maketrans({"{": "{{", "}": "}}"})
_ADDRESS = regex(r"https?://[A-Za-z0-9./_~%#?=&+-]+")


def render(report: AnyReport, _style: Style, context: Context = PLAIN) -> str:
    """Return a log of one run."""
    said = outline(report, context)
    return dump({"$schema": SCHEMA, "version": VERSION, "runs": [_run(said)]})


def _run(said: Outline) -> dict[str, Any]:
    first: dict[str, Item] = {}
    for item in said.items:
        first.setdefault(item.id, item)
    places = {name: place for place, name in enumerate(first)}
    driver = {
        "name": said.tool,
        **({"version": said.version} if said.version else {}),
        "rules": [_rule(item) for item in first.values()],
    }
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"flashdoctor/{said.command}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(said)],
        "results": [_result(item, places[item.id]) for item in said.items],
        "properties": {
            "verdict": said.verdict,
            "headline": said.headline,
            "matrixDate": said.matrix_date,
            "stack": {part.label: part.text for part in said.parts},
            "passed": [rule.id for rule in said.passed],
        },
    }


def _message(text: str) -> dict[str, str]:
    """Return a message without placeholders (`{0}`) and without links (`[text](address)`)."""
    return {"text": text.replace("](", "] (").translate(_BRACES)}


def _rule(item: Item) -> dict[str, Any]:
    address = next((found[0] for found in map(_ADDRESS.match, item.sources) if found), None)
    advice = item.advice or item.title
    markdown = [prose(advice), *(["", *fenced(item.commands, "sh")] if item.commands else ())]
    return {
        "id": item.id,
        "name": item.name,
        "shortDescription": _message(item.title),
        "fullDescription": _message(item.title),
        "help": {
            **_message("\n".join([advice, *item.commands, *item.sources])),
            "markdown": "\n".join(markdown).translate(_BRACES),
        },
        **({"helpUri": address} if address else {}),
        "defaultConfiguration": {"level": _LEVELS[item.severity]},
        "properties": {"tags": [item.layer]},
    }


def _result(item: Item, rule: int) -> dict[str, Any]:
    follows = f"Follows from {item.follows}." if item.follows else ""
    parts = (item.title, item.detail, *map(Quote.shown, item.evidence), follows, item.advice)
    return {
        "ruleId": item.id,
        "ruleIndex": rule,
        "level": _LEVELS[item.severity],
        "kind": "fail",
        "message": _message("\n".join(part for part in (*parts, *item.commands) if part)),
        "locations": [_location(item)],
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(item)},
        "properties": {
            "cause": item.cause,
            "layer": item.layer,
            "outcome": "crash" if item.crashed else "fail",
            "safety": item.safety,
            **({"certainty": item.certainty} if item.certainty else {}),
            **({"follows": item.follows} if item.follows else {}),
        },
    }


def _location(item: Item) -> dict[str, Any]:
    place = item.place
    facts = [quote.fact for quote in item.evidence if quote.fact]
    logical = [{"fullyQualifiedName": fact, "kind": "fact"} for fact in dict.fromkeys(facts)]
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(place.name)},
            "region": {"startLine": place.line or 1},
        },
        **({"logicalLocations": logical} if logical else {}),
    }


def _uri(name: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415 - 2 ms that only this format needs

    path = name.replace("\\", "/").lstrip("/").removeprefix("./") or "unnamed"
    return quote(path, safe="/~")


def _fingerprint(item: Item) -> str:
    """Return what stays the same while the same thing is found at the same file."""
    from hashlib import sha256  # noqa: PLC0415 - as above

    text = "\0".join((item.id, item.cause, item.place.name, *_about(item.evidence)))
    return f"{sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}:1"


def _about(evidence: Iterable[Quote]) -> list[str]:
    return [quote.fact or quote.text for quote in evidence]


def _invocation(said: Outline) -> dict[str, Any]:
    established = said.verdict != "undetermined"
    notes = [_notification("note", note) for note in said.notes]
    if not established:
        first, *rest = said.undetermined
        notes = [_notification("error", first), *(_notification("warning", line) for line in rest)]
    return {
        "executionSuccessful": established,
        "exitCode": said.exit_code,
        "exitCodeDescription": said.verdict,
        "toolExecutionNotifications": [*notes, *_unjudged(said.skipped)],
    }


def _unjudged(skipped: Sequence[Other]) -> list[dict[str, Any]]:
    return [
        {
            **_notification("note", f"{rule.id} could not be judged: {rule.reason}"),
            "associatedRule": {"id": rule.id},
        }
        for rule in skipped
    ]


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": _message(text)}
