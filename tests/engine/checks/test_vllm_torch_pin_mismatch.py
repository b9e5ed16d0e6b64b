from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "vllm-torch-pin-mismatch"
PINNED = {"vllm.version": "0.10.2", "torch.version": "2.9.0"}


def test_the_pin_is_what_the_fix_installs(ask: Any) -> None:
    judgement = ask(CHECK, PINNED)
    assert judgement.detail == "vLLM 0.10.2 asks for torch==2.8.0, torch 2.9.0 is installed."
    assert judgement.values == {"advice.torch": "2.8.0"}
    assert judgement.severity is None


def test_a_build_that_loads_is_only_out_of_its_pin(ask: Any) -> None:
    assert ask(CHECK, {**PINNED, "vllm.missing_symbols": []}).severity == "warning"
    imports = [{"module": "vllm._C", "status": "ok"}]
    proven = {**PINNED, "live.status": "ok", "live.imports": imports}
    assert ask(CHECK, proven).severity == "warning"


def test_a_build_that_loads_needs_no_pin(ask: Any) -> None:
    built = {"vllm.version": "0.40.0", "torch.version": "2.9.0"}
    with pytest.raises(MissingFactError):
        ask(CHECK, built)
    assert ask(CHECK, {**built, "vllm.missing_symbols": []}).outcome == "pass"


def test_missing_symbols_count_though_the_pin_holds(ask: Any) -> None:
    facts = {
        "vllm.version": "0.10.2",
        "torch.version": "2.8.0+cu128",
        "vllm.missing_symbols": ["_ZN3c104cuda9SetDeviceEa"],
    }
    assert ask(CHECK, facts).detail == (
        "vLLM 0.10.2 needs c10::cuda::SetDevice, which this torch does not have."
    )


def test_a_pin_that_was_read_from_metadata_may_be_a_range(ask: Any) -> None:
    facts = {**PINNED, "vllm.torch_pin": ">=2.8,<2.10"}
    assert ask(CHECK, facts).outcome == "pass"
    facts = {**PINNED, "vllm.torch_pin": ">=2.10"}
    assert ask(CHECK, facts).values == {}
