from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.nccl_library_conflict import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


@pytest.mark.parametrize("symbol", ["ncclCommRegister", "ncclMemFree", "ncclCommResume"])
def test_a_symbol_of_nccl_names_it(look: Look, symbol: str) -> None:
    words = f"ImportError: libtorch_cuda.so: undefined symbol: {symbol}"
    judgement = judge(look({"live.error": words}))
    assert (judgement.outcome, judgement.severity) == ("fail", None)


def test_another_version_alone_is_a_warning(look: Look) -> None:
    record = {"package": "nvidia-nccl-cu12", "required": "==2.27.5", "installed": "2.28.9"}
    judgement = judge(look({"torch.pins_unmet": [record]}))
    assert judgement.severity == "warning"
    assert "2.28.9" in judgement.detail


def test_unread_metadata_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"torch.pins_unmet"):
        judge(look({"live.error": "ImportError: something else"}))
