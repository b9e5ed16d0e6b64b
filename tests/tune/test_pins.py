from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.errors import UsageError
from flashdoctor.tune.flags import read_table
from flashdoctor.tune.pins import Pin, read_pins, settings_of

TABLES = load_tables()
NEW = read_table(TABLES, "0.25.1")


@pytest.mark.parametrize(
    ("item", "pin"),
    [
        ("max-num-seqs=64", Pin("--max-num-seqs", "max-num-seqs", "64")),
        ("--max_num_seqs=64", Pin("--max-num-seqs", "max-num-seqs", "64")),
        ("-tp=2", Pin("--tensor-parallel-size", "tensor-parallel-size", "2")),
        ("gpu-memory-util=0.5", Pin("--gpu-memory-utilization", "gpu-memory-utilization", "0.5")),
        ("enforce-eager", Pin("--enforce-eager", "enforce-eager")),
        ("enforce-eager=false", Pin("--no-enforce-eager", "enforce-eager", None, negative=True)),
        (
            "no-enable-prefix-caching",
            Pin("--no-enable-prefix-caching", "enable-prefix-caching", None, negative=True),
        ),
        (
            "compilation-config.mode=3",
            Pin("--compilation-config.mode", "compilation-config", "3"),
        ),
    ],
)
def test_a_pin_is_read_as_vllm_reads_it(item: str, pin: Pin) -> None:
    assert list(read_pins([item], NEW).values()) == [pin]


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (["max-num-seq=1", "nonsense"], "has no --nonsense"),
        (["max-num-seqs"], "--max-num-seqs takes a value"),
        (["swap-space=4"], "vLLM 0.25.1 has no --swap-space, other releases do"),
        (["disable-cuda-graph"], "has no --disable-cuda-graph"),
        (["max-num=3"], "may mean"),
        (["enforce-eager=3"], "takes no value"),
        (["=3"], "is not FLAG or FLAG=VALUE"),
    ],
)
def test_what_is_no_pin_is_wrong_usage(items: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=r"--pin") as raised:
        read_pins(items, NEW)
    assert words in raised.value.message


def test_pins_decide_settings() -> None:
    pins = read_pins(
        ["max-model-len=32k", "gpu-memory-utilization=0.5", "enforce-eager", "block-size=32",
         "no-async-scheduling", "disable-hybrid-kv-cache-manager", "cpu-offload-gb=2",
         "cudagraph-capture-sizes=1,2,4", "max-num-batched-tokens=8K", "dtype=half",
         "served-model-name=x"],
        NEW,
    )  # fmt: skip
    assert settings_of(pins) == {
        "max_model_len": 32000, "gpu_memory_utilization": 0.5, "enforce_eager": True,
        "block_size": 32, "async_scheduling": False, "hybrid_kv_cache": False,
        "cpu_offload_bytes": 2 << 30, "cudagraph_capture_sizes": (1, 2, 4),
        "max_num_batched_tokens": 8192, "dtype": "half",
    }  # fmt: skip
    assert settings_of(read_pins(["max-model-len=auto"], NEW)) == {}


@pytest.mark.parametrize(
    "item",
    ["max-num-seqs=many", "max-num-seqs=0", "gpu-memory-utilization=2", "cpu-offload-gb=x",
     "gpu-memory-utilization=nan"],
)  # fmt: skip
def test_values_are_checked(item: str) -> None:
    with pytest.raises(UsageError, match="does not take"):
        settings_of(read_pins([item], NEW))


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_pin_or_wrong_usage(item: str) -> None:
    try:
        pins = read_pins([item], NEW)
    except UsageError:
        return
    assert all(pin.name in NEW.flags for pin in pins.values())
