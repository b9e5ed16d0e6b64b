"""flash-attn, vLLM and what they bring along, in a target Python beside a healthy H200."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

FITS = "2.8.3+cu12torch2.7cxx11abiTRUE"
DEVICES = "_ZN3c104cuda12device_countEv"
LATER = "_ZNK3c106SymInt6sym_neERKS0_"
MODULES = ["flash_attn_2_cuda", "flash_attn"]


def fitting(target: Any) -> None:
    target.flash_attn(FITS)


def of_the_old_abi(target: Any) -> None:
    target.flash_attn("2.8.3+cu12torch2.7cxx11abiFALSE", abi=False)


def of_the_old_abi_under_another_name(target: Any) -> None:
    target.flash_attn(FITS, abi=False)


def for_a_later_torch(target: Any) -> None:
    target.flash_attn(FITS, wants=(DEVICES, LATER))


def for_another_python(target: Any) -> None:
    target.flash_attn(FITS)
    file = next(target.packages.glob("flash_attn_2_cuda*"))
    file.rename(file.with_name("flash_attn_2_cuda.cpython-38-x86_64-linux-gnu.so"))


def without_code_for_hopper(target: Any) -> None:
    target.flash_attn(FITS, targets=["sm_80"])


def not_compiled(target: Any) -> None:
    target.install("flash-attn", "2.8.3", files={"flash_attn/__init__.py": ""})


def left_over(target: Any) -> None:
    target.write("flash_attn/flash_attn_interface.py")


def missing(target: Any) -> None:
    assert not list(target.packages.glob("flash_attn*"))


ABI = ["cxx11-abi-mismatch", "flash-attn-abi-mismatch"]

# What stands in the target, whether it is imported as well, and all errors, the root cause first.
PACKAGES: list[tuple[Callable[[Any], None], str, list[str]]] = [
    (fitting, "off", []),
    (fitting, "auto", []),
    (of_the_old_abi, "off", ABI),
    (of_the_old_abi, "auto", [*ABI, "flash-attn-abi-mismatch"]),
    (of_the_old_abi_under_another_name, "off", ABI),
    (for_a_later_torch, "off", ["flash-attn-abi-mismatch"]),
    (for_another_python, "off", ["wheel-tag-mismatch"]),
    (for_another_python, "auto", ["wheel-tag-mismatch", "flash-attn-abi-mismatch"]),
    (without_code_for_hopper, "auto", ["flash-attn-arch-not-built"]),
    (not_compiled, "auto", ["flash-attn-extension-not-compiled"]),
    (left_over, "auto", ["flash-attn-leftover-package", "flash-attn-missing"]),
    (missing, "auto", ["flash-attn-missing"]),
]


@pytest.mark.parametrize(("install", "smoke", "errors"), PACKAGES)
def test_a_flash_attn(
    command: Any,
    rig: Any,
    target: Any,
    *,
    install: Callable[[Any], None],
    smoke: str,
    errors: list[str],
) -> None:
    install(target.torch())
    done = command.check("--require", "flash-attn", rig=rig("h200"), target=target, smoke=smoke)
    assert done.errors == errors
    # What is required has to be proven where attention may run, and a played torch proves nothing.
    fine = ("pass", 0) if smoke == "off" else ("undetermined", 3)
    assert (done.verdict, done.code) == (("fail", 1) if errors else fine)
    if errors:
        assert done.findings[0]["follows"] is None


def test_the_import_gives_the_words_of_the_real_loader(command: Any, rig: Any, target: Any) -> None:
    for_a_later_torch(target.torch())
    done = command.check(rig=rig("h200"), target=target, smoke="auto")
    records = done.value("live.imports")
    assert [record["module"] for record in records] == MODULES
    assert all(f"undefined symbol: {LATER}" in record["error"] for record in records)
    assert done.value("flash_attn.missing_symbols") == [LATER], "found without an import, too"


def test_a_wheel_whose_name_lies_is_told(command: Any, rig: Any, target: Any) -> None:
    of_the_old_abi_under_another_name(target.torch())
    done = command.check(rig=rig("h200"), target=target)
    assert done.value("flash_attn.wheel.cxx11_abi") is True
    assert done.value("flash_attn.abi_by_symbols") is False
    assert "flash-attn-wheel-tag-lies" in [item["name"] for item in done.findings]


def test_the_fix_names_a_wheel_for_this_torch_and_python(
    command: Any, rig: Any, target: Any
) -> None:
    of_the_old_abi(target.torch())
    done = command.check(rig=rig("h200"), target=target)
    text = " ".join(done.findings[0]["fix"]["commands"])
    tag = done.value("python.tag")
    assert "torch2.7" in text
    assert f"cxx11abiTRUE-{tag}-{tag}" in text


def test_a_5090_needs_a_flash_attn_with_its_code(command: Any, rig: Any, target: Any) -> None:
    target.torch("2.7.1+cu128", capability=(12, 0)).flash_attn(FITS, targets=["sm_80", "sm_90"])
    done = command.check(rig=rig("rtx5090"), target=target)
    assert (done.code, done.errors) == (1, ["flash-attn-arch-not-built"])


def test_a_library_of_torch_that_has_gone(command: Any, rig: Any, target: Any) -> None:
    shutil.rmtree(target.torch().packages / "nvidia/cuda_runtime/lib")
    done = command.check(rig=rig("h200"), target=target, smoke="auto")
    assert (done.code, done.errors) == (1, ["torch-library-missing", "torch-import-failed"])
    assert "libcudart.so.12" in done.value("live.error")


def test_an_nccl_that_torch_did_not_ask_for(command: Any, rig: Any, target: Any) -> None:
    shutil.rmtree(next(target.torch().packages.glob("nvidia_nccl*")))
    target.install("nvidia-nccl-cu12", "2.20.5")
    done = command.check(rig=rig("h200"), target=target)
    assert (done.code, done.errors) == (0, [])
    assert done.causes("warning") == ["nccl-library-conflict"]


# torch, transformers, symbols; the causes of errors and warnings where vLLM 0.10.2 is required.
VLLM: list[tuple[str, str, tuple[str, ...], list[str], list[str]]] = [
    ("2.8.0+cu128", "4.57.1", (DEVICES,), [], []),
    ("2.9.0+cu128", "4.57.1", (DEVICES,), [], ["vllm-torch-pin-mismatch"]),
    ("2.9.0+cu128", "4.57.1", (DEVICES, LATER), ["vllm-torch-pin-mismatch"],
     ["vllm-flash-attn-not-loadable"]),
    ("2.8.0+cu128", "4.40.0", (DEVICES,), ["transformers-too-old-for-model"], []),
    ("2.8.0+cu128", "5.0.0", (DEVICES,), ["transformers-too-new-for-vllm"], []),
]  # fmt: skip


@pytest.mark.parametrize(("torch", "transformers", "wants", "errors", "warnings"), VLLM)
def test_a_vllm(
    command: Any,
    rig: Any,
    target: Any,
    *,
    torch: str,
    transformers: str,
    wants: tuple[str, ...],
    errors: list[str],
    warnings: list[str],
) -> None:
    target.torch(torch).vllm(transformers=transformers, wants=wants)
    done = command.check("--require", "vllm", rig=rig("h200"), target=target, smoke="auto")
    assert (done.errors, done.causes("warning")) == (errors, warnings)
    assert done.code == (1 if errors else 3)  # nothing is proven by a played torch
    records = done.value("live.imports")
    assert [record["module"] for record in records] == [
        "vllm._C",
        "vllm.vllm_flash_attn._vllm_fa2_C",
        "vllm.vllm_flash_attn._vllm_fa3_C",
    ]
    assert {record["status"] for record in records} == {"error" if LATER in wants else "ok"}


def test_a_package_that_is_not_required_may_be_missing(command: Any, rig: Any, target: Any) -> None:
    target.torch()
    machine = rig("h200")
    assert command.check(rig=machine, target=target).code == 0
    for name in ("vllm", "fa3", "fa4", "transformers"):
        done = command.check("--require", name, rig=machine, target=target)
        assert (done.code, len(done.errors)) == (1, 1)


def test_a_folder_here_that_hides_a_package(command: Any, rig: Any, target: Any) -> None:
    target.torch().flash_attn(FITS)
    (command.work / "flash_attn").mkdir()
    (command.work / "flash_attn" / "__init__.py").touch()
    done = command.check("--require", "flash-attn", rig=rig("h200"), target=target)
    assert done.code == 1
    assert done.findings[0]["name"] == "flash-attn-shadowed"
    assert done.value("python.shadowed") == ["flash_attn"]


def test_a_second_check_says_the_same_until_a_file_changes(
    command: Any, rig: Any, target: Any
) -> None:
    target.torch().flash_attn(FITS)
    machine = rig("h200")
    runs = [command.check(rig=machine, target=target) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    for_a_later_torch(target)
    changed = command.check(rig=machine, target=target)
    assert changed.errors == ["flash-attn-abi-mismatch"], "a changed file is read anew"
