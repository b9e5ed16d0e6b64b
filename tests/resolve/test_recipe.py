from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor import pipeline
from flashdoctor.model.versions import Capability
from flashdoctor.resolve.machine import Machine, read_machine
from flashdoctor.resolve.recipe import (
    archs,
    fa3_build,
    flash_attn_build,
    jobs,
    sass_of,
    toolkit_for,
)

JOB_MIB = 9 * 1024


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ([Capability(8, 9)], ["80"]),
        ([Capability(9, 0), Capability(8, 0)], ["80", "90"]),
        ([Capability(10, 3)], ["100"]),
        ([Capability(12, 1)], ["120"]),
    ],
)
def test_targets_by_what_runs_on_the_gpu(
    capabilities: list[Capability], expected: list[str]
) -> None:
    assert archs(capabilities) == expected
    assert sass_of(capabilities) == [f"sm_{name}" for name in expected]


@pytest.mark.parametrize(
    ("facts", "max_jobs", "threads"),
    [
        ([], "2", "2"),
        (["os.memory_mib=4096", "os.cpu_count=16"], "1", "1"),
        (["os.memory_mib=16384", "os.cpu_count=16"], "3", "2"),
        (["os.memory_mib=262144", "os.cpu_count=8"], "4", "2"),
        (["os.memory_mib=262144", "os.cgroup_memory_mib=10240", "os.cpu_count=64"], "2", "2"),
    ],
)
def test_jobs_by_memory_and_cores(
    machine: Callable[..., Machine], facts: list[str], max_jobs: str, threads: str
) -> None:
    assert jobs(machine("gpu=H100", *facts)) == {"MAX_JOBS": max_jobs, "NVCC_THREADS": threads}


@given(st.integers(1, 4_000_000), st.integers(1, 512))
def test_jobs_never_ask_for_more_than_there_is(memory: int, cores: int) -> None:
    facts = pipeline.assume([f"os.memory_mib={memory}", f"os.cpu_count={cores}", "gpu=H100"])
    found = jobs(read_machine(facts, pipeline.tables()))
    running, threads = int(found["MAX_JOBS"]), int(found["NVCC_THREADS"])
    assert running >= 1
    assert running == 1 or running * threads * JOB_MIB / 4 <= memory
    assert running == 1 or running * threads <= cores


@pytest.mark.parametrize(
    ("facts", "cuda", "expected"),
    [
        (["gpu=H100"], "12.8", ("12.8", False)),
        (["gpu=H100", "cuda_toolkit=12.4.1"], "12.8", ("12.4", True)),
        (["gpu=H100", "cuda_toolkit=11.8"], "12.8", ("12.8", False)),
        (["gpu=H100", "cuda_toolkit=13.0"], "12.8", ("12.8", False)),
        (["gpu=RTX 5090", "cuda_toolkit=12.4"], "12.6", ("12.8", False)),
        (["gpu=RTX 5090"], "11.8", None),
    ],
)
def test_the_toolkit_has_torchs_major_and_knows_the_gpu(
    machine: Callable[..., Machine],
    facts: list[str],
    cuda: str,
    expected: tuple[str, bool] | None,
) -> None:
    assert toolkit_for(machine(*facts), cuda, "11.7") == expected


def test_recipes(machine: Callable[..., Machine]) -> None:
    build = flash_attn_build(machine("gpu=RTX 4090"), "2.8.3", "12.8", "11.7")
    assert build is not None
    assert build.environment == {
        "MAX_JOBS": "2",
        "NVCC_THREADS": "2",
        "FLASH_ATTN_CUDA_ARCHS": "80",
        "FLASH_ATTENTION_FORCE_BUILD": "TRUE",
    }
    later = fa3_build(machine("gpu=H100"), "3.0.0", "12.8", "12.3")
    assert later is not None
    assert later.package == "flash-attn-3"
    assert "FLASH_ATTN_CUDA_ARCHS" not in later.environment
    blackwell = machine("gpu=RTX 5090")
    assert flash_attn_build(blackwell, "2.8.3", "11.8", "11.7") is None
    assert fa3_build(blackwell, "3.0.0", "11.8", "12.3") is None
