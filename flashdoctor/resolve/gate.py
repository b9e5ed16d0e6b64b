"""What `check` says: of the machine alone, and of a plan as if it were installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flashdoctor.engine import ranking, runner
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.engine.derive import derive
from flashdoctor.engine.view import View
from flashdoctor.model.finding import Finding
from flashdoctor.model.plan import Plan, Rejection
from flashdoctor.model.rule import Component, Rule
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.recipe import sass_of

_MACHINE = {
    "gpu": "gpu.name",
    "compute_capability": "gpu.compute_capability",
    "gpu_count": "gpu.count",
    "driver": "driver.version",
    "driver.cuda": "driver.cuda",
    "python": "python.version",
    "platform": "os.platform",
    "glibc": "os.glibc",
    "wsl": "wsl.version",
}
"""What of a machine a plan depends on, by the key of `--assume`."""


def machine_obstacles(
    machine: Machine, rules: Sequence[Rule], required: Iterable[Component]
) -> tuple[Rejection, ...]:
    """Return what is wrong with the machine whatever is installed, the root cause first."""
    found = _errors(machine, rules, required, machine.facts)
    return tuple(
        Rejection(
            candidate=finding.id,
            reason=". ".join(filter(None, (finding.title, finding.detail))).rstrip(".") + ".",
            helps=finding.fix.text,
        )
        for finding in found
    )


def plan_error(
    machine: Machine, rules: Sequence[Rule], required: Iterable[Component], plan: Plan
) -> Finding | None:
    """Return the worst error that `check` would find with the plan installed, None without any."""
    stated = read_assumptions(plan_assumptions(machine, plan))
    facts = derive(Snapshot({**machine.facts.facts, **stated.facts}), machine.tables)
    return next(iter(_errors(machine, rules, required, facts)), None)


def _errors(
    machine: Machine, rules: Sequence[Rule], required: Iterable[Component], facts: Snapshot
) -> list[Finding]:
    results = runner.run(rules, View(facts, machine.tables, frozenset(required)))
    ranked = ranking.rank(results.findings, {rule.id: rule for rule in rules})
    return [item for item in ranked if item.severity == "error" and item.outcome == "fail"]


def machine_assumptions(machine: Machine) -> list[str]:
    """Return the machine as items of `--assume`."""
    named = machine.facts["gpu.name"].is_known
    return [
        f"{key}={machine.facts.value(path)}"
        for key, path in _MACHINE.items()
        if machine.facts[path].is_known
        and not (key == "compute_capability" and named and len(machine.capabilities) == 1)
        and not (key == "driver.cuda" and machine.driver)
    ]


def plan_assumptions(machine: Machine, plan: Plan) -> list[str]:
    """Return what the plan installs as items of `--assume`."""
    return list(_plan_items(machine, plan))


def _plan_items(machine: Machine, plan: Plan) -> Iterator[str]:
    yield f"torch={plan.torch_version}"
    if plan.torch_index is None:
        yield f"torch_cuda={plan.torch_cuda}"
        own = machine.installed
        yield f"cxx11_abi={str(own.value('torch.cxx11_abi')).lower()}"
        yield f"torch.arch_list={','.join(own.value('torch.arch_list', ()))}"
    simple = {
        "triton": plan.triton,
        "vllm": plan.vllm,
        "transformers": plan.transformers,
        "flash_attn_3.version": plan.flash_attn_3,
        "flash_attn_4.version": plan.flash_attn_4,
    }
    yield from (f"{key}={value}" for key, value in simple.items() if value)
    yield from _flash_attn_items(machine, plan)
    if plan.builds:
        yield f"cuda_toolkit={plan.builds[0].toolkit}"


def _flash_attn_items(machine: Machine, plan: Plan) -> Iterator[str]:
    if plan.flash_attn_wheel:
        yield f"flash_attn={plan.flash_attn_wheel}"
    elif plan.flash_attn:
        minor = ".".join(plan.torch.split(".")[:2])
        cuda = f"cu{plan.torch_cuda.replace('.', '')}"
        abi = "TRUE" if machine_abi(machine, plan) else "FALSE"
        yield f"flash_attn={plan.flash_attn}+{cuda}torch{minor}cxx11abi{abi}"
        yield f"flash_attn.sass={','.join(sass_of(machine.capabilities))}"
        if machine.glibc:
            yield f"flash_attn.extension_glibc={machine.glibc}"


def machine_abi(machine: Machine, plan: Plan) -> bool:
    """Return the C++ ABI of the plan's torch, which is that of whatever is built against it."""
    stated = read_assumptions([f"torch={plan.torch_version}", f"platform={plan.platform}"])
    abi = derive(stated, machine.tables).value("torch.cxx11_abi")
    return bool(machine.installed.value("torch.cxx11_abi") if abi is None else abi)
