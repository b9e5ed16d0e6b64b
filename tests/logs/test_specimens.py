"""What real output of the tools that people paste gives: its facts, and no fault that isn't there.

The facts of all of them stand in tests/golden/specimens.txt, by file: what was recognised, then
each fact with the line where it stands. FLASHDOCTOR_UPDATE_GOLDEN=1 writes it anew.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from flashdoctor import pipeline
from flashdoctor.logs.lines import read_lines
from flashdoctor.logs.matcher import make_index
from flashdoctor.logs.parser import load_parsers
from flashdoctor.logs.scan import scan
from flashdoctor.model.finding import Report
from flashdoctor.model.log import Reading

TESTS = Path(__file__).parents[1]
PASTES = TESTS / "data" / "pastes"
GOLDEN = TESTS / "golden" / "specimens.txt"
UPDATE = "FLASHDOCTOR_UPDATE_GOLDEN"

HEALTHY = (
    "collect_env_torch_mid_1.9.1",
    "collect_env_torch_new_2.13",
    "collect_env_torch_old_1.3.1",
    "collect_env_torch_windows_cpu_2.14",
    "collect_env_torch_windows_cpu_2.7.1",
    "collect_env_vllm_boxed_0.10.1",
    "collect_env_vllm_boxed_0.30.0_wsl",
    "collect_env_vllm_old_0.6.3",
    "conda_list",
    "conda_list_pytorch_channel_windows",
    "hf_env",
    "nvcc_version",
    "nvidia_smi_375_titanx_no_cuda_field",
    "nvidia_smi_470_container_compat_cuda_12.4",
    "nvidia_smi_470_t4",
    "nvidia_smi_535_mig_a30",
    "nvidia_smi_580_h100x2_busy",
    "nvidia_smi_610_kmd_umd_header",
    "nvidia_smi_L_mig",
    "nvidia_smi_h200_580",
    "nvidia_smi_q_h200_580",
    "nvidia_smi_windows_551_wddm",
    "nvidia_smi_windows_555_tcc",
    "nvidia_smi_wsl_545_cuda_err",
    "nvidia_smi_wsl_580_versions_differ",
    "pip_freeze_composed",
    "pip_freeze_conda_windows_cpu",
    "pip_list",
    "proc_driver_nvidia_version",
    "transformers_env_4.47",
    "transformers_env_4.52_cli",
    "vllm_startup_v0_0.4.1",
    "vllm_startup_v1_0.10.2",
)
FAULTS = {
    "nvidia_smi_errors": "nvml-driver-library-mismatch",
    "sdpa_no_available_kernel_block": "sdpa-attn-mask-blocks-flash",
    "vllm0.25.1_llama3.1-8b_max_len_200000_refused": "max-model-len-beyond-model",
    "vllm0.25.1_llama3.1-8b_util0.12_no_memory": "kv-cache-no-memory",
    "vllm0.25.1_llama3.1-8b_util0.14_kv_too_small": "kv-cache-too-small-for-max-model-len",
}
RUNS = {
    "vllm0.25.1_llama3.1-8b_fp8kv_eager": 1_829_056,
    "vllm0.25.1_llama3.1-8b_util0.5_mbt32768_eager": 419_952,
    "vllm0.25.1_qwen2.5-7b_default": 2_096_192,
    "vllm0.25.1_qwen2.5-7b_eager": 2_095_232,
}
"""Recorded runs that served, and the KV tokens that vLLM printed."""


def paste(name: str) -> list[bytes]:
    return [(PASTES / f"{name}.txt").read_bytes()]


@cache
def diagnosed(name: str) -> Report:
    return pipeline.diagnose(read_lines(paste(name)))


def read(name: str) -> Reading:
    return scan(read_lines(paste(name)), index=make_index(()), parsers=load_parsers())


def told(name: str) -> str:
    reading = read(name)
    lines = [
        f"{reading.where[fact.path]:4} {fact.path} = {fact.value if fact.is_known else fact.state}"
        for fact in reading.snapshot
    ]
    return "\n".join([f"== {name}: {', '.join(reading.kinds) or 'nothing'}", *lines, ""])


def test_every_specimen_gives_its_facts() -> None:
    names = sorted({*HEALTHY, *FAULTS, *RUNS})
    text = "\n".join(map(told, names))
    if os.environ.get(UPDATE):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), f"{UPDATE}=1 accepts what differs"


@pytest.mark.parametrize("name", [*HEALTHY, *RUNS])
def test_no_error_is_found_that_is_not_there(name: str) -> None:
    report = diagnosed(name)
    assert [item.title for item in report.findings if item.severity == "error"] == []
    assert report.exit_code == (3 if name == "nvcc_version" else 0)


@pytest.mark.parametrize(("name", "cause"), FAULTS.items())
def test_what_failed_gets_its_cause(name: str, cause: str) -> None:
    report = diagnosed(name)
    assert (report.exit_code, report.findings[0].cause) == (1, cause)
    assert report.findings[0].evidence[0].line is not None


@pytest.mark.parametrize(("name", "tokens"), RUNS.items())
def test_a_recorded_run_tells_its_engine(name: str, tokens: int) -> None:
    facts = diagnosed(name).snapshot
    assert facts.value("vllm.version") == "0.25.1"
    assert facts.value("engine.attention_backend") == "FLASH_ATTN"
    assert facts.value("engine.fa_version") == 3
    assert facts.value("engine.kv_tokens") == tokens
