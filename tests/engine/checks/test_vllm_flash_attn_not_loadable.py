from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "vllm-flash-attn-not-loadable"
AMPERE = {"gpu.compute_capability": "8.0", "vllm.version": "0.10.2"}


def test_a_failed_import_gives_its_words(ask: Any) -> None:
    name = "vllm.vllm_flash_attn._vllm_fa2_C"
    records = [{"module": name, "status": "error", "error": "undefined symbol: x"}]
    facts = {**AMPERE, "live.status": "ok", "live.imports": records}
    assert ask(CHECK, facts).detail == "undefined symbol: x"


def test_the_separate_package_is_asked_for_between_0_4_3_and_0_6_1(ask: Any) -> None:
    for version, outcome in (("0.4.2", "pass"), ("0.4.3", "fail"), ("0.6.1", "fail")):
        facts = {**AMPERE, "vllm.version": version, "vllm_flash_attn.version": None}
        assert ask(CHECK, facts).outcome == outcome


def test_other_systems_have_no_such_copy(ask: Any) -> None:
    facts = {**AMPERE, "os.system": "Darwin", "vllm.bundled": []}
    with pytest.raises(MissingFactError):
        ask(CHECK, facts)
