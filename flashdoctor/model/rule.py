"""A judgement as a row: what must not hold, how bad it is, what to do, and how we know."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal, NamedTuple, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "info"]
Basis: TypeAlias = Literal["measured", "documented", "inferred"]
Safety: TypeAlias = Literal["safe", "disruptive", "manual"]
Component: TypeAlias = Literal["sdpa", "flash-attn", "fa3", "fa4", "vllm", "transformers"]
Package: TypeAlias = Literal["torch", "vllm", "flash-attn", "fa3", "fa4", "transformers"]

Judge: TypeAlias = Literal["lint", "tune"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
BASES: tuple[Basis, ...] = ("measured", "documented", "inferred")
SAFETIES: tuple[Safety, ...] = ("safe", "disruptive", "manual")
COMPONENTS: tuple[Component, ...] = ("sdpa", "flash-attn", "fa3", "fa4", "vllm", "transformers")
PACKAGES: tuple[Package, ...] = ("torch", "vllm", "flash-attn", "fa3", "fa4", "transformers")
LAYERS = (
    "host", "driver", "launch", "cuda", "torch", "flash-attn", "kernel", "build", "quantization",
    "framework", "multi-gpu", "internal",
)  # fmt: skip
"""Deepest first: a failure of an earlier layer is the likelier root of one of a later layer."""


class Source(NamedTuple):
    """Where a fact or judgement was read (`url` may also be a citation), and when."""

    url: str
    checked: date


class Fix(NamedTuple):
    """What to do. `{fact.path}` in a text or command is filled in with the user's own value.

    A command with a value that is not known is left out. `safety`: `safe` changes nothing that
    works, `disruptive` replaces packages or drivers, `manual` cannot be done by a command.
    `package`: another release or build of it mends this, so that an install plan for the very
    machine takes the place of `commands`.
    """

    text: str
    commands: tuple[str, ...] = ()
    safety: Safety = "manual"
    package: Package | None = None


class Example(NamedTuple):
    """Facts by path and what the rule must say of them; None as a value means absent."""

    facts: Mapping[str, Any]
    expect: Literal["fail", "pass", "skip"]
    require: tuple[Component, ...] = ()


class Rule(NamedTuple):
    """One row of matrices/rules. It fails where `when` holds, or where its check says so.

    `component`: what the failure breaks. Where that component is not required the severity is
    `unrequired`. `follows`: ids of deeper rules that explain this one when they fail as well.
    `evidence`: facts to show beside those that were compared. `outside`: where it fails, the tables
    do not cover this machine, and nothing but a kernel that ran there can establish anything.
    `decides`: a pass of this rule establishes that its components fit (see the verdict). `about`:
    the fact without which there is nothing to judge; the rule is skipped where it is not known.
    `judge`: the command that judges it by itself, where neither `when` nor a check does.
    """

    id: str
    name: str
    cause: str
    title: str
    layer: str
    severity: Severity
    unrequired: Severity
    basis: Basis
    fix: Fix
    sources: tuple[Source, ...]
    examples: tuple[Example, ...]
    component: Component | None = None
    when: Mapping[str, Any] | None = None
    check: str | None = None
    follows: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    about: str | None = None
    outside: bool = False
    decides: tuple[Component, ...] = ()
    judge: Judge | None = None
    note: str = ""
