from __future__ import annotations

import importlib
import json
import logging
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from flashdoctor.target.payload import program

part: Any = importlib.import_module("flashdoctor.agents.smoke_transformers")
measure: Any = importlib.import_module("flashdoctor.agents.smoke_measure")

PYTHON = os.environ.get("FLASHDOCTOR_TRANSFORMERS_PYTHON", sys.executable)
"""A Python with torch and transformers; the tests that need one are skipped without."""

SHAPE = {"batch": 2, "q_len": 64, "kv_len": 64, "heads": 4, "kv_heads": 2, "head_dim": 64}
CASE = {
    "name": "transformers-sdpa", "api": "transformers", "backend": "sdpa", "shape": SHAPE,
    "dtype": "bf16", "causal": True, "mask": None, "direction": "forward", "features": [],
}  # fmt: skip


@pytest.mark.parametrize(
    "name", ["kernels-community/flash-attn2", "kernels-community/flash-attn2@v1:f"]
)
def test_finds_a_hub_kernel_in_any_cache(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "hf" / "hub" / "models--kernels-community--flash-attn2"
    folder.mkdir(parents=True)
    (tmp_path / "own" / "models--kernels-community--flash-attn").mkdir(parents=True)
    found = part.hub_folders(
        name, {"HF_HOME": str(tmp_path / "hf"), "KERNELS_CACHE": str(tmp_path / "own")}
    )
    assert found == [str(folder)]


def test_a_hub_kernel_that_was_never_fetched_is_not_found(tmp_path: Path) -> None:
    assert part.hub_folders("kernels-community/flash-mla", {"XDG_CACHE_HOME": str(tmp_path)}) == []


def test_hears_each_warning_once_and_only_while_it_listens() -> None:
    logger = logging.getLogger("some.library")
    heard = part.Listener("some", logging.WARNING)
    with heard:
        for _ in range(2):
            logger.warning("falls back to %s", "eager")
        logger.info("loading")
    logger.warning("later")
    assert heard.lines == ["falls back to eager"]


@pytest.mark.parametrize(
    ("version", "wanted"), [("4.36.2", (4, 36)), ("5.17.0", (5, 17)), ("5.0.0rc1", (5, 0))]
)
def test_reads_the_release(version: str, wanted: tuple[int, int]) -> None:
    assert part.release(version) == wanted


class Module:
    """A module with children, as torch lists them."""

    def __init__(self, **children: Module) -> None:
        self._children = children

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        yield prefix, self
        for name, child in self._children.items():
            yield from child.named_modules(f"{prefix}.{name}".lstrip("."))


class BertAttention(Module):
    pass


class BertSelfAttention(Module):
    pass


def test_attention_is_the_innermost_module_of_that_name() -> None:
    attention = BertAttention(inner=BertSelfAttention(), output=Module())
    model = Module(layer=Module(attention=attention))
    assert [name for name, _ in part.attention_modules(model)] == ["layer.attention.inner"]


def test_a_model_without_any_is_looked_at_as_a_whole() -> None:
    model = Module(layer=Module())
    assert part.attention_modules(model) == [("the model", model)]


@pytest.mark.parametrize(
    ("config", "backend", "got", "as_asked"),
    [
        (SimpleNamespace(_attn_implementation="sdpa"), "sdpa", "sdpa", True),
        (SimpleNamespace(_attn_implementation="sdpa"), "default", "sdpa", True),
        (SimpleNamespace(_attn_implementation="sdpa"), "flash_attention_2", "sdpa", False),
        (SimpleNamespace(_attn_implementation="kernels-community/flash-attn2"),
         "flash_attention_2", "kernels-community/flash-attn2", False),
        (SimpleNamespace(_attn_implementation="kernels-community_flash-attn2"),
         "kernels-community/flash-attn2", "kernels-community_flash-attn2", True),
        (SimpleNamespace(_attn_implementation={"": "sdpa", "vision_config": "sdpa"}),
         "sdpa", {"": "sdpa", "vision_config": "sdpa"}, True),
        (SimpleNamespace(_attn_implementation={"": "flash_attention_2", "vision_config": "sdpa"}),
         "flash_attention_2", {"": "flash_attention_2", "vision_config": "sdpa"}, False),
        (SimpleNamespace(_flash_attn_2_enabled=True),
         "flash_attention_2", "flash_attention_2", True),
        (SimpleNamespace(), "default", "eager", True),
    ],
)  # fmt: skip
def test_tells_a_replaced_implementation(
    config: SimpleNamespace, backend: str, got: Any, as_asked: bool
) -> None:
    model = BertSelfAttention()
    model.config = config  # type: ignore[attr-defined]
    described = part.describe(model, backend)
    assert (described["attn_implementation"], described["as_asked"]) == (got, as_asked)
    assert described["modules"] == {"BertSelfAttention": 1}


def test_an_error_beyond_the_bound_or_nan_is_named() -> None:
    errors = {"a": (0.01, 0.1), "b": (0.9, 3.0), "c": (float("nan"), float("nan"))}
    assert part.faults(errors, 0.04, {}) == [
        "b is off by a relative error of 0.9, more than 0.04",
        "c holds values that are not finite",
    ]


def test_an_output_where_there_should_be_none_is_wrong() -> None:
    torch = pytest.importorskip("torch")
    zeros, ones = torch.zeros(2, 3), torch.ones(2, 3)
    assert part.deviation(zeros, zeros) == (0.0, 0.0)
    assert part.deviation(ones.reshape(-1), ones) == (0.0, 0.0)
    assert part.deviation(ones.reshape(-1)[:-1], ones)[0] == math.inf
    assert part.faults({"a": part.deviation(ones, zeros)}, 0.1, {}) == [
        "a is off by a relative error of inf, more than 0.1"
    ]


def test_what_eager_rounds_itself_is_no_fault_within_reason() -> None:
    errors = {"a": (0.056, 1.0)}
    assert part.faults(errors, 0.04, {"a": 0.05}) == []
    assert part.faults(errors, 0.04, {"a": 0.01, "b": 0.9}) != []
    assert part.faults(errors, 0.04, {"a": math.nan}) != []
    assert part.faults({"a": (0.5, 1.0)}, 0.04, {"a": 0.5}) != [], "eager may be wrong as well"


def run_with(
    monkeypatch: pytest.MonkeyPatch, from_pretrained: Callable[..., Any], backend: str = "sdpa"
) -> dict[str, Any]:
    """Run a case with a transformers whose AutoConfig does what is given."""
    library = ModuleType("transformers")
    library.__version__ = "5.17.0"  # type: ignore[attr-defined]
    library.AutoConfig = SimpleNamespace(from_pretrained=from_pretrained)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", library)
    for name in part._OFFLINE:
        monkeypatch.setenv(name, "0")
    names = ("smoke_config", "smoke_measure", "smoke_problem")
    parts = SimpleNamespace(
        **{n: importlib.import_module(f"flashdoctor.agents.{n}") for n in names}
    )
    torch = SimpleNamespace(bfloat16="bfloat16")
    bench = measure.Bench(torch, "cpu", {"seed": 1})
    result: dict[str, Any] = {"status": "ran"}
    part.run(parts, bench, {**CASE, "backend": backend}, result)
    return result


def test_a_missing_package_is_a_refusal_in_transformers_own_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_folder: str, **_keywords: object) -> None:
        logging.getLogger("transformers.x").warning("first this")
        raise ImportError("FlashAttention2 has been toggled on, but it cannot be used")

    result = run_with(monkeypatch, refuse, "flash_attention_2")
    assert result["status"] == "refused"
    assert result["messages"] == [
        "ImportError: FlashAttention2 has been toggled on, but it cannot be used",
        "first this",
    ]
    assert result["asked"] == {"attn_implementation": "flash_attention_2"}
    assert result["got"]["version"] == "5.17.0"
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_a_broken_extension_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(_folder: str, **_keywords: object) -> None:
        raise ImportError("flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2E")

    with pytest.raises(ImportError, match="undefined symbol"):
        run_with(monkeypatch, break_down)


