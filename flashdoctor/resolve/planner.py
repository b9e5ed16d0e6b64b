"""From facts and wishes to a plan, or to what stands in its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flashdoctor.data.tables import Tables
from flashdoctor.engine import situation
from flashdoctor.model import versions
from flashdoctor.model.plan import Emit, Installer, Plan, Rejection, Resolution
from flashdoctor.model.rule import Rule
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.resolve import gate
from flashdoctor.resolve.commands import commands
from flashdoctor.resolve.emit import emit
from flashdoctor.resolve.machine import Machine, read_machine
from flashdoctor.resolve.rejections import passed_over, search_obstacles, want_obstacles
from flashdoctor.resolve.search import Candidate, Found, search, with_kept
from flashdoctor.resolve.story import notes, stale_packages, why
from flashdoctor.resolve.wants import Want, default_wants, required

INDEX = "https://download.pytorch.org/whl"
_TRIED = 12
"""Plans that are put before the rules of `check` before there is said to be none."""


def resolve(  # noqa: PLR0913 - what to plan for, and how to write it
    snapshot: Snapshot,
    tables: Tables,
    rules: Sequence[Rule],
    *,
    wants: Sequence[Want] = (),
    keep: Sequence[str] = (),
    installer: Installer = "pip",
    emits: Emit | None = None,
) -> Resolution:
    """Return the best plan, or why there is none.

    A plan is one that `check` would pass as well: it is judged by the same rules before it is
    given out.
    """
    machine = read_machine(snapshot, tables)
    wanted = with_kept(machine, tuple(wants) or default_wants(snapshot), keep)
    blocked = tuple(want_obstacles(machine, wanted, keep))
    blocked += gate.machine_obstacles(machine, rules, required(wanted))
    if blocked:
        return _without(machine, wanted, installer, blocked)
    found = search(machine, wanted, keep)
    chosen, refused = _first_sound(found, machine, rules, wanted)
    if chosen is None:
        return _without(machine, wanted, installer, (*refused, *search_obstacles(found, wanted)))
    resolution = _with(chosen, found, machine, wanted)
    return _written(resolution, machine, installer, emits)


def _first_sound(
    found: Found, machine: Machine, rules: Sequence[Rule], wants: Sequence[Want]
) -> tuple[Candidate | None, tuple[Rejection, ...]]:
    refused: list[Rejection] = []
    for candidate in found.candidates[:_TRIED]:
        plan = make_plan(candidate, machine)
        error = gate.plan_error(machine, rules, required(wants), plan)
        if error is None:
            return candidate, tuple(refused)
        refused.append(
            Rejection(candidate=f"torch {plan.torch_version}", reason=error.detail or error.title)
        )
    return None, tuple(refused)


def make_plan(chosen: Candidate, machine: Machine) -> Plan:
    """Return a candidate as a plan."""
    torch, flash = chosen.torch, chosen.flash_attn
    return Plan(
        python=machine.python,
        python_is_stated=machine.python_is_stated,
        platform=machine.platform,
        torch=torch.version,
        torch_cuda=torch.cuda,
        torch_index=torch.tag,
        torch_index_url=f"{INDEX}/{torch.tag}" if torch.tag else None,
        torch_is_default=torch.is_default and not _is_taken_for_it(chosen, machine),
        triton=torch.triton,
        triton_is_open=torch.triton_is_open,
        flash_attn=flash.version if flash else None,
        flash_attn_wheel=flash.file if flash else None,
        flash_attn_url=flash.url if flash else None,
        flash_attn_3=chosen.fa3.version if chosen.fa3 else None,
        flash_attn_4=chosen.fa4.version if chosen.fa4 else None,
        vllm=chosen.vllm.version if chosen.vllm else None,
        transformers=chosen.transformers,
        builds=chosen.builds,
    )


def _is_taken_for_it(chosen: Candidate, machine: Machine) -> bool:
    """Whether pip would take the installed torch, of another CUDA, for the one that is planned."""
    own = machine.installed
    same = versions.public(own.value("torch.version", "")) == chosen.torch.version
    return same and versions.minor(own.value("torch.cuda") or "") != chosen.torch.cuda


def _with(chosen: Candidate, found: Found, machine: Machine, wants: Sequence[Want]) -> Resolution:
    plan = make_plan(chosen, machine)
    return Resolution(
        wants=tuple(map(str, wants)),
        machine=describe(machine),
        plan=plan,
        why=tuple(why(chosen, machine, wants)),
        notes=tuple(notes(chosen, plan, machine, wants, found)),
        rejected=passed_over(chosen, found, wants),
        assume=(*gate.machine_assumptions(machine), *gate.plan_assumptions(machine, plan)),
        require=required(wants),
    )


def _written(
    resolution: Resolution, machine: Machine, installer: Installer, emits: Emit | None
) -> Resolution:
    """Add the commands, and the file that was asked for."""
    plan = resolution.plan
    if plan is None:
        return resolution
    emitted: dict[str, str] = {}
    if emits:
        emitted[emits] = emit(plan, emits, installer, machine.tables)
    lines = commands(plan, installer, stale_packages(plan, machine))
    return replace(resolution, installer=installer, commands=tuple(lines), emitted=emitted)


def _without(
    machine: Machine,
    wants: Sequence[Want],
    installer: Installer,
    obstacles: tuple[Rejection, ...],
) -> Resolution:
    return Resolution(
        wants=tuple(map(str, wants)),
        machine=describe(machine),
        installer=installer,
        obstacles=tuple(dict.fromkeys(obstacles)),
        require=required(wants),
    )


def describe(machine: Machine) -> tuple[tuple[str, str], ...]:
    """Return what the plan is for, as pairs of a word and a value."""
    parts = {
        "gpu": machine.gpu if machine.capabilities else None,
        "driver": machine.driver,
        "python": machine.python,
        "platform": machine.platform,
        "glibc": machine.glibc if machine.kind != "windows" else None,
        "system": _system(machine),
    }
    return tuple((name, str(value)) for name, value in parts.items() if value)


def _system(machine: Machine) -> str | None:
    if situation.runs_in_wsl(machine.view):
        return f"WSL {machine.facts.value('wsl.version')}"
    distribution: str | None = machine.facts.value("os.distribution")
    return distribution
