"""Judge the launches of vLLM servers as the release that is to run them would. Pure.

An unknown flag is an error, since the server does not start; one that is ignored is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Literal, NamedTuple, Protocol, TypeAlias

from flashdoctor.data.tables import Tables
from flashdoctor.logs.command_line import shown
from flashdoctor.model.finding import Verdict
from flashdoctor.model.lint import Engine, Launched, LintFinding
from flashdoctor.model.llm import Model
from flashdoctor.model.rule import SEVERITIES
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.tune.argv import parse
from flashdoctor.tune.flags import Flag, FlagTable, newest, read_table, with_sources
from flashdoctor.tune.forms import Command
from flashdoctor.tune.lint_environment import environment_findings
from flashdoctor.tune.lint_findings import Context
from flashdoctor.tune.lint_folklore import with_folklore
from flashdoctor.tune.lint_names import name_findings
from flashdoctor.tune.lint_rules import rule_findings
from flashdoctor.tune.lint_values import value_findings

FailOn: TypeAlias = Literal["error", "warning", "never"]


class Installation(Protocol):
    """A vLLM that is installed: its version, and its flags where its sources could be read."""

    @property
    def version(self) -> str:
        """Its version."""

    @property
    def flags(self) -> Mapping[str, Flag]:
        """The flags that its sources define."""


class Named(NamedTuple):
    """A release of vLLM and who named it."""

    version: str
    by: str


def named_release(
    asked: str | None, facts: Snapshot, installed: Installation | None
) -> Named | None:
    """Return the release that was asked for, or assumed, or is installed; None for neither."""
    if asked is not None:
        return Named(asked, "--engine-version")
    stated = facts["vllm.version"]
    if stated.is_known:
        return Named(str(stated.value), stated.source)
    return Named(installed.version, "the vLLM that is installed") if installed else None


def choose_release(command: Command, named: Named | None, tables: Tables) -> Named:
    """Return the release to judge a launch by: as named, by its image, or the newest known."""
    if named is not None:
        return named
    if command.version is not None:
        return Named(command.version, "the tag of the image")
    return Named(newest(tables), "no release was named: the newest that is known")


def context_of(command: Command, table: FlagTable, tables: Tables, facts: Snapshot) -> Context:
    """Return a launch taken apart as its release does it."""
    return Context(command, parse(command.words, table), table, tables, facts)


def lint_context(context: Context, model: Model | None = None) -> Iterator[LintFinding]:
    """Yield what is wrong with one launch; with a `model`, also whether it fits."""
    findings = chain(
        name_findings(context),
        value_findings(context),
        rule_findings(context),
        environment_findings(context),
    )
    yield from with_folklore(findings, context)
    if model is not None:
        from flashdoctor.tune.lint_fit import fit_findings  # noqa: PLC0415  few launches need it

        yield from fit_findings(context, model)


def table_for(named: Named, tables: Tables, installed: Installation | None = None) -> FlagTable:
    """Return the flags of a release: those of an installed vLLM that is this very release win."""
    table = read_table(tables, named.version)
    if installed is None or not installed.flags or installed.version != named.version:
        return table
    return with_sources(table, installed.flags, "the sources of the installed vLLM")


def launched(command: Command, named: Named, table: FlagTable) -> Launched:
    """Return a launch for the report, without what it keeps secret."""
    heads = {"serve": ("vllm", "serve"), "config": ("--config",)}
    words = (*heads.get(command.program, ("vllm server",)), *command.words)
    engine = Engine(named.version, named.by, table.source, table.exact)
    return Launched(command.line, shown(words), engine)


def ranked(findings: Iterable[LintFinding]) -> tuple[LintFinding, ...]:
    """Order findings and give them ranks: the worst first, then by line."""
    ordered = sorted(
        findings, key=lambda item: (SEVERITIES.index(item.finding.severity), item.line)
    )
    return tuple(
        replace(item, finding=item.finding._replace(rank=rank))
        for rank, item in enumerate(ordered, start=1)
    )


def decide(findings: Sequence[LintFinding], fail_on: FailOn) -> tuple[Verdict, int]:
    """Return the verdict and the exit code of findings."""
    severities = {item.finding.severity for item in findings}
    verdict: Verdict = "fail" if "error" in severities else "pass"
    if verdict == "pass" and "warning" in severities:
        verdict = "warn"
    counted = {"error": {"error"}, "warning": {"error", "warning"}, "never": set()}[fail_on]
    return verdict, 1 if counted & severities else 0
