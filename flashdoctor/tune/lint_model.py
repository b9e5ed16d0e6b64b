"""What the rules on models say of a launch, as findings of a lint. Pure: others judge the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flashdoctor.model.facts import Fact, known, known_or_absent
from flashdoctor.model.finding import Finding
from flashdoctor.model.lint import LintFinding
from flashdoctor.model.llm import Model
from flashdoctor.tune.lint_findings import Context
from flashdoctor.tune.lint_names import is_placeholder
from flashdoctor.tune.lint_values import read_size, text_value
from flashdoctor.tune.pins import Pin
from flashdoctor.tune.quantization import by_its_name, scheme_of_method

_COMMAND = "the command"
_OWN_TOKENIZER = ("tokenizer", "skip-tokenizer-init")
_ANSWERED = {
    "FD647": _OWN_TOKENIZER,  # the tokenizer comes from elsewhere
    "FD648": ("dtype",),  # FD759 judges a --dtype
}
"""Flags that answer a rule's question themselves."""

_BY_FLAG = {"FD650": "dtype", "FD652": "tensor-parallel-size", "FD656": "dtype"}
"""The flag that such a finding is about, where the launch has it."""


def facts_of_launch(context: Context, model: Model | None) -> tuple[Fact, ...]:
    """Return what a launch states, and what is known of its model."""
    given = {name: text_value(context.parsed.last(name)) for name in ("dtype", "quantization")}
    stated = {name: None if is_open(value) else str(value) for name, value in given.items()}
    found = [known_or_absent(f"launch.{name}", value, _COMMAND) for name, value in stated.items()]
    size = read_size(text_value(context.parsed.last("tensor-parallel-size")) or "")
    found.append(known_or_absent("launch.tensor_parallel_size", size, _COMMAND))
    if model is not None:
        found += model.facts
    elif stated["quantization"]:
        method = by_its_name(stated["quantization"])
        found.append(known("model.quantization", method, _COMMAND))
        scheme = scheme_of_method(method)
        found.append(known_or_absent("model.quantization_scheme", scheme, _COMMAND))
    found.append(known("vllm.version", context.version, "the release that is asked about"))
    return tuple(found)


def model_word(context: Context) -> str | None:
    """Return what a launch serves, None where it says nothing or something else fills it in."""
    given = context.parsed.last("model")
    words = given.values if given else context.parsed.words
    found = str(words[-1 if given else 0]) if words else None
    return None if found is None or is_placeholder(found) else found


def is_open(value: Any) -> bool:
    """Whether a flag's value is left to the engine or filled in by something else."""
    return value in {None, "auto", "None", ""} or is_placeholder(value)


def facts_of_pins(pins: Iterable[Pin]) -> Iterator[Fact]:
    """Yield what pins state of the dtype, the quantization and the GPUs of one engine."""
    for pin in pins:
        if pin.name in {"dtype", "quantization"} and not is_open(pin.value):
            yield known(f"launch.{pin.name}", str(pin.value), "--pin")
        if pin.name == "tensor-parallel-size" and (pin.value or "").isdigit():
            yield known("launch.tensor_parallel_size", int(str(pin.value)), "--pin")


def about_model(
    findings: Iterable[Finding], context: Context, model: Model | None
) -> Iterator[LintFinding]:
    """Yield findings of rules with the flag that they are about, and its line."""
    for finding in findings:
        if any(context.parsed.last(name) for name in _ANSWERED.get(finding.id, ())):
            continue
        name = _BY_FLAG.get(finding.id, "" if model else "quantization")
        given = context.parsed.last(name) if name else None
        word = given.written if given else None
        yield LintFinding(
            finding=finding,
            flag=f"--{name}" if given else "--model",
            line=word.line if word else context.command.line,
            where=word.where if word else "",
        )
