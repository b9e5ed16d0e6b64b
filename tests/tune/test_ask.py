from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.engine.derive import derive
from flashdoctor.errors import InputError, UsageError
from flashdoctor.model.facts import known
from flashdoctor.model.snapshot import Snapshot, of
from flashdoctor.tune.ask import known_version, read_gpu, read_request
from flashdoctor.tune.config import read_config

TABLES = load_tables()
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
    "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}  # fmt: skip


def facts(*items: str) -> Snapshot:
    return derive(read_assumptions(items), TABLES)


def test_the_release_is_asked_for_installed_or_the_newest() -> None:
    assert known_version(facts("vllm=0.10.2"), None, TABLES) == ("0.10.2", ())
    assert known_version(facts("vllm=0.10.2"), "0.25.1", TABLES) == ("0.25.1", ())
    unknown = known_version(facts("gpu=T4"), None, TABLES)
    assert unknown.version in unknown.notes[0]
    newer = known_version(facts(), "9.9.9", TABLES)
    assert (newer.version, "newer than" in newer.notes[0]) == ("9.9.9", True)
    with pytest.raises(UsageError, match="not a version"):
        known_version(facts(), "new", TABLES)


def test_a_gpu_by_name_or_by_numbers() -> None:
    card = read_gpu(facts("gpu=RTX 4090"), TABLES)
    assert 23 < card.total_bytes / 2**30 < 24
    assert str(card.capability) == "8.9"
    bare = read_gpu(facts("compute_capability=9.0", "gpu_memory_gib=80"), TABLES)
    assert (bare.name, str(bare.capability)) == (None, "9.0")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([], "the compute capability of the GPU"),
        (["gpu=Some GPU"], "the compute capability of Some GPU"),
        (["compute_capability=9.0"], "the memory of the GPU"),
    ],
)
def test_without_a_gpu_nothing_can_be_planned(items: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_gpu(facts(*items), TABLES)


@pytest.mark.parametrize(("used", "counted"), [(529, 0), (700, 0), (5000, 5000)])
def test_what_an_idle_gpu_shows_as_used_is_the_drivers(used: int, counted: int) -> None:
    machine = of([*facts("gpu=NVIDIA H200"), known("gpu.memory_used_mib", used, "NVML")])
    assert read_gpu(machine, TABLES).used_bytes == counted << 20


def test_what_a_machine_says_goes_into_the_request() -> None:
    machine = of(
        [
            *facts("gpu=NVIDIA H200", "gpu_count=8", "wsl=2", "vllm=0.25.1"),
            known("gpu.visible_count", 2, "CUDA_VISIBLE_DEVICES"),
            known("vllm.bundled", ["fa2", "flashmla"], "files"),
        ]
    )
    model = read_config(LLAMA)
    asked = read_request(model, machine, "0.25.1", "latency", TABLES, allow=["fp8-kv"])
    assert (asked.gpus, asked.wsl, asked.bundled) == (2, 2, frozenset({2}))
    assert asked.allow == {"fp8-kv"}
    other = read_request(model, machine, "0.10.2", "latency", TABLES)
    assert other.bundled is None  # of another release nothing was seen


def test_contradictions_are_wrong_usage() -> None:
    machine = facts("gpu=NVIDIA H200")
    model = read_config(LLAMA)
    with pytest.raises(UsageError, match="--allow does not know lossy"):
        read_request(model, machine, "0.25.1", "latency", TABLES, allow=["lossy"])
    with pytest.raises(UsageError, match="say the same"):
        read_request(model, machine, "0.25.1", "latency", TABLES,
                     pins=["max-model-len=1"], max_model_len=2)  # fmt: skip
