"""FD505: building flash-attn may need more memory than there is."""

from __future__ import annotations

from flashdoctor.engine.flash_wheels import must_compile
from flashdoctor.engine.view import Judgement, View, failed, passed

_MEMORY, _LIMIT, _CORES = "os.memory_mib", "os.cgroup_memory_mib", "os.cpu_count"
_JOB_MIB = 9 * 1024
"""Peak of one job with four nvcc threads, by which setup.py sets MAX_JOBS from the memory of the
whole machine; a limit of the container is not seen (Dao-AILab/flash-attention setup.py 2.8.3)."""


def judge(view: View) -> Judgement:
    """Compare what setup.py would start by itself with the memory that may be used."""
    if not must_compile(view):
        return passed()
    memory = view.need(_MEMORY)
    usable = min(memory, view.value(_LIMIT, memory))
    jobs = max(1, min(memory // _JOB_MIB, view.value(_CORES, memory) // 2))
    if jobs * _JOB_MIB <= usable:
        return passed(_MEMORY, _LIMIT)
    fitting = max(1, usable // _JOB_MIB)
    detail = (
        f"setup.py would run {jobs} jobs of about {_JOB_MIB // 1024} GiB, "
        f"{usable / 1024:.0f} GiB may be used."
    )
    return failed(_MEMORY, _LIMIT, _CORES, detail=detail, values={"advice.jobs": str(fitting)})
