from __future__ import annotations

from typing import Any

CHECK = "nvcc-missing"


def test_a_build_without_a_compiler_is_an_error(ask: Any) -> None:
    facts = {"torch.version": "2.12.0", "flash_attn.version": None, "toolkit.version": None}
    judgement = ask(CHECK, facts, "flash-attn")
    assert (judgement.outcome, judgement.severity) == ("fail", None)


def test_packages_that_compile_while_they_run_are_a_warning(ask: Any) -> None:
    facts = {
        "vllm.version": "0.21.0",
        "flashinfer.version": "0.6.8.post1",
        "flashinfer_cubin.version": None,
        "gptqmodel.version": "7.7.0",
        "toolkit.version": None,
    }
    judgement = ask(CHECK, facts)
    assert judgement.severity == "warning"
    assert judgement.evidence == ("toolkit.version", "flashinfer.version", "gptqmodel.version")
    assert "vLLM 0.21.0 samples with FlashInfer" in judgement.detail
    assert ask(CHECK, {**facts, "toolkit.version": "13.0"}).outcome == "pass"


def test_older_releases_compile_nothing(ask: Any) -> None:
    facts = {
        "vllm.version": "0.19.1",
        "flashinfer.version": "0.6.6",
        "flashinfer_cubin.version": None,
        "gptqmodel.version": "5.0.0",
        "toolkit.version": None,
    }
    assert ask(CHECK, facts).outcome == "pass"
