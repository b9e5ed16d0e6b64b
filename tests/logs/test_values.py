from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs import values
from flashdoctor.model.catalog import FACTS


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("torch.version", "2.6.0+cu124", "2.6.0+cu124"),
        ("torch.version", " v2.6.0.", "2.6.0"),
        ("driver.version", "(535.54.03)", "535.54.03"),
        ("gpu.compute_capability", "8.6", "8.6"),
        ("gpu.compute_capability", "86", "8.6"),
        ("gpu.compute_capability", "sm_120", "12.0"),
        ("gpu.compute_capability", "(8, 6)", "8.6"),
        ("gpu.compute_capability", "major=12, minor=0", "12.0"),
        ("log.tokens_wanted", "12,345", 12345),
        ("log.tokens_wanted", "1 048 576 tokens", 1048576),
        ("log.memory_free_gib", "7.34", 7.34),
        ("log.memory_free_gib", "2e-1", 0.2),
        ("engine.ready", "True", True),
        ("engine.ready", "disabled", False),
        ("log.flag", "'--swap-space'", "--swap-space"),
        ("torch.arch_list", "sm_50 sm_60, sm_90", ["sm_50", "sm_60", "sm_90"]),
        ("gpu.compute_capabilities", "['8.0', '9.0']", ["8.0", "9.0"]),
    ],
)
def test_a_text_is_read_as_the_kind_of_its_fact(path: str, text: str, value: Any) -> None:
    assert values.read_value(path, text) == value


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("torch.version", "nightly"),
        ("gpu.compute_capability", "Ampere"),
        ("log.tokens_wanted", "many"),
        ("engine.ready", "perhaps"),
        ("log.flag", " ''"),
    ],
)
def test_what_does_not_fit_is_refused(path: str, text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        values.read_value(path, text)


def test_numbers_of_other_units() -> None:
    assert values.cuda_of_number("12020") == "12.2"
    assert values.cuda_of_number("11080") == "11.8"
    assert values.gib_of_mib("81559") == 79.647
    assert values.gib_of_bytes("25765478400") == 23.996
    with pytest.raises(ValueError, match="not a CUDA version number"):
        values.cuda_of_number("535")


@given(st.sampled_from([p for p, s in FACTS.items() if s.kind != "records"]), st.text(max_size=80))
def test_any_text_is_read_or_refused(path: str, text: str) -> None:
    try:
        value = values.read_value(path, text)
    except (ValueError, OverflowError):
        return
    assert value is not None
