from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.engine.expectations import holds, parse_expectation
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import absent, known
from flashdoctor.model.snapshot import Snapshot


def stack(**facts: Any) -> Snapshot:
    named = {path.replace("__", "."): value for path, value in facts.items()}
    return snapshots.of(
        absent(path, "t") if value is None else known(path, value, "t")
        for path, value in named.items()
    )


STACK = stack(
    driver__version="580.95.05",
    torch__version="2.11.0+cu130",
    torch__cuda="13.0",
    flash_attn__version="2.8.3.post1",
    vllm__version=None,
    gpu__name="NVIDIA H100 80GB HBM3",
    gpu__compute_capability="9.0",
    gpu__memory_mib=81559,
    gpu__count=8,
    torch__cxx11_abi=True,
    numpy__version="2",
)


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("driver >= 580", True),
        ("driver>=580,<581", True),
        ("driver < 580", False),
        ("driver >= 580.100", False),
        ("torch == 2.11.*", True),
        ("torch == 2.1.*", False),
        ("torch != 2.11.*", False),
        ("torch == 2.11", True),
        ("torch == 2.11.0+cu130", True),
        ("torch == 2.11.0+cu128", False),
        ("torch != 2.11.0+cu128", True),
        ("torch ~= 2.10", True),
        ("torch ~= 2.11.1", False),
        ("torch_cuda == 13.*", True),
        ("flash-attn == 2.8.3", False),
        ("flash_attn >= 2.8.3", True),
        ("flash-attn == 2.8.3.post1", True),
        ("vllm >= 0.10", False),
        ("vllm != 0.10", False),
        ("transformers >= 4", None),
        ("numpy == 2.0.*", True),
        ("gpu == 'NVIDIA H100 80GB HBM3'", True),
        ("gpu == NVIDIA H100 80GB HBM3", True),
        ("gpu != H200", True),
        ("compute_capability >= 8.0, < 10.0", True),
        ("gpu_memory_gib >= 79", True),
        ("gpu_memory_gib >= 80", False),
        ("gpu_count == 8", True),
        ("cxx11_abi == true", True),
    ],
)
def test_an_expectation_holds_or_not_or_is_open(text: str, truth: bool | None) -> None:
    assert holds(parse_expectation(text), STACK) is truth


@pytest.mark.parametrize(
    ("proven", "tried", "truth"),
    [
        (["fa3"], [], True),
        (["torch-flash"], ["fa3"], False),
        (["torch-flash"], ["torch-flash"], None),
        (None, [], False),
    ],
)
def test_a_kernel_is_unproven_only_where_it_was_tried(
    proven: list[str] | None, tried: list[str], truth: bool | None
) -> None:
    cases = [{"name": name, "expected_family": name} for name in tried]
    told = stack(smoke__proven=proven, smoke__cases=cases)
    assert holds(parse_expectation("kernel fa3 proven"), told) is truth
    assert holds(parse_expectation("kernel fa3 proven"), Snapshot()) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "neither"),
        ("driver", "neither"),
        ("driver 580", "neither"),
        ("tork == 2", "did you mean 'torch'"),
        ("driver >= new", "not a version"),
        ("driver >= 580.*", "goes with == and != only"),
        ("driver >= 580,", "not an operator and a value"),
        ("torch ~= 2", "two plain numbers"),
        ("torch ~= 2.11.0.post1", "two plain numbers"),
        ("gpu > H100", "does not go with text"),
        ("gpu_count >= many", "not a whole number"),
        ("gpu.devices == x", "it holds records"),
        ("policy.file == x", "cannot be expected"),
        ("kernel fa9 proven", "no family of kernels is called 'fa9'"),
        ("driver >= " + "5" * 300, "longer than"),
    ],
)
def test_a_mistake_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_expectation(text)


NAMES = st.sampled_from(["driver", "torch", "gpu", "gpu_count", "cxx11_abi", "kernel", "numpy"])
PARTS = st.sampled_from([" ", ">=", "==", "~=", "2", ".", "*", "9", ",", "+cu", "proven", "fa3"])


@given(st.text(max_size=30) | st.tuples(NAMES, st.lists(PARTS)).map(lambda p: p[0] + "".join(p[1])))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expected = parse_expectation(text)
    except ValueError:
        return
    assert holds(expected, STACK) in {True, False, None}
    assert parse_expectation(expected.text) == expected
