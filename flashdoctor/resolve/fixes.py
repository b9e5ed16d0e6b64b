"""The fixes of a report, made exact: one plan for the machine at its root cause.

Where too little is known for a plan, a fix keeps its general commands and says what they leave
open. Where no plan mends it, commands that would install something that does not fit are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flashdoctor.data.tables import Tables
from flashdoctor.engine.coverage import read_capability
from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model.finding import Finding, Report
from flashdoctor.model.regex import regex
from flashdoctor.model.rule import Rule
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.resolve.machine import is_outside, read_machine

NAMES = {
    "gpu.compute_capability": "the GPU",
    "driver.version": "the driver",
    "python.version": "Python",
    "torch.version": "the installed torch",
    "vllm.version": "the installed vLLM",
    "transformers.version": "the installed transformers",
    "os.platform": "the platform",
    "os.glibc": "glibc",
}
"""What a plan depends on, as people call it."""

_ALWAYS_NEEDED = ("gpu.compute_capability", "torch.version")
OWN = {"vllm": "vllm.version", "transformers": "transformers.version"}
OF_THE_SYSTEM = ("driver.version", "python.version", "os.platform", "os.glibc")
PURE = frozenset({"transformers", "fa4"})
"""Packages whose wheel is the same on every system."""

_INDEX_WHEELS = regex(
    r"\b(?:pip3?|uv pip) install\b.*?[\s\"'](?:torch|vllm)(?:[\s\"'=<>~!\[]|$)"
    r"|releases/download/\S+\.whl"
)
"""Torch, vLLM and wheels by their address: each is made for the machines in the tables."""

_ANY_INSTALL = regex(r"\b(?:pip3?|uv pip) (?:un)?install\b|\.whl\b")


def exact_fixes(
    report: Report, tables: Tables, rules: Sequence[Rule], doubted: Collection[str] = ()
) -> Report:
    """Return the report with the fixes that an install plan stands for made exact.

    `doubted`: facts that a text only mentions; nothing is planned on them, and nothing on a machine
    of which the tables know nothing.
    """
    targets = [item for item in report.findings if is_target(item)]
    if not targets:
        return report
    sure = Snapshot({fact.path: fact for fact in report.snapshot if fact.path not in doubted})
    missing = _missing(targets, sure, tables)
    outside = is_outside(read_machine(sure, tables))
    if outside:
        return report._replace(findings=tuple(_outside(item, outside) for item in report.findings))
    if missing:
        general = tuple(_general(item, sure, tables) for item in report.findings)
        return report._replace(findings=general)
    from flashdoctor.resolve.exact import planned  # noqa: PLC0415 - 15 ms, and most need no plan

    return report._replace(findings=planned(report, sure, tables, rules))


def _outside(finding: Finding, outside: str) -> Finding:
    """Leave out what installs releases that are not made for such a machine."""
    fix = finding.fix
    kept = tuple(line for line in fix.commands if not _INDEX_WHEELS.search(line))
    if not is_target(finding) or kept == fix.commands:
        return finding
    text = f"{fix.text} Nothing is planned here: {outside}."
    return finding._replace(fix=fix._replace(text=text, commands=kept))


def is_target(finding: Finding) -> bool:
    """Whether another release of a package mends this."""
    failed = finding.outcome == "fail" and finding.severity != "info"
    return failed and finding.fix.package is not None


def _missing(targets: Sequence[Finding], facts: Snapshot, tables: Tables) -> tuple[str, ...]:
    """Return what has to be known before anything can be planned for the first finding."""
    package = str(targets[0].fix.package)
    needed = [*_ALWAYS_NEEDED, *filter(None, [OWN.get(package)])]
    return tuple(path for path in needed if is_open(path, facts, tables))


def is_open(path: str, facts: Snapshot, tables: Tables) -> bool:
    """Whether a plan would have to guess this."""
    if path == "gpu.compute_capability":
        return not _knows_gpus(facts, tables)
    if path == "os.platform":
        return not any(facts[item].is_known for item in (path, "flash_attn.wheel.platform"))
    if path == "driver.version":
        return facts[path].state == "unknown" and not facts["driver.cuda"].is_known
    if path == "os.glibc" and facts.value("os.system") == "Windows":
        return False
    return facts[path].state == "unknown"


def _knows_gpus(facts: Snapshot, tables: Tables) -> bool:
    try:
        devices = View(facts, tables).devices()
    except MissingFactError:
        return False
    return bool(devices) and all(read_capability(device) for device in devices)


def _general(finding: Finding, facts: Snapshot, tables: Tables) -> Finding:
    """Say of a fix that holds for many machines what it leaves open."""
    fix = finding.fix
    if not is_target(finding) or not any(map(_ANY_INSTALL.search, fix.commands)):
        return finding
    own = [OWN[fix.package]] if fix.package in OWN else []
    system = ("python.version",) if fix.package in PURE else OF_THE_SYSTEM
    paths = [*_ALWAYS_NEEDED, *own, *system]
    left = tuple(path for path in paths if is_open(path, facts, tables))
    said = sentence([NAMES[path] for path in left])
    text = f"{fix.text} Not known here, and left open: {said}."
    return finding._replace(fix=fix._replace(text=text, leaves_open=left))


def sentence(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