def test_the_config_reaches_transformers_as_a_folder_without_trust(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look(folder: str, *, trust_remote_code: bool) -> None:
        assert not trust_remote_code
        config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        raise ImportError(f"{config['model_type']} {config['num_attention_heads']}")

    assert run_with(monkeypatch, look)["messages"] == ["ImportError: llama 4"]


def test_a_hub_kernel_without_its_package_or_cache_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(measure.MissingError, match=r"kernels|not in the local cache"):
        run_with(monkeypatch, lambda *_a, **_k: None, "kernels-community/flash-attn2")


def has_transformers() -> bool:
    probe = "from importlib.util import find_spec as f; f('torch').name, f('transformers').name"
    done = subprocess.run([PYTHON, "-c", probe], check=False, capture_output=True)
    return done.returncode == 0


needs_transformers = pytest.mark.skipif(
    not has_transformers(), reason="no torch and transformers in this Python"
)


def run_agent(
    cases: list[dict[str, Any]], environ: Mapping[str, str], **options: Any
) -> dict[str, Any]:
    """Return the results by name of a real run without a GPU."""
    text = program("smoke", {"cases": cases, "seed": 3, **options})
    hidden = {"CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1", **environ}
    done = subprocess.run(
        [PYTHON, "-"], input=text.encode(), capture_output=True, check=False, timeout=300,
        env={**os.environ, **hidden},
    )  # fmt: skip
    bodies = [json.loads(line.split(b" ", 1)[1]) for line in done.stdout.splitlines() if line]
    assert bodies[-1]["event"] == "end", done.stderr.decode()[-2000:]
    return {body["name"]: body for body in bodies if body["event"] == "result"}


def case(name: str, backend: str, **changed: Any) -> dict[str, Any]:
    return {**CASE, "name": name, "backend": backend, **changed}


@needs_transformers
def test_a_real_model_is_built_compared_and_proves_nothing_without_a_gpu(tmp_path: Path) -> None:
    cases = [
        case("eager", "eager"),
        case("sdpa", "sdpa"),
        case("padding", "sdpa", features=["padding"]),
        case("backward", "sdpa", direction="backward"),
        case("default", "default"),
        case("bogus", "no_such_thing"),
    ]
    results = run_agent(cases, {"HF_HOME": str(tmp_path)})
    for name in ("eager", "sdpa", "padding", "backward", "default"):
        result = results[name]
        assert result["status"] == "cpu", result
        assert result["kernels"] == []
        assert 0 < result["relative_error"] < 0.16
        assert result["got"]["modules"] == {"LlamaAttention": 2}
        assert result["got"]["as_asked"]
    assert results["default"]["got"]["attn_implementation"] == "sdpa"
    assert results["bogus"]["status"] == "refused"
    assert "no_such_thing" in results["bogus"]["messages"][0]


CONFIGURATION = """
from transformers import PretrainedConfig


class OwnConfig(PretrainedConfig):
    model_type = "own"
"""

MODELING = """
import torch
from torch import nn
from transformers import PreTrainedModel

from .configuration_own import OwnConfig


class OwnAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        size = config.hidden_size
        self.qkv = nn.Linear(size, 3 * size, bias=False)

    def forward(self, hidden):
        batch, length, size = hidden.shape
        heads = self.config.num_attention_heads
        q, k, v = self.qkv(hidden).view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        fault = self.config.fault if self.config._attn_implementation != "eager" else ""
        if fault != "not causal":
            past = torch.ones(length, length, dtype=torch.bool, device=hidden.device).tril()
            scores = scores.masked_fill(~past, float("-inf"))
        mixed = torch.softmax(scores.float(), -1).to(v.dtype) @ v
        if fault == "nan":
            mixed[:, :, 3] = float("nan")
        return mixed.transpose(1, 2).reshape(batch, length, size), None


class OwnForCausalLM(PreTrainedModel):
    config_class = OwnConfig
    _supports_sdpa = True

    def __init__(self, config):
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(OwnAttention(config) for _ in range(config.num_hidden_layers))
        self.post_init()

    def get_input_embeddings(self):
        return self.embedding

    def _init_weights(self, module):
        if hasattr(module, "weight"):
            module.weight.data.normal_(0.0, 0.1)

    def forward(self, input_ids, **kwargs):
        hidden = self.embedding(input_ids)
        for layer in self.layers:
            hidden = hidden + layer(nn.functional.layer_norm(hidden, hidden.shape[-1:]))[0]
        return (hidden,)
"""


def write_own_model(folder: Path, fault: str) -> None:
    """Write a model with code of its own, which heeds attn_implementation in no way but one."""
    config = {
        "model_type": "own", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 9,
        "vocab_size": 32000, "fault": fault,
        "auto_map": {"AutoConfig": "configuration_own.OwnConfig",
                     "AutoModelForCausalLM": "modeling_own.OwnForCausalLM"},
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "configuration_own.py").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "modeling_own.py").write_text(MODELING, encoding="utf-8")


