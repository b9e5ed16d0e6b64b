"""Why a plan is what it is, and what to know about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashdoctor.engine import drivers, situation
from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.model import versions
from flashdoctor.model.plan import Build, Plan
from flashdoctor.resolve.machine import ASSUMED_PYTHON, Machine
from flashdoctor.resolve.search import Candidate, Found
from flashdoctor.resolve.transformers_releases import is_capped
from flashdoctor.resolve.vllm_releases import PACKAGE as VLLM
from flashdoctor.resolve.vllm_releases import attention_note
from flashdoctor.resolve.wants import Want

_LAST_WITH_CUDA_12_FILES = "0.32.0"


def why(chosen: Candidate, machine: Machine, wants: Sequence[Want]) -> Iterator[str]:
    """Yield one sentence for each choice."""
    asked = {want.name: want for want in wants}
    if chosen.vllm:
        kind = _kind(asked["vllm"], "whose wheel runs on this machine")
        ready = chosen.flash_attn is not None and not chosen.builds
        tail = " and needs no build beside it" if ready else ""
        yield f"vllm {chosen.vllm.version} is {kind}{tail}."
    yield _torch_line(chosen, machine)
    yield from _flash_attn_lines(chosen, machine, asked.get("flash-attn"))
    if chosen.transformers:
        yield _transformers_line(chosen, asked.get("transformers"))


def _kind(want: Want, newest: str) -> str:
    if "==" in want.specifier:
        return "the release that was asked for"
    within = f" within {want.specifier}" if want.specifier else ""
    return f"the newest release{within} {newest}"


def _torch_line(chosen: Candidate, machine: Machine) -> str:
    build = chosen.torch
    own = versions.public(machine.installed.value("torch.version", ""))
    if chosen.vllm:
        start = f"torch {build.version} is what vllm {chosen.vllm.version} pins"
    elif own == build.version:
        start = f"torch {build.version} stays"
    elif chosen.flash_attn and chosen.flash_attn.file:
        start = f"torch {build.version} is the newest with an official flash-attn wheel here"
    else:
        start = f"torch {build.version} is the newest that runs here"
    return f"{start}; {_variant(chosen, machine)}{_code(chosen, machine)}."


def _variant(chosen: Candidate, machine: Machine) -> str:
    build = chosen.torch
    if build.tag is None:
        return f"it is built for CUDA {build.cuda}"
    floor = drivers.cuda_floor(machine.view, build.cuda)
    which = "the package index's own variant" if build.is_default else "from the PyTorch index"
    return f"{build.tag}, {which}, runs from driver {floor} on"


def _code(chosen: Candidate, machine: Machine) -> str:
    serving = []
    for on in machine.capabilities:
        fitting = [item for item in chosen.torch.targets if versions.sass_runs(item, on)]
        if fitting and fitting[-1] != on.sm:
            serving.append(f"{fitting[-1]} code, which serves {on.sm}")
        elif fitting:
            serving.append(f"{on.sm} code")
    return f" and carries {' and '.join(serving)}" if serving else ""


def _flash_attn_lines(chosen: Candidate, machine: Machine, want: Want | None) -> Iterator[str]:
    item = chosen.flash_attn
    if item and want and item.build:
        yield (
            f"flash-attn {item.version} has to be compiled: no official wheel fits torch "
            f"{chosen.torch.minor}, Python {versions.minor(machine.python)} and {machine.platform} "
            "here."
        )
    elif item and want:
        kind = _kind(want, f"with a wheel for torch {chosen.torch.minor} that runs here")
        yield f"flash-attn {item.version} is {kind}."
    elif chosen.vllm and not chosen.flash_attns:
        yield attention_note(machine, chosen.vllm)
    if chosen.fa3:
        how = "has to be compiled" if chosen.fa3.build else "comes from the PyTorch index"
        yield f"flash-attn-3 {chosen.fa3.version} {how}."
    if chosen.fa4:
        yield f"flash-attn-4 {chosen.fa4.version} compiles its kernels when they first run."


def _transformers_line(chosen: Candidate, want: Want | None) -> str:
    version = chosen.transformers
    if chosen.vllm is None:
        return f"transformers {version} is {_kind(want or Want('transformers'), 'that fits')}."
    line = f"transformers {version} is inside vllm's pin, {chosen.vllm.row['transformers']}"
    if want is None and not is_capped(chosen.vllm):
        line += "; it is of the first series there, and --want transformers plans the newest"
    return f"{line}."


def notes(
    chosen: Candidate, plan: Plan, machine: Machine, wants: Sequence[Want], found: Found
) -> Iterator[str]:
    """Yield what one should know before carrying a plan out."""
    yield from _unstated(machine)
    yield from (item.note for item in chosen.flash_attns if item.note)
    yield from (_build_note(build, machine) for build in plan.builds)
    yield from _left_behind(plan, machine, wants)
    yield from _alternatives(chosen, machine, found)
    if machine.kind == "windows":
        yield (
            "On Windows torch's SDPA and transformers work natively, flash-attn only where one "
            "compiles it with Visual Studio, vLLM not at all; WSL 2 runs all of them."
        )


def _unstated(machine: Machine) -> Iterator[str]:
    if not machine.python_is_stated:
        yield f"No Python was stated: this is planned for {ASSUMED_PYTHON}."
    if machine.driver is None and not machine.facts["driver.cuda"].is_known:
        yield "No driver was stated: make sure that yours is not older than the plan asks for."
    if machine.kind != "windows" and machine.glibc is None:
        yield "No glibc was stated: wheels for newer systems than yours were not ruled out."


def _build_note(build: Build, machine: Machine) -> str:
    have = "which is here" if build.has_toolkit else "which has to be installed first"
    text = f"{build.package} is compiled with nvcc of CUDA {build.toolkit}, {have}"
    if machine.facts["os.memory_mib"].is_known:
        jobs = build.environment["MAX_JOBS"]
        return f"{text}; MAX_JOBS={jobs} is what the memory and cores of this machine bear."
    return f"{text}; the memory is not known: raise MAX_JOBS by one for each 5 GiB you have."


def stale_packages(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """Return installed packages that have to go first.

    A flash-attn that was compiled for another torch does not load any more, and pip takes it for
    the one that is planned where the versions are the same.
    """
    own = machine.installed
    if own["flash_attn.version"].is_known and plan.flash_attn:
        is_same = own.value("flash_attn.wheel.file", "") == plan.flash_attn_wheel
        return () if is_same else ("flash-attn",)
    built_for = own.value("flash_attn.wheel.torch") or versions.minor(
        own.value("torch.version") or ""
    )
    moved = built_for is not None and built_for != versions.minor(plan.torch)
    return ("flash-attn",) if own["flash_attn.version"].is_known and moved else ()


def _left_behind(plan: Plan, machine: Machine, wants: Sequence[Want]) -> Iterator[str]:
    for name in () if plan.flash_attn else stale_packages(plan, machine):
        yield f"The installed {name} was built for another torch and goes; --want {name} keeps it."
    vllm, pin = (machine.installed.value(f"vllm.{key}") for key in ("version", "torch_pin"))
    wanted = any(want.name == "vllm" for want in wants)
    if vllm and pin and not wanted and pin != f"=={plan.torch}":
        yield f"The installed vllm {vllm} asks for torch{pin} and will not run with this plan."


def _alternatives(chosen: Candidate, machine: Machine, found: Found) -> Iterator[str]:
    if chosen.vllm and chosen.flash_attn:
        yield (
            f"{attention_note(machine, chosen.vllm)} Without --want flash-attn the newest vllm "
            "is planned."
        )
    if chosen.vllm and _is_held_by_driver(chosen, found):
        yield (
            f"Up to {_LAST_WITH_CUDA_12_FILES} vLLM's GitHub releases also hold +cu129 wheels, "
            "which run from driver 525.60.13 on; no table says what they need, so none is planned."
        )
    if situation.runs_in_wsl(machine.view) and chosen.builds:
        yield "WSL sees half of the memory by default; `memory=` in .wslconfig gives it more."


def _is_held_by_driver(chosen: Candidate, found: Found) -> bool:
    return any(
        item.reason.helps.startswith("driver")
        and "CUDA 13" in item.reason.text
        and not at_least(chosen.vllm.version if chosen.vllm else "", item.version)
        for item in found.refused.get(VLLM, ())
    )
