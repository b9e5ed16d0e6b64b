from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.flash_wheels import best_release, must_compile, wheel_advice
from flashdoctor.engine.view import MissingFactError

HOME = "https://github.com/Dao-AILab/flash-attention/releases/download"
MACHINE = {"python.version": "3.12", "os.platform": "linux_x86_64"}


@pytest.mark.parametrize(
    ("torch", "wheel"),
    [
        ("2.8.0+cu128", "v2.8.3.post1/flash_attn-2.8.3.post1+cu12torch2.8cxx11abiTRUE"),
        ("2.6.0+cu126", "v2.8.3.post1/flash_attn-2.8.3.post1+cu12torch2.6cxx11abiTRUE"),
        ("2.6.0+cu124", "v2.7.4.post1/flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE"),
        ("2.3.1+cu118", "v2.7.3/flash_attn-2.7.3+cu11torch2.3cxx11abiFALSE"),
        ("2.3.1+cu121", "v2.7.4.post1/flash_attn-2.7.4.post1+cu12torch2.3cxx11abiFALSE"),
    ],
)
def test_the_newest_wheel_for_torch_and_its_abi_is_advised(
    look: Any, torch: str, wheel: str
) -> None:
    advice = wheel_advice(look({**MACHINE, "torch.version": torch}))
    assert advice == {"advice.wheel": f"{HOME}/{wheel}-cp312-cp312-linux_x86_64.whl"}


def test_an_old_glibc_gets_the_last_wheel_that_was_built_on_an_old_system(look: Any) -> None:
    row = best_release(look({**MACHINE, "torch.version": "2.6.0+cu126", "os.glibc": "2.31"}))
    assert row is not None
    assert row["version"] == "2.7.4.post1"


def test_a_blackwell_gpu_gets_no_wheel_without_its_code(look: Any) -> None:
    facts = {**MACHINE, "gpu.name": "NVIDIA GeForce RTX 5090", "torch.version": "2.3.1+cu121"}
    assert best_release(look(facts)) is None


def test_a_combination_that_the_build_matrix_leaves_out_has_no_wheel(look: Any) -> None:
    facts = {**MACHINE, "torch.version": "2.4.1+cu124"}
    newest = best_release(look(facts))
    narrower = best_release(look({**facts, "python.version": "3.13"}))
    assert newest is not None
    assert newest["version"] == "2.8.3.post1"
    assert narrower is None


def test_without_a_certain_name_pip_gets_a_version(look: Any) -> None:
    assert wheel_advice(look({"torch.version": "2.8.0+cu128"})) == {
        "advice.flash_attn": "2.8.3.post1"
    }
    assert wheel_advice(look({**MACHINE, "torch.version": "2.12.0"})) == {
        "advice.flash_attn": "2.8.3.post2"
    }
    assert wheel_advice(look({})) == {}


def test_nothing_is_compiled_that_nobody_asked_for(look: Any) -> None:
    facts = {"flash_attn.version": None, "torch.version": "2.12.0"}
    assert must_compile(look(facts, "flash-attn"))
    assert not must_compile(look(facts))
    assert not must_compile(look({**facts, "flash_attn.version": "2.8.3"}, "flash-attn"))
    assert not must_compile(look({**facts, "torch.version": "2.8.0"}, "flash-attn"))
    with pytest.raises(MissingFactError):
        must_compile(look({"torch.version": "2.12.0"}, "flash-attn"))


def test_an_old_gpu_is_no_reason_to_compile(look: Any) -> None:
    facts = {"flash_attn.version": None, "torch.version": "2.8.0", "gpu.name": "Tesla T4"}
    assert not must_compile(look(facts, "flash-attn"))
