"""How to compile flash-attn and FlashAttention-3 on a machine: toolkit, jobs, targets."""

from __future__ import annotations

from collections.abc import Iterable

from flashdoctor.data import lookup
from flashdoctor.data.tables import Tables
from flashdoctor.model import versions
from flashdoctor.model.plan import Build
from flashdoctor.model.versions import Capability
from flashdoctor.resolve.machine import Machine

_JOB_MIB = 9 * 1024
"""Peak of one job with four nvcc threads (Dao-AILab/flash-attention setup.py 2.8.3)."""

_USUAL_THREADS = 4
_UNKNOWN_JOBS = 2
_FAMILIES = ((8, "80"), (9, "90"), (10, "100"), (12, "120"))
"""What FLASH_ATTN_CUDA_ARCHS takes, by the major that the code runs on (setup.py 2.8.3)."""


def archs(capabilities: Iterable[Capability]) -> list[str]:
    """Return the values of FLASH_ATTN_CUDA_ARCHS that serve these GPUs."""
    majors = {on.major for on in capabilities}
    return [name for major, name in _FAMILIES if major in majors]


def sass_of(capabilities: Iterable[Capability]) -> list[str]:
    """Return the targets that such a build holds, `sm_80`."""
    return [f"sm_{name}" for name in archs(capabilities)]


def jobs(machine: Machine) -> dict[str, str]:
    """Return MAX_JOBS and NVCC_THREADS that this machine's memory and cores bear.

    Two threads a job take half of what four do. One job with one thread is the least there is.
    """
    memory = machine.facts.value("os.memory_mib")
    if memory is None:
        return {"MAX_JOBS": str(_UNKNOWN_JOBS), "NVCC_THREADS": "2"}
    usable = min(memory, machine.facts.value("os.cgroup_memory_mib", memory))
    threads = 2 if usable >= _JOB_MIB else 1
    cores = machine.facts.value("os.cpu_count", _UNKNOWN_JOBS * threads)
    by_memory = usable * _USUAL_THREADS // (_JOB_MIB * threads)
    return {
        "MAX_JOBS": str(max(1, min(by_memory, cores // threads))),
        "NVCC_THREADS": str(threads),
    }


def first_toolkit(tables: Tables, capabilities: Iterable[Capability], floor: str) -> str:
    """Return the lowest CUDA whose nvcc knows the package and these GPUs."""
    rows = (lookup.arch(tables, on) for on in capabilities)
    wanted = [floor, *(str(row["first_cuda"]) for row in rows if row and "first_cuda" in row)]
    return max(wanted, key=lambda text: versions.order(text) or ((), 0))


def toolkit_for(machine: Machine, cuda: str, floor: str) -> tuple[str, bool] | None:
    """Return the CUDA X.Y to compile with beside a torch for `cuda`, and whether it is there.

    It has torch's CUDA major: the one that is installed where it will do, else torch's own, else
    the first of that major that knows the GPU. None where no release of the major does.
    """
    lowest = first_toolkit(machine.tables, machine.capabilities, floor)
    own = versions.minor(machine.facts.value("toolkit.version", ""))
    if own and _serves(own, cuda, lowest):
        return own, True
    if _serves(cuda, cuda, lowest):
        return cuda, False
    return (lowest, False) if versions.major(lowest) == versions.major(cuda) else None


def _serves(toolkit: str, cuda: str, lowest: str) -> bool:
    own, floor = versions.order(toolkit), versions.order(lowest)
    same = versions.major(toolkit) == versions.major(cuda)
    return same and own is not None and floor is not None and own >= floor


def flash_attn_build(machine: Machine, version: str, cuda: str, floor: str) -> Build | None:
    """Return the recipe for flash-attn 2, None where no toolkit of torch's CUDA major will do."""
    toolkit = toolkit_for(machine, cuda, floor)
    if toolkit is None:
        return None
    environment = {
        **jobs(machine),
        "FLASH_ATTN_CUDA_ARCHS": ";".join(archs(machine.capabilities)),
        "FLASH_ATTENTION_FORCE_BUILD": "TRUE",
    }
    return Build(
        package="flash-attn",
        version=version,
        toolkit=toolkit[0],
        has_toolkit=toolkit[1],
        environment=environment,
    )


def fa3_build(machine: Machine, version: str, cuda: str, floor: str) -> Build | None:
    """Return the recipe for FlashAttention-3, whose setup.py picks its targets by itself."""
    toolkit = toolkit_for(machine, cuda, floor)
    if toolkit is None:
        return None
    return Build(
        package="flash-attn-3",
        version=version,
        toolkit=toolkit[0],
        has_toolkit=toolkit[1],
        environment=jobs(machine),
    )
