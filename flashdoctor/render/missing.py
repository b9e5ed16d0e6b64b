"""What an undetermined verdict lacks, and the commands that would supply it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from flashdoctor.model.catalog import SHORT_NAMES
from flashdoctor.model.finding import Question, Report
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.clean import clean
from flashdoctor.render.findings import command_lines
from flashdoctor.render.headline import is_assumed
from flashdoctor.render.layout import indented, pairs
from flashdoctor.render.style import Style
from flashdoctor.render.values import label, state_text

_SHORT = {path: name for name, path in SHORT_NAMES.items()}
_ASSUME: Mapping[str, str] = {
    "gpu.compute_capability": "gpu=NAME",
    "gpu.name": "gpu=NAME",
    "torch.version": "torch=VERSION",
    "driver.version": "driver=VERSION",
}
_PACKAGES: Mapping[str, str] = {
    "flash_attn.version": "flash-attn",
    "flash_attn_3.version": "flash-attn-3",
    "flash_attn_4.version": "flash-attn-4",
    "vllm.version": "vllm",
    "transformers.version": "transformers",
}
_PROVEN = "smoke.proven"
_VERBOSE = Question(
    "flashdoctor check --verbose", "with the same options: lists what each skipped rule lacks"
)
_NVIDIA_SMI = "nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv"


def missing_lines(report: Report, style: Style) -> list[str]:
    """Return the missing facts with the reasons, and the commands that would tell them."""
    facts = report.snapshot
    lines = indented("Not known, and needed for a verdict:", style.columns, 2)
    lines += pairs(list(_reasons(report)), style.columns, 4)
    commands = [step.command for step in _steps(report)]
    is_known = any(facts[path].is_known for path in report.missing)
    if not style.verbose and (is_known or not commands):
        lines += indented("--verbose lists what each skipped rule lacks.", style.columns, 2)
    if commands:
        first = "State it:" if is_assumed(facts) else "This would tell:"
        lines += [*indented(first, style.columns, 2), *command_lines(commands)]
    return lines


def missing_line(report: Report, style: Style) -> list[str]:
    """Return the missing facts in one line, for a verdict that does not hang on them."""
    names = ", ".join(label(path) for path in report.missing)
    return indented(f"Not known either: {names}", style.columns, 2)


def _reasons(report: Report) -> Iterator[tuple[str, str]]:
    for path in report.missing:
        fact = report.snapshot[path]
        if fact.is_known and path == _PROVEN:
            yield label(path), f"{state_text(fact)}; what the policy expects was not tried"
        elif fact.is_known:
            yield label(path), f"{state_text(fact)}, but the rules that decide lack other facts"
        elif fact.state == "absent":
            yield label(path), state_text(fact)
        else:
            yield label(path), clean(fact.reason) or "not known"


def next_steps(report: Report) -> tuple[Question, ...]:
    """Return what to run next where a machine, a snapshot or assumptions gave no verdict."""
    if report.verdict != "undetermined":
        return ()
    return tuple(_steps(report)) or (_VERBOSE,)


def _steps(report: Report) -> Iterator[Question]:
    """Yield each command once, with the reason that was given first."""
    told: dict[str, Question] = {}
    for step in _commands(report):
        told.setdefault(step.command, step)
    yield from told.values()


def _commands(report: Report) -> Iterator[Question]:
    facts = report.snapshot
    lost = [path for path in report.missing if not facts[path].is_known]
    if is_assumed(facts) and lost:
        added = dict.fromkeys(_ASSUME.get(path, _wanted(path)) for path in lost)
        words = [f"--assume {shlex.quote(item)}" for item in _assumed(facts)]
        words += [f"--assume {item}" for item in added]
        words += [f"--require {component}" for component in report.required]
        yield Question(" ".join(["flashdoctor check", *words]), "states what is missing")
        return
    for path in report.missing:
        if path in lost or path == _PROVEN:
            yield from _command(path, facts)


def _wanted(path: str) -> str:
    return f"{_SHORT.get(path, path)}=VALUE"


def _assumed(facts: Snapshot) -> Iterator[str]:
    for fact in facts:
        if fact.source != "--assume":
            continue
        if fact.state == "absent":
            yield f"{_name(fact.path)}=absent"
        elif isinstance(fact.value, list):
            yield f"{_name(fact.path)}={','.join(map(str, fact.value))}"
        else:
            yield f"{_name(fact.path)}={fact.value}"


def _name(path: str) -> str:
    return path if path == "gpu.memory_mib" else _SHORT.get(path, path)  # that one is in GiB


def _command(path: str, facts: Snapshot) -> Iterator[Question]:
    if path.startswith(("gpu.", "driver.")):
        yield Question(_NVIDIA_SMI, "names the GPU and the driver")
    elif path.startswith("smoke."):
        yield Question("flashdoctor smoke --verbose", "runs the kernels and says what came of each")
    elif facts.value("python.status", "ok") != "ok" or facts[path].state == "absent":
        yield Question("flashdoctor check --python PATH", "judges the Python that is meant")
    elif path in _PACKAGES:
        command = f"{_python(facts)} -m pip show {_PACKAGES[path]}"
        yield Question(command, f"names the {label(path)} of that Python")
    elif path == "torch.version":
        command = f'{_python(facts)} -c "import torch; print(torch.__version__)"'
        yield Question(command, "names torch, or says why it cannot be imported")


def _python(facts: Snapshot) -> str:
    """Return the interpreter as a shell takes it; a home folder's `~` must stand unquoted."""
    path = str(facts.value("python.executable", "python"))
    return f"~/{shlex.quote(path[2:])}" if path.startswith("~/") else shlex.quote(path)
