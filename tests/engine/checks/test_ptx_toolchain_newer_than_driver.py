from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.ptx_toolchain_newer_than_driver import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


FA2 = {"vllm.fa2.sass": ["sm_80"], "vllm.fa2.ptx": ["compute_80"], "vllm.version": "0.19.1"}


def test_machine_code_needs_no_compiler(look: Look) -> None:
    facts = {**FA2, "gpu.name": "A100", "driver.version": "525.60.13"}
    assert judge(look(facts)).outcome == "pass"


def test_a_bundled_kernel_that_only_ptx_serves_is_doubted(look: Look) -> None:
    facts = {**FA2, "gpu.name": "RTX 5090", "driver.version": "570.86.16"}
    judgement = judge(look(facts, "vllm"))
    assert (judgement.outcome, judgement.severity) == ("fail", "warning")
    assert "12.9" in judgement.detail
    newer = {**facts, "driver.version": "575.57.08"}
    assert judge(look(newer, "vllm")).outcome == "pass"


def test_torch_without_machine_code_is_an_error(look: Look) -> None:
    facts = {
        "gpu.compute_capability": "12.0",
        "driver.version": "570.86.16",
        "torch.version": "2.9.0a0+custom",
        "torch.cuda": "12.9",
        "torch.arch_list": ["sm_90", "compute_90"],
    }
    assert judge(look(facts)).severity == "error"
    with pytest.raises(MissingFactError):
        judge(look({**facts, "live.kernel_ran": True}))


def test_a_refused_launch_is_enough(look: Look) -> None:
    words = "CUDA error: the provided PTX was compiled with an unsupported toolchain."
    assert judge(look({"live.kernel_error": words})).outcome == "fail"
