"""Refusals in the words of each release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.model.versions import Capability
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.memory import Gpu, MemoryPlan, Settings, plan

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
TABLES = load_tables()
GIB = 1 << 30
CARD = Gpu(name="NVIDIA RTX 4090", total_bytes=int(23.55 * GIB), capability=Capability(8, 9))


def refused(version: str, settings: Settings | None = None, gpu: Gpu = CARD) -> str:
    result = planned(version, settings, gpu)
    assert not result.fits
    assert result.refusal
    return result.refusal


def planned(version: str, settings: Settings | None = None, gpu: Gpu = CARD) -> MemoryPlan:
    text = (MODELS / "llama3.1-8b" / "config.json").read_text(encoding="utf-8")
    return plan(parse_config(text), gpu, settings or Settings(), version, tables=TABLES)


@pytest.mark.parametrize(
    ("version", "start", "end"),
    [
        (
            "0.6.3",
            "The model's max seq len (131072) is larger than the maximum number of tokens",
            "when initializing the engine.",
        ),
        (
            "0.8.5",
            "To serve at least one request with the models's max seq len (131072), (16.00 GiB KV",
            "when initializing the engine.",
        ),
        (
            "0.10.2",
            "To serve at least one request with the models's max seq len (131072), (16.00 GiB KV",
            "when initializing the engine.",
        ),
        (
            "0.14.0",
            "To serve at least one request with the models's max seq len (131072), (16.0 GiB KV",
            "for more details.",
        ),
        (
            "0.25.1",
            "To serve at least one request with the model's max seq len (131072), (16.0 GiB KV",
            "for more details.",
        ),
    ],
)
def test_a_context_that_is_too_long(version: str, start: str, end: str) -> None:
    said = refused(version)
    assert said.startswith(start)
    assert said.endswith(end)
    assert "{" not in said


def test_the_estimate_is_the_longest_that_starts() -> None:
    for version in ("0.10.2", "0.14.0", "0.25.1", "0.33.0"):
        found = re.search(r"estimated maximum model length is (\d+)", refused(version))
        assert found
        length = int(found[1])
        assert planned(version, Settings(max_model_len=length)).fits
        assert not planned(version, Settings(max_model_len=length + 17)).fits
    assert "estimated" not in refused("0.8.5")


def test_no_estimate_where_not_one_token_fits() -> None:
    tiny = Settings(kv_cache_memory_bytes=1000)
    assert "estimated" not in refused("0.25.1", tiny)
    assert "(0.0 GiB)" in refused("0.25.1", tiny)


@pytest.mark.parametrize(
    ("version", "end"),
    [
        ("0.2.7", "initializing the engine."),
        ("0.11.2", "initializing the engine."),
        ("0.14.0", "initializing the engine. See https://docs.vllm.ai/en/latest/configuration/"),
        ("0.25.1", "(this flag also controls CPU memory reservation on the CPU backend"),
    ],
)
def test_no_memory(version: str, end: str) -> None:
    said = refused(version, Settings(gpu_memory_utilization=0.3))
    assert said.startswith("No available memory for the cache blocks. Try increasing `gpu_mem")
    assert end in said


def test_others_hold_the_card() -> None:
    busy = Gpu(name="RTX 4090", total_bytes=CARD.total_bytes, used_bytes=4 * GIB)
    assert refused("0.25.1", gpu=busy).startswith(
        "Free memory on device cuda:0 (19.55/23.55 GiB) on startup is less than desired GPU memory "
        "utilization (0.92, 21.67 GiB)."
    )
    assert refused("0.10.2", gpu=busy).startswith("Free memory on device (19.55/23.55 GiB)")
    fixed = Settings(kv_cache_memory_bytes=GIB, max_model_len=4096)
    assert planned("0.25.1", fixed, busy).fits


def test_settings_that_contradict_each_other() -> None:
    few = Settings(max_num_batched_tokens=64, max_num_seqs=128, max_model_len=1024)
    assert refused("0.25.1", few) == (
        "max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (128)."
    )
    whole = Settings(max_num_batched_tokens=512, enable_chunked_prefill=False, max_model_len=1024)
    assert refused("0.25.1", whole).startswith(
        "max_num_batched_tokens (512) is smaller than max_model_len (1024). This effectively"
    )
    odd = Settings(tensor_parallel_size=3)
    assert refused("0.25.1", odd) == (
        "Total number of attention heads (32) must be divisible by tensor parallel size (3)."
    )


def test_every_refusal_has_its_values() -> None:
    known = {
        "length", "needed", "available", "longest", "tokens", "free", "total", "utilization",
        "requested", "derived", "batched", "seqs", "heads", "ranks", "size", "unit",
    }  # fmt: skip
    for row in TABLES.table("launch/memory")["refusal"]:
        assert set(re.findall(r"\{(\w+)\}", row["text"])) <= known
