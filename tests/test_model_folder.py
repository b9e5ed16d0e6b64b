from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flashdoctor import pipeline
from flashdoctor.errors import InputError, UsageError
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import Fact, known
from flashdoctor.model.llm import Model
from flashdoctor.model_folder import read_model

CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 1,
    "vocab_size": 64,
    "max_position_embeddings": 64,
    "torch_dtype": "bfloat16",
}
WIDTHS = {"BF16": 2, "F16": 2, "I32": 4}
Shapes = dict[str, tuple[str, list[int]]]
PLAIN: Shapes = {
    "model.embed_tokens.weight": ("BF16", [64, 64]),
    "model.layers.0.mlp.up_proj.weight": ("BF16", [128, 64]),
}
AWQ: Shapes = {
    "model.layers.0.mlp.up_proj.qweight": ("I32", [64, 16]),
    "model.layers.0.mlp.up_proj.qzeros": ("I32", [2, 16]),
    "model.layers.0.mlp.up_proj.scales": ("F16", [2, 128]),
}


def write_shard(path: Path, shapes: Shapes) -> None:
    header: dict[str, Any] = {}
    end = 0
    for name, (dtype, shape) in shapes.items():
        size = WIDTHS[dtype]
        for side in shape:
            size *= side
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    data = json.dumps(header).encode()
    path.write_bytes(len(data).to_bytes(8, "little") + data + bytes(end))


def write_model(folder: Path, shapes: Shapes | None = PLAIN, **config: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}), encoding="utf-8")
    if shapes is not None:
        (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
        write_shard(folder / "model.safetensors", shapes)
    return folder


def write_index(folder: Path, files: dict[str, str]) -> None:
    text = json.dumps({"metadata": {}, "weight_map": files})
    (folder / "model.safetensors.index.json").write_text(text, encoding="utf-8")


def found(model: Model, *more: Fact) -> set[str]:
    report = pipeline.judge_snapshot(snapshots.of([*model.facts, *more]), select=["FD64", "FD65"])
    return {finding.name for finding in report.findings}


def test_a_sound_folder_gives_exact_weights_and_no_findings(tmp_path: Path) -> None:
    model = read_model(str(write_model(tmp_path / "good")))
    assert model.name == "good"
    assert model.weights.exact
    assert model.weights.total_bytes == (64 * 64 + 128 * 64) * 2
    assert dict(model.weights.by_dtype) == {"BF16": 24576}
    assert found(model) == set()


def test_a_config_alone_is_a_model_too(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "bare", shapes=None)
    for name in (folder, folder / "config.json"):
        model = read_model(str(name))
        assert model.name == "bare"
        assert not model.weights.exact
        assert found(model) == set()


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    write_index(folder, {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"})
    model = read_model(str(folder))
    assert found(model) == {"model-shards-missing"}
    assert not model.weights.exact
    facts = {fact.path: fact.value for fact in model.facts}
    assert facts["model.shards_missing"] == ["model-00002-of-00002.safetensors"]


@pytest.mark.parametrize("cut", [4, 40, -1])
def test_a_shard_that_is_cut_off_is_named(tmp_path: Path, cut: int) -> None:
    folder = write_model(tmp_path)
    shard = folder / "model.safetensors"
    shard.write_bytes(shard.read_bytes()[:cut])
    assert found(read_model(str(folder))) == {"model-shard-damaged"}


def test_a_git_lfs_pointer_is_no_shard(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4976698672\n"
    (folder / "model.safetensors").write_text(text, encoding="utf-8")
    assert found(read_model(str(folder))) == {"model-shard-damaged"}


def test_tensors_that_no_shard_holds(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    write_index(folder, dict.fromkeys([*PLAIN, "lm_head.weight"], "model.safetensors"))
    assert found(read_model(str(folder))) == {"model-tensors-missing"}


def test_tensors_in_two_files(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    write_shard(folder / "model-00001-of-00001.safetensors", PLAIN)
    assert found(read_model(str(folder))) == {"model-tensors-repeated"}


def test_copies_that_vllm_does_not_load_do_not_count(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    write_shard(folder / "consolidated.safetensors", PLAIN)
    assert found(read_model(str(folder))) == set()


def test_a_missing_tokenizer(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    (folder / "tokenizer.json").unlink()
    assert found(read_model(str(folder))) == {"model-tokenizer-missing"}
    (folder / "tokenizer.model").write_bytes(b"x")
    assert found(read_model(str(folder))) == set()


def test_quantised_tensors_without_a_config(tmp_path: Path) -> None:
    model = read_model(str(write_model(tmp_path, AWQ)))
    assert found(model) == {"model-quantization-config-missing"}


@pytest.mark.parametrize(
    ("method", "bits", "group", "expected"),
    [
        ("awq", 4, 32, set()),
        ("awq", 4, 128, {"model-quantization-disagrees"}),
        ("awq", 8, 32, {"model-quantization-disagrees"}),
        ("gptq", 4, 32, {"model-quantization-disagrees"}),
    ],
)
def test_a_config_is_compared_with_the_tensors(
    tmp_path: Path, method: str, bits: int, group: int, expected: set[str]
) -> None:
    config = {"quant_method": method, "bits": bits, "group_size": group}
    model = read_model(str(write_model(tmp_path, AWQ, quantization_config=config)))
    assert found(model) == expected


def test_modelopt_keeps_its_config_beside(tmp_path: Path) -> None:
    folder = write_model(tmp_path, shapes=None)
    body = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8"}}
    (folder / "hf_quant_config.json").write_text(json.dumps(body), encoding="utf-8")
    quantization = read_model(str(folder)).quantization
    assert quantization is not None
    assert (quantization.method, quantization.bits) == ("modelopt", 8)


def test_heads_and_ranks(tmp_path: Path) -> None:
    model = read_model(str(write_model(tmp_path)))
    assert found(model, known("launch.tensor_parallel_size", 3, "--tensor-parallel-size")) == {
        "model-heads-not-divisible"
    }
    assert found(model, known("launch.tensor_parallel_size", 2, "--tensor-parallel-size")) == set()


def test_code_that_computes_attention_by_hand(tmp_path: Path) -> None:
    folder = write_model(tmp_path, auto_map={"AutoModelForCausalLM": "modeling_own.Own"})
    code = "s = torch.matmul(query, key.transpose(1, 2))\np = torch.softmax(s, dim=-1)\n"
    (folder / "modeling_own.py").write_text(code, encoding="utf-8")
    model = read_model(str(folder))
    assert model.custom_code
    assert found(model) == {"model-code-without-flash"}


def test_a_model_of_the_local_cache_is_found_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "models--owner--name"
    write_model(folder / "snapshots" / "aaa", hidden_size=32)
    write_model(folder / "snapshots" / "bbb")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("bbb", encoding="utf-8")
    model = read_model("owner/name", cache=str(tmp_path))
    assert model.name == "owner/name"
    assert model.hidden == 64
    assert read_model(str(folder)).hidden == 64


def test_what_is_not_there_is_said_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither a folder nor a model") as caught:
        read_model("meta-llama/Llama-3.1-8B", cache=str(tmp_path))
    assert "hf download" in caught.value.hint
    with pytest.raises(UsageError, match=r"has no config\.json"):
        read_model(str(tmp_path))
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(UsageError, match=r"model\.gguf is no config\.json"):
        read_model(str(file))


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00", '{"model_type": "bert"}'])
def test_a_config_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"config\.json"):
        read_model(str(tmp_path))


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises((InputError, UsageError)):
        read_model("a\0b")
