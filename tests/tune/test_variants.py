from __future__ import annotations

from pathlib import Path

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.model.llm import Model
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.variants import checkpoint, find, smaller, token_bytes

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
TABLES = load_tables()


def read(name: str) -> Model:
    return parse_config((MODELS / name / "config.json").read_text(encoding="utf-8"), name)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("llama3.1-8b", "meta-llama/Llama-3.1-8B-Instruct"),
        ("llama-3.2-1b", "meta-llama/Llama-3.2-1B-Instruct"),
        ("qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B-Instruct"),
        ("qwen2.5-7b", "Qwen/Qwen2.5-7B-Instruct"),
        ("qwen3-8b", "Qwen/Qwen3-8B"),
        ("qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B"),
        ("gemma2-9b", "google/gemma-2-9b-it"),
        ("mixtral-8x7b", "mistralai/Mixtral-8x7B-Instruct-v0.1"),
    ],
)
def test_a_model_is_known_by_its_shape_and_weighs_what_the_row_says(name: str, row: str) -> None:
    model = read(name)
    found = find(TABLES, model)
    assert found is not None
    assert found["name"] == row
    assert model.weights.total_bytes / 2**30 == pytest.approx(found["weights_gib"], abs=0.06)
    heads = {layer.kv_heads or model.kv_heads for layer in model.layers}
    dims = {layer.head_dim or model.head_dim for layer in model.layers}
    assert (heads, dims) == ({found["kv_heads"]}, {found["head_dim"]})


def test_smaller_ones_are_of_the_family_the_largest_first() -> None:
    names = [row["name"] for row in smaller(TABLES, read("llama3.1-8b"))]
    assert names == ["meta-llama/Llama-3.2-3B-Instruct", "meta-llama/Llama-3.2-1B-Instruct"]
    assert smaller(TABLES, read("qwen2.5-0.5b")) == []
    assert smaller(TABLES, read("falcon-7b")) == []


def test_quantised_checkpoints_have_names() -> None:
    llama = read("llama3.1-8b")
    assert checkpoint(TABLES, llama, "fp8") == (", such as RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8")
    assert checkpoint(TABLES, read("falcon-7b"), "awq") == ""


def test_a_token_of_8b_takes_128_kib() -> None:
    row = find(TABLES, read("llama3.1-8b"))
    assert row is not None
    assert token_bytes(row) == 131072
