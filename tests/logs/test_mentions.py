from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.mentions import find_mentions
from flashdoctor.model.catalog import FACTS


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I have torch 2.5.1+cu124 and an RTX 3090 here",
         {"torch.version": "2.5.1+cu124", "gpu.name": "RTX 3090"}),
        ("torch is a CUDA 12 build", {"torch.cuda": "12"}),
        ("the box has driver 535.104.05", {"driver.version": "535.104.05"}),
        ("running under WSL2", {"wsl.version": 2}),
        ("it is 8xH100", {"gpu.name": "H100", "gpu.count": 8}),
        ("container with CUDA 12.1", {"container.kind": "docker", "toolkit.version": "12.1"}),
        ("please upgrade to torch 2.5.1", {}),
        ("wheels for torch 2.5.1", {}),
        ("torch 2.5.1 or newer", {}),
        ("CUDA 12.8 needed", {}),
        ("it works on an A100 but not on an H100", {}),
        ("either an A100 here, my H100 there", {}),
        ("driver 5500", {}),
    ],
)  # fmt: skip
def test_a_sentence(text: str, facts: dict[str, object]) -> None:
    assert dict(find_mentions(text)) == facts


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    assert all(path in FACTS for path, _ in find_mentions(text))
