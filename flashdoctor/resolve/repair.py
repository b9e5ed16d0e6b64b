"""From the findings of a report to the one plan that mends them: the least change that passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from flashdoctor.data.tables import Tables
from flashdoctor.model.finding import Finding, Report
from flashdoctor.model.plan import Plan, Rejection
from flashdoctor.model.rule import Component, Rule
from flashdoctor.resolve.aftermath import Move, facts_after, failing, move
from flashdoctor.resolve.change import (
    FLASH_ATTNS,
    Change,
    is_installed,
    is_outside_tables,
    least_first,
    wanted_under,
)
from flashdoctor.resolve.fixes import is_target
from flashdoctor.resolve.machine import Machine, read_machine
from flashdoctor.resolve.planner import make_plan
from flashdoctor.resolve.rejections import search_obstacles, want_obstacles
from flashdoctor.resolve.search import search
from flashdoctor.resolve.wants import COMPONENTS, PATHS, Want, required

_TRIED = 5
"""Plans of one choice that are put before the rules."""

_OF_A_COMPONENT = {component: name for name, component in COMPONENTS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A plan that mends `targets`, the first of them the root cause; `passed`: rules that hold."""

    machine: Machine
    move: Move
    targets: tuple[Finding, ...]
    left: frozenset[str]
    passed: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What has to be mended on a machine, with these packages working afterwards."""

    machine: Machine
    rules: Sequence[Rule]
    names: tuple[str, ...]
    targets: tuple[Finding, ...]
    required: frozenset[Component]
    before: frozenset[str]
    """The errors of the installation as it is."""


def find_repair(
    report: Report, tables: Tables, rules: Sequence[Rule]
) -> Repair | tuple[Rejection, ...]:
    """Return the plan with the least change that mends the findings, or what stands in its way."""
    machine = read_machine(report.snapshot, tables)
    targets = tuple(item for item in report.findings if is_target(item))
    obstacles: list[Rejection] = []
    for names, wanted in _attempts(machine, targets, report.required):
        task = _task(machine, rules, names, wanted, report.required)
        found = _first_that_mends(task, obstacles)
        if found:
            return found
    return tuple(dict.fromkeys(obstacles))


def _attempts(
    machine: Machine, targets: tuple[Finding, ...], needed: Sequence[Component]
) -> Iterator[tuple[tuple[str, ...], tuple[Finding, ...]]]:
    """Yield what is to work afterwards, and what has to be mended for that.

    First everything that is installed or required, then what is faulty or required, then the
    package of the first finding alone, then torch alone. A package that nobody said anything about
    is not planned, required or not.
    """
    errors = tuple(item for item in targets if item.severity == "error") or targets
    asked = {_OF_A_COMPONENT[component] for component in needed}
    asked = {n for n in asked if machine.installed[PATHS[n]].state != "unknown"}
    faulty = {item.fix.package for item in errors}
    whole = [n for n in COMPONENTS if n in asked | faulty or _is_to_stay(machine, n)]
    seen = set()
    for names, wanted in (
        (whole, errors),
        ([n for n in COMPONENTS if n in asked | faulty], errors),
        ([n for n in COMPONENTS if n == errors[0].fix.package], errors[:1]),
        (["torch"], tuple(item for item in errors if item.fix.package == "torch")),
    ):
        possible = tuple(name for name in names if _is_possible(machine, name))
        if possible and possible not in seen:
            seen.add(possible)
            yield possible, tuple(item for item in wanted if _is_about(item, possible))


def _is_to_stay(machine: Machine, name: str) -> bool:
    known = name != "torch" and is_installed(machine, name)
    return known and not is_outside_tables(machine, name)


def _is_possible(machine: Machine, name: str) -> bool:
    return not list(want_obstacles(machine, (Want(name),), ()))


def _is_about(finding: Finding, names: Sequence[str]) -> bool:
    return finding.fix.package == "torch" or finding.fix.package in names


def _task(
    machine: Machine,
    rules: Sequence[Rule],
    names: tuple[str, ...],
    targets: tuple[Finding, ...],
    needed: Sequence[Component],
) -> _Task:
    parts = frozenset(needed) | frozenset(required(map(Want, names)))
    before, _ = failing(machine.installed, machine, rules, parts)
    return _Task(
        machine=machine,
        rules=rules,
        names=names,
        targets=targets,
        required=parts,
        before=_errors(before),
    )


def _errors(found: dict[str, str]) -> frozenset[str]:
    return frozenset(id_ for id_, severity in found.items() if severity == "error")


def _first_that_mends(task: _Task, obstacles: list[Rejection]) -> Repair | None:
    """Return the first plan that mends all targets; what it compiles counts where torch moves.

    A torch that may stay is worth compiling for. Where it moves anyway, a release with wheels comes
    first; so does one that moves no vLLM. A build without its toolkit comes last.
    """
    if not task.targets:
        return None
    movable = (*FLASH_ATTNS, "torch")
    broken = frozenset(
        str(item.fix.package) for item in task.targets if item.fix.package in movable
    )
    second: list[tuple[Change, Repair]] = []
    changes = least_first(task.machine, task.names, broken)
    for change in changes:
        found = _under(task, change, obstacles if change is changes[-1] else [])
        if found is None:
            continue
        compiles = found.move.plan.builds if "torch" in broken else _lacks_toolkit(found)
        if not compiles and not (second and "vllm" in change.packages):
            return found
        second.append((change, found))
    return min(second, key=_dislike, default=(None, None))[1]


def _dislike(pair: tuple[Change, Repair]) -> tuple[bool, bool]:
    return "vllm" in pair[0].packages, _lacks_toolkit(pair[1])


def _lacks_toolkit(found: Repair) -> bool:
    """Whether something has to be compiled where the compiler is known not to be there."""
    is_known = found.machine.facts["toolkit.version"].state != "unknown"
    return is_known and not all(build.has_toolkit for build in found.move.plan.builds)


def _under(task: _Task, change: Change, obstacles: list[Rejection]) -> Repair | None:
    wants = tuple(wanted_under(task.machine, task.names, change)) or (Want("torch"),)
    found = search(task.machine, wants, ("torch",) if change.torch == "stays" else ())
    if not found.candidates:
        obstacles.extend(search_obstacles(found, wants))
    for candidate in found.candidates[:_TRIED]:
        plan = _without_guesses(make_plan(candidate, task.machine), task.machine)
        moved = move(task.machine, plan, task.names, change)
        after = facts_after(task.machine, moved)
        failed, passed = failing(after, task.machine, task.rules, task.required)
        mended = moved.changed and not failed.keys() & {item.id for item in task.targets}
        if mended and _errors(failed) <= task.before:
            return Repair(
                machine=task.machine,
                move=moved,
                targets=task.targets,
                left=frozenset(failed),
                passed=passed,
            )
        obstacles.extend(_why_not(task, moved, failed))
    return None


def _without_guesses(plan: Plan, machine: Machine) -> Plan:
    """Leave out the name of a wheel that is for a Python or platform which nobody stated."""
    own = machine.installed
    platform = any(own[path].is_known for path in ("os.platform", "flash_attn.wheel.platform"))
    if machine.python_is_stated and platform:
        return plan
    return replace(plan, flash_attn_wheel=None, flash_attn_url=None)


def _why_not(task: _Task, moved: Move, failed: dict[str, str]) -> Iterator[Rejection]:
    """Say of a plan that mends nothing what would still be wrong."""
    aims = {item.id for item in task.targets}
    still = [rule for rule in task.rules if rule.id in failed and rule.id in aims]
    new = [rule for rule in task.rules if rule.id in _errors(failed) - task.before]
    for rule in (*new, *still)[:1]:
        yield Rejection(candidate=f"torch {moved.plan.torch_version}", reason=rule.title)
