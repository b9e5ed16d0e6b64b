from __future__ import annotations

from typing import Any

CHECK = "vllm-on-windows"


def test_somebody_s_own_build_is_a_warning(ask: Any) -> None:
    facts = {"vllm.version": "0.10.2", "os.platform": "win_amd64"}
    assert ask(CHECK, facts).severity is None
    built = {**facts, "vllm.extension": "vllm/_C.pyd"}
    assert ask(CHECK, built).severity == "warning"
