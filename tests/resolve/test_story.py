from __future__ import annotations

from collections.abc import Callable

from flashdoctor.model.plan import Resolution

PlanFor = Callable[..., Resolution]


def test_code_that_serves_a_gpu_is_named(plan_for: PlanFor) -> None:
    assert "sm_86 code, which serves sm_89" in " ".join(
        plan_for("torch", "gpu=RTX 4090", "driver=580").why
    )
    assert "carries sm_90 code" in " ".join(plan_for("torch", "gpu=H100", "driver=580").why)


def test_the_driver_of_windows_is_named_in_wsl(plan_for: PlanFor) -> None:
    text = " ".join(plan_for("torch==2.8.0", "gpu=RTX 4090", "driver=560", "wsl=2").why)
    assert "runs from driver 528.33 on" in text


def test_a_want_says_whether_it_was_the_newest_or_asked_for(plan_for: PlanFor) -> None:
    machine = ("gpu=H100", "driver=580")
    assert plan_for("vllm<0.20", *machine).why[0] == (
        "vllm 0.19.1 is the newest release within <0.20 whose wheel runs on this machine."
    )
    assert plan_for("vllm==0.19.1", *machine).why[0] == (
        "vllm 0.19.1 is the release that was asked for."
    )


def test_a_build_says_what_it_needs(plan_for: PlanFor) -> None:
    machine = ("gpu=H100", "driver=580", "python=3.14")
    text = " ".join(plan_for("flash-attn", *machine).notes)
    assert "nvcc of CUDA 13.2, which has to be installed first" in text
    assert "the memory is not known" in text
    known = (*machine, "os.memory_mib=65536", "os.cpu_count=32", "cuda_toolkit=13.0")
    text = " ".join(plan_for("flash-attn", *known).notes)
    assert "nvcc of CUDA 13.0, which is here; MAX_JOBS=14" in text
    wsl = plan_for("flash-attn", *known, "wsl=2")
    assert ".wslconfig" in " ".join(wsl.notes)


def test_an_installed_flash_attn_of_another_torch_goes(plan_for: PlanFor) -> None:
    wheel = "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
    machine = ("gpu=H100", "driver=580", "torch=2.8.0+cu128", f"flash_attn={wheel}")
    found = plan_for("vllm", *machine)
    assert found.commands[0] == "pip uninstall -y flash-attn"
    assert "--want flash-attn keeps it" in " ".join(found.notes)
    kept = plan_for("vllm==0.10.2", *machine)
    assert "uninstall" not in " ".join(kept.commands)


def test_a_planned_flash_attn_replaces_the_installed_one(plan_for: PlanFor) -> None:
    wheel = "flash_attn-{}+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
    machine = ("gpu=H100", "driver=580", "torch=2.8.0+cu128")
    old = plan_for("flash-attn", *machine, f"flash_attn={wheel.format('2.8.3')}")
    assert old.commands[0] == "pip uninstall -y flash-attn"
    same = plan_for("flash-attn", *machine, f"flash_attn={wheel.format('2.8.3.post1')}")
    assert "uninstall" not in " ".join(same.commands)


def test_an_installed_vllm_that_breaks_is_named(plan_for: PlanFor) -> None:
    facts = ("gpu=H100", "driver=580", "torch=2.9.1+cu128", "vllm=0.16.0")
    found = plan_for("flash-attn", *facts)
    assert "The installed vllm 0.16.0 asks for torch==2.9.1" in " ".join(found.notes)


def test_wheels_outside_the_index_are_mentioned(plan_for: PlanFor) -> None:
    assert "+cu129 wheels" in " ".join(plan_for("vllm", "gpu=H100", "driver=550").notes)
    assert "+cu129" not in " ".join(plan_for("vllm", "gpu=H100", "driver=580").notes)


def test_an_older_transformers_than_the_newest_says_why(plan_for: PlanFor) -> None:
    def line(wants: str) -> str:
        found = plan_for(wants, "gpu=H100", "driver=580")
        return next(text for text in found.why if text.startswith("transformers"))

    assert line("vllm==0.19.1").endswith("--want transformers plans the newest.")
    assert "--want" not in line("vllm==0.19.1 transformers")
    assert "--want" not in line("vllm==0.33.0"), "its pin has an upper end"
