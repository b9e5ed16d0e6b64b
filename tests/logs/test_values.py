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


def test_a_size_is_read_with_its_unit() -> None:
    assert values.gib_of_size("27.93 GiB") == 27.93
    assert values.gib_of_size("565.00 MiB") == 0.552
    assert values.gib_of_size("1 TB") == 1024
    assert values.gib_of_size("1073741824 bytes") == 1.0
    with pytest.raises(ValueError, match="with its unit"):
        values.gib_of_size("565")


NEWER = (
    "GPU 0 has a total capacity of 79.15 GiB of which 13.94 MiB is free. Process 7 has 60.1 GiB "
    "memory in use. Process 8 has 9 GiB memory in use. Including non-PyTorch memory, this process "
    "has 10.00 GiB memory in use. Of the allocated memory 8 GiB is allocated by PyTorch"
)
OLDER = (
    "(GPU 0; 23.69 GiB total capacity; 22.50 GiB already allocated; 17.56 MiB free; "
    "22.86 GiB reserved in total by PyTorch)"
)


@pytest.mark.parametrize(("text", "own", "others"), [(NEWER, 10, 69.136), (OLDER, 22.86, 0.813)])
def test_the_account_of_torch_tells_what_others_hold(text: str, own: float, others: float) -> None:
    account = values.memory_account(text)
    assert (account["own"], account["others"]) == (own, others)


def test_an_account_that_is_not_whole_is_refused() -> None:
    with pytest.raises(ValueError, match="all of the memory"):
        values.memory_account("Tried to allocate 2.00 GiB. GPU 0 has 10 MiB free")


@given(st.sampled_from([p for p, s in FACTS.items() if s.kind != "records"]), st.text(max_size=80))
def test_any_text_is_read_or_refused(path: str, text: str) -> None:
    try:
        value = values.read_value(path, text)
    except (ValueError, OverflowError):
        return
    assert value is not None
