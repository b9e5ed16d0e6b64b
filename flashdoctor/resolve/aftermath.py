"""An installation after a plan was carried out: what changes in it, and what the rules say then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from flashdoctor.engine import runner
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.engine.derive import derive
from flashdoctor.engine.view import View
from flashdoctor.model import versions
from flashdoctor.model.plan import Plan
from flashdoctor.model.rule import Component, Rule
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.resolve import gate
from flashdoctor.resolve.change import Change, is_installed
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.wants import PATHS

_OF_THE_RUN = ("live.", "smoke.", "log.", "engine.")
"""What was seen of the installation while it was in use: no longer true of another one."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "torch": ("torch.", "triton.", "torchvision.", "torchaudio."),
    "vllm": (
        "vllm.",
        "vllm_flash_attn.",
        "flashinfer.",
        "flashinfer_cubin.",
        "xformers.",
        "compressed_tensors.",
        "numpy.",
    ),
    "transformers": ("transformers.", "kernels."),
    "flash-attn": ("flash_attn.",),
    "fa3": ("flash_attn_3.",),
    "fa4": ("flash_attn_4.",),
}
"""The facts that an installation of a package replaces, those of what it brings along included."""

_OWNERS: Mapping[str, str] = {
    "torch": "torch",
    "torch_cuda": "torch",
    "cxx11_abi": "torch",
    "torch.arch_list": "torch",
    "triton": "torch",
    "vllm": "vllm",
    "transformers": "transformers",
    "flash_attn": "flash-attn",
    "flash_attn.sass": "flash-attn",
    "flash_attn.extension_glibc": "flash-attn",
    "flash_attn_3.version": "fa3",
    "flash_attn_4.version": "fa4",
}
"""The package that an item of `--assume` tells of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A plan as a change of what is installed: what is put in anew, and what goes for good."""

    plan: Plan
    changed: frozenset[str]
    removed: tuple[str, ...]
    assume: tuple[str, ...]


def move(machine: Machine, plan: Plan, names: Iterable[str], change: Change) -> Move:
    """Return what of a plan for `names` is not there yet. What stays needs no build either."""
    changed = frozenset(_changed(machine, plan, set(names), change))
    own = machine.installed.value(PATHS["transformers"])
    if "transformers" not in changed and plan.transformers:
        plan = replace(plan, transformers=versions.public(own) if own else None)
    plan = _without_what_stays(plan, changed)
    removed = tuple(_left_over(machine, plan, changed))
    items = [*_items(machine, plan, changed), *(f"{PATHS[name]}=absent" for name in removed)]
    return Move(plan=plan, changed=changed, removed=removed, assume=tuple(items))


def _changed(machine: Machine, plan: Plan, names: set[str], change: Change) -> Iterator[str]:
    own = machine.installed
    if _moves_torch(machine, plan):
        yield "torch"
    moves_vllm = plan.vllm is not None and _differs(own.value(PATHS["vllm"]), plan.vllm)
    if moves_vllm:
        yield "vllm"
    is_missing = not is_installed(machine, "transformers")
    brought = is_missing and (moves_vllm or "transformers" in names)
    if plan.transformers and ("transformers" in change.packages or brought):
        yield "transformers"
    planned = {"flash-attn": plan.flash_attn, "fa3": plan.flash_attn_3, "fa4": plan.flash_attn_4}
    for name, version in planned.items():
        stays = name not in change.packages and not _differs(own.value(PATHS[name]), version)
        if version and not (stays and (name == "fa4" or _serves_both(machine, plan))):
            yield name


def _differs(own: str | None, planned: str | None) -> bool:
    return own is None or planned is None or versions.order(own) != versions.order(planned)


def _moves_torch(machine: Machine, plan: Plan) -> bool:
    own = machine.installed
    version, cuda = own.value("torch.version"), own.value("torch.cuda")
    if version is None or cuda is None:
        return True
    return (versions.public(version), versions.minor(cuda)) != (plan.torch, plan.torch_cuda)


def _serves_both(machine: Machine, plan: Plan) -> bool:
    """Whether what was compiled for the installed torch runs with the planned one."""
    own = machine.installed
    pairs = (
        (own.value("torch.minor"), versions.minor(plan.torch)),
        (versions.major(own.value("torch.cuda") or ""), versions.major(plan.torch_cuda)),
        (own.value("torch.cxx11_abi"), gate.machine_abi(machine, plan)),
    )
    return all(installed == planned for installed, planned in pairs)


def _without_what_stays(plan: Plan, changed: frozenset[str]) -> Plan:
    """Leave out of a plan each flash-attn that is there already, its recipe included."""
    gone = {"fa3": "flash-attn-3", "flash-attn": "flash-attn"}
    stays = {package for name, package in gone.items() if name not in changed}
    plan = replace(plan, builds=tuple(item for item in plan.builds if item.package not in stays))
    if "flash-attn" not in changed:
        plan = replace(plan, flash_attn=None, flash_attn_wheel=None, flash_attn_url=None)
    if "fa3" not in changed:
        plan = replace(plan, flash_attn_3=None)
    return plan if "fa4" in changed else replace(plan, flash_attn_4=None)


def _left_over(machine: Machine, plan: Plan, changed: frozenset[str]) -> Iterator[str]:
    """Yield what was compiled for the torch that goes, and is not put in anew."""
    if "torch" in changed and not _serves_both(machine, plan):
        for name in ("flash-attn", "fa3"):
            if name not in changed and is_installed(machine, name):
                yield name


def _items(machine: Machine, plan: Plan, changed: frozenset[str]) -> Iterator[str]:
    for item in gate.plan_assumptions(machine, plan):
        key = item.partition("=")[0]
        if _OWNERS.get(key) in changed or (key == "cuda_toolkit" and plan.builds):
            yield item


def facts_after(machine: Machine, moved: Move) -> Snapshot:
    """Return all that is known with the plan carried out."""
    gone = [prefix for name in (*moved.changed, *moved.removed) for prefix in GROUPS[name]]
    prefixes = (*_OF_THE_RUN, *gone)
    kept = {f.path: f for f in machine.installed if not f.path.startswith(prefixes)}
    stated = read_assumptions(moved.assume)
    return derive(Snapshot({**kept, **stated.facts}), machine.tables)


def failing(
    facts: Snapshot, machine: Machine, rules: Sequence[Rule], required: frozenset[Component]
) -> tuple[dict[str, str], frozenset[str]]:
    """Return the severity of each rule that fails over these facts by its id, and what passed."""
    results = runner.run(rules, View(facts, machine.tables, required))
    found: dict[str, str] = {
        item.id: item.severity for item in results.findings if item.outcome == "fail"
    }
    return found, frozenset(rule.id for rule in results.passed)
