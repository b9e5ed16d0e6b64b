from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.view import MissingFactError

CHECK = "transformers-torch-too-old"


def test_the_fix_names_the_floor(ask: Any) -> None:
    judgement = ask(CHECK, {"transformers.version": "5.20.0", "torch.version": "2.5.1+cu124"})
    assert judgement.values == {"advice.torch": "2.6"}


def test_without_torch_or_transformers_there_is_nothing_to_compare(ask: Any) -> None:
    for facts in (
        {"transformers.version": "5.20.0", "torch.version": None},
        {"transformers.version": None, "torch.version": "2.5.1"},
        {"transformers.version": "3.0.0", "torch.version": "2.5.1"},
    ):
        with pytest.raises(MissingFactError):
            ask(CHECK, facts)
