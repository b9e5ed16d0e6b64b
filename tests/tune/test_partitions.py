"""Quantised weights that do not divide among GPUs: refused, avoided, and what helps instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.model.llm import Model
from flashdoctor.model.tuning import TuneReport
from flashdoctor.model.versions import Capability
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.flags import read_table
from flashdoctor.tune.memory import plan
from flashdoctor.tune.memory_types import GIB, Gpu, Settings
from flashdoctor.tune.pins import read_pins
from flashdoctor.tune.plan import Request
from flashdoctor.tune.report import report

TABLES = load_tables()
MODELS = Path(__file__).parents[1] / "data" / "models"
H200 = Gpu(name="NVIDIA H200", total_bytes=int(139.8 * GIB), capability=Capability(9, 0))
RTX_4090 = Gpu(name="RTX 4090", total_bytes=int(23.5 * GIB), capability=Capability(8, 9))
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
BITSANDBYTES = {"quant_method": "bitsandbytes", "load_in_4bit": True}


def model(name: str, quantization: dict[str, Any], **fields: Any) -> Model:
    body = json.loads((MODELS / name / "config.json").read_text(encoding="utf-8"))
    return parse_config(json.dumps({**body, **fields, "quantization_config": quantization}), name)


def tune(made: Model, gpu: Gpu, gpus: int, *pins: str) -> TuneReport:
    table = read_table(TABLES, "0.25.1")
    asked = Request(model=made, gpu=gpu, version="0.25.1", flags=table, gpus=gpus,
                    pins=read_pins(pins, table))  # fmt: skip
    return report(asked, TABLES, name="MODEL")


def refusal(made: Model, ranks: int, version: str = "0.25.1", **given: Any) -> str:
    settings = Settings(tensor_parallel_size=ranks, max_model_len=4096, **given)
    return plan(made, H200, settings, version, tables=TABLES).refusal or ""


@pytest.mark.parametrize(
    ("made", "ranks", "words"),
    [
        (model("qwen3-30b-a3b", FP8), 4, "gate's and up's weight = 192 is not divisible"),
        (model("qwen3-8b", FP8, intermediate_size=9728), 8, "output_partition_size = 1216"),
        (model("qwen3-8b", GPTQ, intermediate_size=13824), 8, "too large tensor parallel size"),
        (model("llama3.1-8b", BITSANDBYTES), 2, "try with pipeline parallelism"),
    ],
)
def test_what_is_cut_inside_of_a_block_is_refused(made: Model, ranks: int, words: str) -> None:
    assert words in refusal(made, ranks)
    assert refusal(made, 1) == ""


def test_what_divides_or_is_no_part_of_it_starts() -> None:
    experts = model("qwen3-30b-a3b", FP8)
    assert refusal(experts, 2) == ""
    assert refusal(experts, 4, enable_expert_parallel=True) == ""
    left = model("qwen3-8b", {**FP8, "modules_to_not_convert": ["model.layers.0.mlp.down_proj"]},
                 intermediate_size=9728)  # fmt: skip
    assert refusal(left, 8) == ""
    assert refusal(model("llama3.1-8b", BITSANDBYTES), 2, "0.33.0") == ""  # not read there


def test_a_plan_takes_a_number_of_gpus_that_divides() -> None:
    found = tune(model("qwen3-30b-a3b", FP8), RTX_4090, 4)
    assert (found.fits, found.gpus) == (True, 2)  # two copies would divide the experts by four
    assert any("enable-expert-parallel" in one.option for one in found.proposals)
    all_four = tune(model("qwen3-30b-a3b", FP8), RTX_4090, 4, "tensor-parallel-size=4",
                    "enable-expert-parallel")  # fmt: skip
    assert (all_four.fits, all_four.gpus) == (True, 4)


def test_a_refused_launch_is_given_only_what_helps() -> None:
    found = tune(model("qwen3-30b-a3b", FP8), RTX_4090, 4, "tensor-parallel-size=4")
    assert not found.fits
    assert [one.option for one in found.proposals] == [
        "--pin tensor-parallel-size=4 --pin enable-expert-parallel"
    ]


def test_copies_of_a_mixture_of_experts_step_together() -> None:
    def why(name: str) -> str:
        found = tune(parse_config((MODELS / name / "config.json").read_text(), name), H200, 2)
        return next(flag.why for flag in found.flags if flag.name == "--data-parallel-size")

    assert "step together" in why("gpt-oss-20b")
    assert "do not wait" in why("llama3.1-8b")


def test_where_nothing_helps_nothing_is_promised() -> None:
    found = tune(parse_config((MODELS / "deepseek-v3" / "config.json").read_text(), "v3"),
                 RTX_4090, 8)  # fmt: skip
    [unfit] = [one for one in found.findings if one.id == "FD791"]
    assert (found.fits, found.gpus, found.proposals) == (False, 8, ())
    assert "proposals" not in unfit.fix.text
