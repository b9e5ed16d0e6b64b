"""What was read out of pasted text: lines, facts and where they stand, signatures that were met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from flashdoctor.model.facts import Fact
from flashdoctor.model.rule import Fix, Severity, Source
from flashdoctor.model.snapshot import Snapshot

Strength: TypeAlias = Literal["proof", "hint", "symptom"]

STRENGTHS: tuple[Strength, ...] = ("proof", "hint", "symptom")
"""Strongest first. `proof`: this text is the fault's own. `hint`: it points there, another cause
could say the same. `symptom`: it says that something failed; anything more exact explains it."""

MENTION = 1
"""The trust of a fact that is only mentioned: see `Found`."""

LOG_LAYERS = ("benign",)
"""Layers of causes beside those of the rules."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the paste: its number from 1, what it says, and how it stood there.

    `text` is without escape sequences, prefixes of log collectors, quote marks and box rules;
    `raw` is the line as decoded, cut to a length that can be shown.
    """

    number: int
    text: str
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A fact, the line where it stands, and how far it is to be trusted.

    `trust`: 3 a tool's or program's own report about itself, 2 a package list or a stated line,
    1 a mention (a command to install something, prose).
    """

    fact: Fact
    line: int
    trust: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One row of matrices/signatures/causes.toml: a label of the taxonomy in our own words.

    `explained_by` lists the causes that explain this one where they are found as well. `ask`
    lists commands whose output would confirm it or rule it out.
    """

    name: str
    title: str
    layer: str
    severity: Severity
    fix: Fix
    explained_by: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One row of matrices/signatures: what a line says, and what follows from it.

    `keywords` are lower case; a line without any of them is never looked at. `captures` names the
    fact that a named group of `pattern` gives, `convert` how such a text is read where the fact's
    kind does not say it, `sets` facts that the line states by being there (None: absent).
    `when` must hold and `unless` must not (unknown does not hinder) once the paste is read; both
    see the merged facts, the captures and the state of the log at that line (`log.*`).
    """

    id: str
    name: str
    keywords: tuple[str, ...]
    pattern: str
    cause: str | None = None
    strength: Strength = "proof"
    severity: Severity | None = None
    title: str | None = None
    captures: Mapping[str, str] = field(default_factory=dict)
    convert: Mapping[str, str] = field(default_factory=dict)
    sets: Mapping[str, object] = field(default_factory=dict)
    when: Mapping[str, object] | None = None
    unless: Mapping[str, object] | None = None
    fix: Fix | None = None
    note: str = ""
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A signature that was met: at which line, with which facts captured or standing there.

    `own` names those of the facts that the line itself gave; the rest is the state of the log
    there. `warned`: the program itself called that line a warning.
    """

    signature: Signature
    line: int
    text: str
    facts: Snapshot
    count: int = 1
    warned: bool = False
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All that one paste gave: the only input of a diagnosis.

    `kinds` names the tools whose output was recognised. `lines` counts all lines read.
    """

    snapshot: Snapshot
    matches: tuple[Match, ...] = ()
    kinds: tuple[str, ...] = ()
    lines: int = 0
    where: Mapping[str, int] = field(default_factory=dict)
    """The line of each fact in the snapshot."""
    trust: Mapping[str, int] = field(default_factory=dict)
    """How far each fact in the snapshot is to be trusted; see `Found`."""
    crashed: tuple[str, ...] = ()
    """Parsers that failed on this paste, each with its error."""
