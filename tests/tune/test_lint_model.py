"""Which rules on models speak of a launch, and where: the flag, its line."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from flashdoctor import planning
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.model.lint import LintFinding
from flashdoctor.model_folder import read_model

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"


def found(launch: str, gpu: str, vllm: str, model: str = "") -> dict[str, LintFinding]:
    facts = read_assumptions([f"gpu={gpu}", f"vllm={vllm}"])
    read = read_model(str(MODELS / model)) if model else None
    report = planning.lint(launch, facts=facts, model=read)
    return {item.finding.id: item for item in report.findings}


@pytest.mark.parametrize(
    ("gpu", "vllm", "model", "ids"),
    [
        ("Tesla V100-SXM2-32GB", "0.12.0", "llama3.1-8b-fp8", {"FD648", "FD649"}),
        ("Tesla T4", "0.12.0", "llama3.1-8b-fp8", {"FD648", "FD649"}),
        ("Tesla T4", "0.25.1", "llama3.1-8b-fp8", {"FD648", "FD654"}),
        ("NVIDIA A10G", "0.12.0", "llama3.1-8b-fp8", {"FD654"}),
        ("NVIDIA H200", "0.25.1", "llama3.1-8b-fp8", set()),
        ("Tesla V100-SXM2-32GB", "0.25.1", "qwen2.5-7b-awq", {"FD649"}),
        ("Tesla T4", "0.25.1", "qwen2.5-7b-awq", set()),
        ("Tesla T4", "0.25.1", "gpt-oss-20b", {"FD649"}),
    ],
)
def test_what_a_gpu_makes_of_a_quantised_model(
    gpu: str, vllm: str, model: str, ids: set[str]
) -> None:
    items = found("vllm serve x --max-model-len 2048", gpu, vllm, model)
    assert {name for name in items if name.startswith(("FD64", "FD65"))} == ids


def test_without_a_model_its_flag_says_how_it_is_quantised() -> None:
    launch = "vllm serve x \\\n  --quantization fp8"
    items = found(launch, "Tesla V100-SXM2-32GB", "0.12.0")
    assert (items["FD649"].flag, items["FD649"].line) == ("--quantization", 2)
    assert "fp8 needs 8.0 in vLLM 0.12.0" in items["FD649"].finding.detail
    assert found(launch, "NVIDIA A10G", "0.12.0")["FD654"].finding.severity == "info"
    assert found("vllm serve x", "Tesla T4", "0.12.0") == {}
    assert found("vllm serve x --quantization $Q", "Tesla T4", "0.12.0") == {}


def test_a_dtype_that_the_method_does_not_take() -> None:
    items = found("vllm serve x --dtype half", "NVIDIA H200", "0.12.0", "gpt-oss-20b")
    assert items["FD656"].flag == "--dtype"
    assert "--dtype bfloat16" in items["FD656"].finding.fix.text
    assert found("vllm serve x", "NVIDIA H200", "0.12.0", "gpt-oss-20b") == {}


def test_a_flag_answers_the_question_of_a_rule() -> None:
    half = found("vllm serve x --dtype half --max-model-len 2048", "Tesla T4", "0.25.1",
                 "qwen2.5-7b-awq")  # fmt: skip
    assert "FD648" not in half


def test_heads_that_do_not_divide_are_said_once() -> None:
    items = found("vllm serve x -tp 3", "NVIDIA H200", "0.25.1", "qwen2.5-7b")
    assert set(items) == {"FD652"}
    assert items["FD652"].flag == "--tensor-parallel-size"


def test_a_tokenizer_from_elsewhere_is_no_fault(tmp_path: Path) -> None:
    config = (MODELS / "qwen2.5-0.5b" / "config.json").read_text(encoding="utf-8")
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    facts: Any = read_assumptions(["gpu=NVIDIA H200", "vllm=0.25.1"])
    model = read_model(str(tmp_path))

    def ids(launch: str) -> set[str]:
        report = planning.lint(launch, facts=facts, model=model)
        return {item.finding.id for item in report.findings}

    assert "FD647" in ids("vllm serve x")
    assert "FD647" not in ids("vllm serve x --tokenizer other")
    assert "FD647" not in ids("vllm serve x --skip-tokenizer-init")


@pytest.mark.parametrize(
    "launch",
    [
        "vllm serve {model}",
        "vllm serve --model {model}",
        "python -m vllm.entrypoints.openai.api_server --model={model}",
        "docker run --gpus all vllm/vllm-openai:v0.25.1 --model {model}",
    ],
)
def test_a_folder_that_the_launch_names_is_read(launch: str) -> None:
    items = found(launch.format(model=MODELS / "llama3.1-8b"), "RTX 4060", "0.25.1")
    assert "does not fit on RTX 4060" in items["FD763"].finding.title
    assert found(launch.format(model=MODELS / "llama3.1-8b"), "NVIDIA H200", "0.25.1") == {}


@pytest.mark.parametrize("config", ["", "{", "[]", "{}"])
def test_a_folder_that_cannot_be_read_is_no_one_s_fault(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    assert found(f"vllm serve {tmp_path}", "RTX 4060", "0.25.1") == {}
