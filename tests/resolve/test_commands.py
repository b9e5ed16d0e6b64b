from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from flashdoctor.model.plan import Plan
from flashdoctor.resolve.commands import commands, fa4_requirement, packages, partial_commands

Planned = Callable[..., Plan]
INDEX = "https://download.pytorch.org/whl"
OLD_DRIVER = ("gpu=RTX 4090", "driver=550")


def test_the_default_variant_needs_no_index(planned: Planned) -> None:
    plan = planned("vllm", *OLD_DRIVER)
    assert list(commands(plan, "pip")) == [
        "pip install torch==2.10.0 vllm==0.19.1 transformers==4.56.2"
    ]
    assert next(commands(plan, "uv")).startswith("uv pip install torch==2.10.0 ")


def test_another_variant_names_its_index(planned: Planned) -> None:
    plan = planned("vllm==0.9.2", "gpu=RTX 5090", "driver=570")
    packages_of_plan = "torch==2.7.0+cu128 vllm==0.9.2 transformers==4.51.3"
    assert list(commands(plan, "pip")) == [
        f"pip install {packages_of_plan} --extra-index-url {INDEX}/cu128"
    ]
    assert list(commands(plan, "uv")) == [
        "uv pip install torch==2.7.0 vllm==0.9.2 transformers==4.51.3 --torch-backend=cu128"
    ]


def test_torch_alone_comes_from_its_index_only(planned: Planned) -> None:
    plan = planned("transformers", "gpu=Tesla V100-SXM2-16GB", "driver=550")
    assert list(commands(plan, "pip")) == [
        f"pip install torch==2.15.0+cu126 triton==3.9.0 --index-url {INDEX}/cu126",
        "pip install transformers==5.24.0",
    ]


def test_an_installed_build_of_another_cuda_is_replaced(planned: Planned) -> None:
    plan = planned("flash-attn", *OLD_DRIVER, "torch=2.8.0+cpu")
    assert "torch==2.8.0+cu128 --index-url" in next(commands(plan, "pip"))


def test_a_wheel_is_installed_by_its_address(planned: Planned) -> None:
    last = list(commands(planned("flash-attn", *OLD_DRIVER), "pip"))[-1]
    assert last == (
        "pip install https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3.post1/"
        "flash_attn-2.8.3.post1+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
    )


def test_a_build_says_how(planned: Planned) -> None:
    plan = planned("flash-attn", "gpu=H100", "driver=580", "python=3.14")
    tools, build = list(commands(plan, "pip"))[-2:]
    assert tools == "pip install packaging psutil ninja wheel setuptools"
    assert build.startswith("MAX_JOBS=2 NVCC_THREADS=2 FLASH_ATTN_CUDA_ARCHS=90 ")
    assert build.endswith("pip install --no-build-isolation --no-cache-dir flash-attn==2.8.3.post2")
    by_uv = list(commands(plan, "uv"))[-1]
    assert "uv pip install --no-build-isolation --no-cache flash-attn" in by_uv


def test_a_build_on_windows_sets_variables_as_powershell_does(planned: Planned) -> None:
    plan = planned("flash-attn", "gpu=RTX 4090", "driver=580", "platform=win_amd64")
    assert '$env:MAX_JOBS = "2"' in list(commands(plan, "pip"))


def test_fa3_by_wheel_and_by_build(planned: Planned) -> None:
    wheel = planned("fa3", "gpu=H100", "driver=580")
    assert list(commands(wheel, "pip"))[-1] == (
        "pip install flash-attn-3==3.0.0 --index-url https://download.pytorch.org/whl/cu130"
    )
    built = planned("fa3", "gpu=GH200 480GB", "driver=580", "platform=linux_aarch64")
    lines = list(commands(built, "pip"))
    assert "git clone --recursive https://github.com/Dao-AILab/flash-attention" in lines
    assert lines[-1].endswith("./flash-attention/hopper")


@pytest.mark.parametrize(
    ("driver", "requirement"),
    [("580", "flash-attn-4[cu13]==4.0.0b36"), ("575", "flash-attn-4==4.0.0b36")],
)
def test_fa4_takes_the_extra_of_cuda_13(planned: Planned, driver: str, requirement: str) -> None:
    plan = planned("fa4", "gpu=B200", f"driver={driver}")
    assert fa4_requirement(plan) == requirement
    quoted = f"'{requirement}'" if "[" in requirement else requirement
    assert list(commands(plan, "pip"))[-1] == f"pip install {quoted}"


def test_old_torch_keeps_numpy_1(planned: Planned) -> None:
    plan = planned("torch==2.1.2", "gpu=A100", "driver=525.60.13", "python=3.10")
    assert packages(plan) == ["numpy<2"]
    assert "'numpy<2'" in " ".join(commands(plan, "pip"))


def test_what_is_in_the_way_goes_first(planned: Planned) -> None:
    plan = planned("vllm", *OLD_DRIVER)
    assert next(commands(plan, "pip", ("flash-attn",))) == "pip uninstall -y flash-attn"
    assert next(commands(plan, "uv", ("flash-attn",))) == "uv pip uninstall flash-attn"


def test_a_kept_vendor_build_is_left_alone(planned: Planned) -> None:
    plan = planned(
        "transformers",
        "gpu=H100",
        "driver=580",
        "torch=2.8.0a0+nv25.6",
        "torch_cuda=12.9",
        "cxx11_abi=true",
        "torch.arch_list=sm_90",
        keep=("torch",),
    )
    assert list(commands(plan, "pip")) == ["pip install transformers==5.24.0"]


def test_only_what_changes_is_installed(planned: Planned) -> None:
    plan = planned("flash-attn transformers", *OLD_DRIVER)
    wheel = list(commands(plan, "pip"))[-1]
    both = frozenset({"flash-attn", "transformers"})
    assert list(partial_commands(plan, "pip", ("flash-attn",), both)) == [
        "pip uninstall -y flash-attn",
        f"pip install transformers=={plan.transformers}",
        wheel,
    ]
    whole = list(partial_commands(plan, "uv", (), frozenset({"torch"}), ("torchvision",)))
    assert whole[0] == (
        f"uv pip install --upgrade torch==2.8.0 torchvision transformers=={plan.transformers}"
    )


def test_a_flash_attn_without_an_address_looks_for_its_wheel(planned: Planned) -> None:
    plan = replace(planned("flash-attn", *OLD_DRIVER), flash_attn_url=None, flash_attn_wheel=None)
    assert list(partial_commands(plan, "pip", (), frozenset({"flash-attn"}))) == [
        "pip install packaging psutil ninja wheel setuptools",
        f"pip install --no-build-isolation --no-cache-dir flash-attn=={plan.flash_attn}",
    ]


def test_flash_attn_4_comes_after_the_flash_attn_that_would_write_over_it(
    planned: Planned,
) -> None:
    for python in ("python=3.12", "python=3.14"):
        plan = planned("flash-attn fa4", "gpu=H100", "driver=580", python)
        lines = list(commands(plan, "pip"))
        assert "flash-attn-4" in lines[-1]
        assert "flash_attn-2" in lines[-2] or "flash-attn==2" in lines[-2]
