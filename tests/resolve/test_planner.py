from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor import pipeline, planning
from flashdoctor.model.plan import Plan, Resolution

Planned = Callable[..., Plan]
PlanFor = Callable[..., Resolution]


def reasons(resolution: Resolution) -> str:
    return " | ".join(f"{item.candidate}: {item.reason}" for item in resolution.rejected)


def obstacles(resolution: Resolution) -> str:
    assert resolution.plan is None
    assert resolution.exit_code == 1
    assert not resolution.commands
    return " | ".join(f"{item.candidate}: {item.reason}" for item in resolution.obstacles)


def test_a_driver_of_cuda_12_gets_the_last_vllm_of_cuda_12(plan_for: PlanFor) -> None:
    found = plan_for("vllm", "gpu=RTX 4090", "driver=535")
    assert found.plan is not None
    assert (found.plan.vllm, found.plan.torch_version) == ("0.19.1", "2.10.0+cu128")
    assert "vllm 0.20.2 to 0.33.0: its wheel is built with CUDA 13" in reasons(found)
    assert any("not needed" in line for line in found.why)
    assert found.plan.flash_attn is None


def test_a_newer_driver_gets_the_newest_vllm(planned: Planned) -> None:
    plan = planned("vllm", "gpu=RTX 4090", "driver=580")
    assert (plan.vllm, plan.torch, plan.torch_index) == ("0.33.0", "2.14.0", "cu130")


def test_volta_gets_a_vllm_that_still_carries_its_code(plan_for: PlanFor) -> None:
    found = plan_for("vllm", "gpu=Tesla V100-SXM2-16GB", "driver=550")
    assert found.plan is not None
    assert found.plan.vllm == "0.19.1"
    assert "starts at compute capability 7.5" in reasons(found)


def test_volta_gets_a_torch_with_its_code(planned: Planned) -> None:
    plan = planned("torch", "gpu=Tesla V100-SXM2-16GB", "driver=580")
    assert (plan.torch, plan.torch_index) == ("2.15.0", "cu126")
    assert not plan.torch_is_default


def test_an_old_glibc_gets_no_wheel_that_needs_a_newer_one(plan_for: PlanFor) -> None:
    found = plan_for("flash-attn", "gpu=RTX 3090", "driver=550", "os=Ubuntu 20.04", "glibc=2.31")
    assert found.plan is not None
    assert found.plan.flash_attn == "2.7.4.post1"
    assert "its wheels need glibc 2.32, this system has 2.31" in reasons(found)


def test_fa3_on_ampere_has_no_plan(plan_for: PlanFor) -> None:
    found = plan_for("fa3", "gpu=A100", "driver=580")
    assert "made for Hopper (9.0), this GPU has compute capability 8.0" in obstacles(found)
    assert found.obstacles[0].helps == "--want flash-attn"


def test_blackwell_gets_wheels_with_its_code(planned: Planned) -> None:
    plan = planned("flash-attn", "gpu=RTX 5090", "driver=580")
    assert plan.torch_version == "2.8.0+cu128"
    assert plan.flash_attn_wheel is not None
    assert plan.flash_attn_wheel.startswith("flash_attn-2.8.3.post1+cu12torch2.8cxx11abiTRUE-cp312")
    assert plan.flash_attn_url is not None
    assert plan.flash_attn_url.endswith(f"/v2.8.3.post1/{plan.flash_attn_wheel}")
    assert not plan.builds


def test_a_build_is_avoided_even_for_an_older_vllm(plan_for: PlanFor) -> None:
    found = plan_for("vllm flash-attn", "gpu=H100", "driver=580")
    assert found.plan is not None
    assert (found.plan.vllm, found.plan.flash_attn, found.plan.builds) == (
        "0.10.2",
        "2.8.3.post1",
        (),
    )
    assert "vllm 0.11.2 to 0.33.0: flash-attn would have to be compiled" in reasons(found)
    assert any("not needed" in note for note in found.notes)


def test_an_exact_vllm_makes_flash_attn_a_build(planned: Planned) -> None:
    plan = planned("vllm==0.33.0 flash-attn", "gpu=H100", "driver=580", "cuda_toolkit=13.0")
    assert [build.package for build in plan.builds] == ["flash-attn"]
    assert plan.builds[0].has_toolkit
    assert plan.torch_version == "2.14.0+cu130"


def test_an_exact_patch_release_that_is_no_row_of_the_table(planned: Planned) -> None:
    plan = planned("vllm==0.11.0", "gpu=RTX 4090", "driver=550")
    assert (plan.vllm, plan.torch) == ("0.11.0", "2.8.0")


def test_arm_gets_a_build_and_wheels_of_its_own(planned: Planned) -> None:
    gpu = ("gpu=GB200", "driver=580", "platform=linux_aarch64")
    plan = planned("flash-attn", *gpu)
    assert plan.builds[0].environment["FLASH_ATTN_CUDA_ARCHS"] == "100"
    assert planned("vllm", *gpu).vllm == "0.33.0"
    older = planned("vllm", "gpu=GH200 480GB", "driver=550", "platform=linux_aarch64")
    assert (older.vllm, older.torch_is_default) == ("0.19.1", False)


def test_windows_runs_transformers_but_no_vllm(plan_for: PlanFor) -> None:
    machine = ("gpu=RTX 4090", "driver=560", "platform=win_amd64")
    found = plan_for("transformers", *machine)
    assert found.plan is not None
    assert not found.plan.torch_is_default
    assert any("WSL 2" in note for note in found.notes)
    assert "vLLM has no build for Windows" in obstacles(plan_for("vllm", *machine))
    assert "WSL 2" in plan_for("vllm", *machine).obstacles[0].helps


