from __future__ import annotations

from collections.abc import Callable

import pytest
from packaging.requirements import Requirement

from flashdoctor import pipeline
from flashdoctor.errors import UsageError
from flashdoctor.model.plan import Plan
from flashdoctor.resolve.emit import emit

Planned = Callable[..., Plan]
TABLES = pipeline.tables()


def requirements(plan: Plan, installer: str = "pip") -> list[str]:
    text = emit(plan, "requirements", installer, TABLES)  # type: ignore[arg-type]
    return [line for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(
    ("want", "facts"),
    [
        ("vllm", ("gpu=RTX 4090", "driver=550")),
        ("flash-attn", ("gpu=RTX 5090", "driver=580")),
        ("fa4", ("gpu=B200", "driver=580")),
        ("torch==2.1.2", ("gpu=A100", "driver=525.60.13", "python=3.10")),
    ],
)
def test_every_line_is_a_requirement(planned: Planned, want: str, facts: tuple[str, ...]) -> None:
    plan = planned(want, *facts)
    lines = [line for line in requirements(plan) if not line.startswith("--")]
    names = {Requirement(line).name for line in lines}
    assert "torch" in names
    assert len(names) == len(lines)


def test_another_variant_adds_its_index(planned: Planned) -> None:
    plan = planned("vllm==0.9.2", "gpu=RTX 5090", "driver=570")
    index = "--extra-index-url https://download.pytorch.org/whl/cu128"
    assert requirements(plan)[:2] == [index, "torch==2.7.0+cu128"]
    assert requirements(plan, "uv")[0] == "torch==2.7.0"
    assert "--torch-backend=cu128" in emit(plan, "requirements", "uv", TABLES)


def test_a_build_stands_below_as_a_comment(planned: Planned) -> None:
    plan = planned("flash-attn", "gpu=H100", "driver=580", "python=3.14")
    text = emit(plan, "requirements", "pip", TABLES)
    assert "# MAX_JOBS=" in text
    assert not any(line.startswith("flash-attn") for line in text.splitlines())


def test_a_dockerfile_without_a_build_needs_no_toolkit(planned: Planned) -> None:
    text = emit(planned("vllm", "gpu=RTX 4090", "driver=550"), "dockerfile", "pip", TABLES)
    assert "FROM ubuntu:22.04" in text
    assert "RUN uv venv --python 3.12 /opt/venv" in text
    assert "RUN uv pip install torch==2.10.0 vllm==0.19.1" in text
    assert "nvidia/cuda" not in text


def test_a_dockerfile_with_a_build_brings_nvcc(planned: Planned) -> None:
    plan = planned("flash-attn", "gpu=H100", "driver=580", "python=3.14", "cuda_toolkit=13.0")
    text = emit(plan, "dockerfile", "pip", TABLES)
    assert "FROM nvidia/cuda:13.0.2-devel-ubuntu22.04" in text
    assert "--no-build-isolation" in text


def test_windows_has_no_dockerfile(planned: Planned) -> None:
    plan = planned("torch", "gpu=RTX 4090", "driver=580", "platform=win_amd64")
    with pytest.raises(UsageError, match="Windows itself"):
        emit(plan, "dockerfile", "pip", TABLES)


def test_no_requirements_file_says_which_of_two_comes_last(planned: Callable[..., Plan]) -> None:
    plan = planned("flash-attn fa4", "gpu=H100", "driver=580")
    lines = emit(plan, "requirements", "pip", pipeline.tables()).splitlines()
    assert lines[-1].startswith("# pip install ")
    assert "flash-attn-4" in lines[-1]
    alone = emit(planned("fa4", "gpu=H100", "driver=580"), "requirements", "pip", pipeline.tables())
    assert alone.splitlines()[-1].startswith("flash-attn-4")
