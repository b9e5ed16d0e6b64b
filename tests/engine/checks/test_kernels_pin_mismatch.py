from __future__ import annotations

from typing import Any


def test_the_range_is_what_the_fix_installs(ask: Any) -> None:
    facts = {"transformers.version": "5.23.0", "kernels.version": "0.17.2"}
    judgement = ask("kernels-pin-mismatch", facts)
    assert judgement.values == {"advice.kernels": ">=0.18.2,<0.19"}
    old = {"transformers.version": "4.40.2", "kernels.version": "0.17.2"}
    assert ask("kernels-pin-mismatch", {**old, "transformers.kernels_pin": None}).outcome == "pass"