def test_wsl_is_judged_by_the_driver_of_windows(plan_for: PlanFor, planned: Planned) -> None:
    assert planned("vllm", "gpu=RTX 4090", "driver=528.49", "wsl=2").vllm == "0.19.1"
    found = plan_for("vllm", "gpu=RTX 4090", "driver=528.24", "wsl=2")
    assert "528.33" in obstacles(found)
    assert "FD108" in obstacles(plan_for("vllm", "gpu=RTX 4090", "driver=528.49", "wsl=1"))


@pytest.mark.parametrize(
    ("want", "machine", "word"),
    [
        ("flash-attn", ("gpu=Tesla T4", "driver=580"), "compute capability 8.0 or newer"),
        ("fa4", ("gpu=Tesla T4", "driver=580"), "starts at 8.0"),
        ("fa3", ("gpu=B200", "driver=580"), "made for Hopper"),
        ("fa4", ("gpu=B200", "driver=580", "python=3.9"), "takes Python >=3.10"),
        ("vllm", ("gpu=RTX 5090", "driver=535"), "older than this GPU"),
        ("vllm", ("gpu=Orin", "platform=linux_aarch64"), "Jetson"),
        ("vllm", ("gpu=AMD Instinct MI300X",), "NVIDIA GPUs only"),
        ("vllm", ("driver=580",), "no compute capability is known"),
        ("vllm", ("gpu=A100", "driver=450.80.02"), "needs driver 525.60.13"),
        ("torch", ("gpu=H100", "driver=580", "python=3.6"), "no wheel for Python 3.6"),
        ("vllm==0.33.0", ("gpu=H100", "driver=550"), "CUDA 13"),
    ],
)
def test_what_stands_in_the_way_is_named(
    plan_for: PlanFor, want: str, machine: tuple[str, ...], word: str
) -> None:
    assert word in obstacles(plan_for(want, *machine))


def test_the_installed_torch_stays_where_it_fits(planned: Planned) -> None:
    machine = ("gpu=RTX 4090", "driver=550")
    assert planned("flash-attn", *machine).torch == "2.8.0"
    assert planned("flash-attn", *machine, "torch=2.7.1+cu126").torch_version == "2.7.1+cu126"
    assert planned("flash-attn", *machine, "torch=2.9.1+cu128").torch == "2.8.0"


def test_keep_torch_plans_around_it(planned: Planned, plan_for: PlanFor) -> None:
    machine = ("gpu=RTX 4090", "driver=580")
    kept = planned("flash-attn", *machine, "torch=2.9.1+cu128", keep=("torch",))
    assert (kept.torch_version, len(kept.builds)) == ("2.9.1+cu128", 1)
    held = plan_for("vllm", *machine, "torch=2.8.0+cu128", keep=("torch",))
    assert (held.plan and held.plan.vllm) == "0.10.2"
    assert all(item.reason.endswith("torch 2.8.0+cu128 is kept") for item in held.rejected)
    assert "no torch is installed" in obstacles(plan_for("vllm", *machine, keep=("torch",)))
    cpu = plan_for("vllm", *machine, "torch=2.8.0+cpu", keep=("torch",))
    assert "not a CUDA build" in obstacles(cpu)


def test_keep_torch_of_a_vendor_builds_against_it(planned: Planned, plan_for: PlanFor) -> None:
    vendor = (
        "gpu=H100",
        "driver=580",
        "torch=2.8.0a0+5228986c39.nv25.6",
        "torch_cuda=12.9",
        "cxx11_abi=true",
    )
    arch = "torch.arch_list=sm_80,sm_90"
    plan = planned("flash-attn", *vendor, arch, keep=("torch",))
    assert plan.torch == "2.8.0a0+5228986c39.nv25.6"
    assert (plan.torch_index, plan.flash_attn_wheel, len(plan.builds)) == (None, None, 1)
    assert "is not known" in obstacles(plan_for("flash-attn", *vendor, keep=("torch",)))


def test_keep_of_another_package_holds_its_release(planned: Planned, plan_for: PlanFor) -> None:
    machine = ("gpu=H100", "driver=580", "transformers=4.57.6")
    plan = planned("vllm transformers", *machine, keep=("transformers",))
    assert (plan.transformers, plan.vllm) == ("4.57.6", "0.23.0")
    bare = plan_for("vllm", "gpu=H100", "driver=580", keep=("vllm",))
    assert "no vllm is installed" in obstacles(bare)


def test_what_is_kept_stays_though_nobody_wants_it(planned: Planned) -> None:
    machine = ("gpu=A10", "driver=580", "transformers=4.57.1")
    assert planned("vllm", *machine, keep=("transformers",)).transformers == "4.57.1"
    assert planned("transformers", *machine, keep=("transformers",)).transformers == "4.57.1"
    vllm = ("gpu=A10", "driver=580", "vllm=0.10.0", "torch=2.7.1+cu126")
    plan = planned("flash-attn", *vllm, keep=("vllm",))
    assert (plan.vllm, plan.torch) == ("0.10.0", "2.7.1")


def test_without_a_wish_what_is_installed_is_planned(plan_for: PlanFor) -> None:
    assert plan_for("", "gpu=H100", "driver=580").wants == ("flash-attn",)
    found = plan_for("", "gpu=H100", "driver=580", "vllm=0.9.2", "transformers=4.51.3")
    assert found.wants == ("vllm", "transformers")


def test_what_was_not_stated_is_said(plan_for: PlanFor) -> None:
    found = planning.resolve(pipeline.assume(["gpu=H100"]), wants=["flash-attn"])
    assert found.plan is not None
    assert not found.plan.python_is_stated
    text = " ".join(found.notes)
    for word in ("No Python", "No driver", "No glibc"):
        assert word in text
    assert "No Python" not in " ".join(plan_for("flash-attn", "gpu=H100", "driver=580").notes)