@needs_transformers
@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("", "cpu", ""),
        ("not causal", "wrong", "layers.0 is off by a relative error of"),
        ("nan", "wrong", "layers.0 holds values that are not finite"),
    ],
)
def test_a_model_of_its_own_is_cut_run_and_judged(
    tmp_path: Path, fault: str, status: str, words: str
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    write_own_model(model, fault)
    results = run_agent(
        [case("sdpa", "sdpa")], {"HF_HOME": str(tmp_path / "cache")},
        model_dir=str(model), trust_remote_code=True,
    )  # fmt: skip
    result = results["sdpa"]
    assert result["status"] == status, result
    assert result["got"]["modules"] == {"OwnAttention": 2}
    assert result["got"]["cut"] == ["initializer_range", "num_hidden_layers", "vocab_size"]
    assert any(message.startswith(words) for message in result["messages"] or [""])


@needs_transformers
def test_a_models_own_code_does_not_run_without_trust(tmp_path: Path) -> None:
    write_own_model(tmp_path, "")
    (tmp_path / "configuration_own.py").write_text("raise SystemExit(9)\n", encoding="utf-8")
    results = run_agent(
        [case("sdpa", "sdpa")], {"HF_HOME": str(tmp_path / "cache")}, model_dir=str(tmp_path)
    )
    assert results["sdpa"]["status"] == "refused"
    assert "trust_remote_code" in results["sdpa"]["messages"][0]
