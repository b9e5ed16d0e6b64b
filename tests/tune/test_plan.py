from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.model.finding import Finding
from flashdoctor.model.tuning import TuneReport
from flashdoctor.model.versions import Capability
from flashdoctor.tune import memory
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.flags import read_table
from flashdoctor.tune.memory import Gpu
from flashdoctor.tune.pins import read_pins
from flashdoctor.tune.plan import SHORTEST, Decision, Planner, Request, Workload, decide
from flashdoctor.tune.report import report

TABLES = load_tables()
MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
GIB = 1 << 30
H200 = ("NVIDIA H200", 139.8, Capability(9, 0))
RTX_4090 = ("NVIDIA GeForce RTX 4090", 23.5, Capability(8, 9))
T4 = ("Tesla T4", 14.6, Capability(7, 5))


def request(
    model: str, gpu: Any, version: str = "0.25.1", pins: tuple[str, ...] = (), **given_: Any
) -> Request:
    name, total, capability = gpu
    used = given_.pop("used", 0)
    table = read_table(TABLES, version)
    text = (MODELS / model / "config.json").read_text(encoding="utf-8")
    return Request(
        model=parse_config(text, model),
        gpu=Gpu(name=name, total_bytes=int(total * GIB), capability=capability, used_bytes=used),
        version=version,
        flags=table,
        pins=read_pins(pins, table),
        **given_,
    )


def answer(asked: Request, **given_: Any) -> TuneReport:
    return report(asked, TABLES, name="MODEL", **given_)


def values(found: TuneReport) -> dict[str, str | None]:
    return {choice.name: choice.value for choice in found.flags}


def test_throughput_on_an_h200_takes_what_measured_fastest() -> None:
    found = answer(request("llama3.1-8b", H200))
    assert found.fits
    assert values(found) == {
        "--max-model-len": "131072",
        "--max-num-seqs": "512",
        "--max-num-batched-tokens": "8192",
    }
    seqs = found.flags[1]
    assert "requests of 1,280 tokens" in seqs.why
    assert "6044" in seqs.source
    assert found.command == (
        "vllm serve MODEL --max-model-len 131072 --max-num-seqs 512 --max-num-batched-tokens 8192"
    )
    assert (found.attention.backend, found.attention.fa_version) == ("FLASH_ATTN", 3)


def test_8b_in_bf16_fits_24_gib_with_a_shorter_context_and_says_which() -> None:
    asked = request("llama3.1-8b", RTX_4090)
    found = answer(asked)
    length = int(values(found)["--max-model-len"] or 0)
    assert found.fits
    assert found.exit_code == 0
    assert SHORTEST <= length < 131072
    assert length <= found.memory.longest_model_len * 0.96
    assert [item.id for item in found.findings] == ["FD792"]
    assert f"{length:,}" in found.findings[0].title
    assert any(item.option == "--allow fp8-kv" for item in found.proposals)
    assert "--kv-cache-dtype" not in values(found)


@pytest.mark.parametrize("goal", ["throughput", "latency", "long-context"])
def test_0_12_of_an_h200_is_not_enough(goal: Any) -> None:
    found = answer(request("llama3.1-8b", H200, pins=("gpu-memory-utilization=0.12",), goal=goal))
    assert not found.fits
    assert found.exit_code == 1
    printed = f"{found.refusal} {found.refusal_offline}"
    assert "No available memory for the cache blocks. Try increasing `gpu_memory" in printed
    assert found.findings[0].id == "FD791"
    assert values(found)["--gpu-memory-utilization"] == "0.12"
    options = [item.option for item in found.proposals]
    assert "--pin tensor-parallel-size=2" in options
    assert any(option.startswith("--pin gpu-memory-utilization") for option in options)


def test_each_rescue_that_can_be_typed_is_one() -> None:
    asked = request("llama3.1-8b", H200, pins=("gpu-memory-utilization=0.12",))
    found = answer(asked)
    tried = 0
    for item in found.proposals:
        if item.option.startswith("--max-model-len"):
            length = int(item.option.split()[1])
            assert answer(replace(asked, max_model_len=length)).fits
            tried += 1
        if item.option == "--allow fp8-kv":
            assert answer(replace(asked, allow=frozenset({"fp8-kv"}))).fits
            tried += 1
    assert tried == 2


def test_a_context_that_is_asked_for_is_not_shortened() -> None:
    found = answer(request("llama3.1-8b", RTX_4090, max_model_len=131072))
    assert not found.fits
    assert "131072" in (found.refusal or "")
    found = answer(request("llama3.1-8b", RTX_4090, pins=("max-model-len=131072",)))
    assert not found.fits
    shorter = answer(request("llama3.1-8b", RTX_4090, max_model_len=8192))
    assert shorter.fits
    assert values(shorter)["--max-model-len"] == "8192"


def test_fp8_kv_is_chosen_only_where_allowed_or_pinned() -> None:
    plain = answer(request("llama3.1-8b", H200))
    allowed = answer(request("llama3.1-8b", H200, allow=frozenset({"fp8-kv"})))
    pinned = answer(request("llama3.1-8b", H200, pins=("kv-cache-dtype=fp8",)))
    assert values(allowed)["--kv-cache-dtype"] == values(pinned)["--kv-cache-dtype"] == "fp8"
    assert allowed.memory.kv_tokens > 1.9 * plain.memory.kv_tokens
    assert allowed.memory.kv_tokens == pinned.memory.kv_tokens
    turing = answer(request("qwen2.5-0.5b", T4, allow=frozenset({"fp8-kv"})))
    assert "--kv-cache-dtype" not in values(turing)  # no kernel for it there


def test_pins_are_held_and_planned_around() -> None:
    pins = ("max-num-seqs=300", "max-num-batched-tokens=1024", "no-enable-prefix-caching",
            "served-model-name=x")  # fmt: skip
    found = answer(request("llama3.1-8b", H200, pins=pins))
    assert values(found) == {
        "--max-model-len": "131072", "--max-num-seqs": "300", "--max-num-batched-tokens": "1024",
        "--no-enable-prefix-caching": None, "--served-model-name": "x",
    }  # fmt: skip
    assert "--enable-prefix-caching" not in {choice.name for choice in found.kept}
    small = answer(request("llama3.1-8b", H200, pins=("max-num-batched-tokens=256",)))
    assert values(small)["--max-num-seqs"] == "256"
    assert "tokens of a step" in next(c.why for c in small.flags if c.name == "--max-num-seqs")


def test_a_backend_that_cannot_is_refused_in_vllms_words() -> None:
    found = answer(request("qwen2.5-0.5b", T4, pins=("attention-backend=FLASH_ATTN",)))
    assert not found.fits
    assert found.exit_code == 1
    assert (found.refusal or "").startswith("Selected backend FLASH_ATTN is not valid")
    assert found.findings[0].id == "FD790"


def test_goals_differ() -> None:
    latency = answer(request("llama3.1-8b", H200, goal="latency"))
    assert values(latency)["--max-num-batched-tokens"] == "2048"
    assert values(latency)["--performance-mode"] == "interactivity"
    assert "--performance-mode" not in values(
        answer(request("llama3.1-8b", H200, "0.10.2", goal="latency"))
    )
    through = answer(request("llama3.1-8b", RTX_4090))
    long = answer(request("llama3.1-8b", RTX_4090, goal="long-context"))
    assert long.memory.max_model_len > through.memory.max_model_len


def test_the_workload_decides_how_many_requests_run_at_once() -> None:
    long = answer(request("llama3.1-8b", H200, workload=Workload(64, 15000, 1000)))
    seqs = int(values(long)["--max-num-seqs"] or 0)
    held = long.memory.kv_tokens // 16000
    assert held - 8 <= seqs <= held
    assert "would be preempted" in long.flags[1].why


def test_several_gpus() -> None:
    small = answer(request("llama3.1-8b", H200, gpus=4))
    assert values(small)["--data-parallel-size"] == "4"
    assert "--tensor-parallel-size" not in values(small)
    assert small.gpus == 4
    quick = answer(request("llama3.1-8b", H200, gpus=4, goal="latency"))
    assert values(quick)["--tensor-parallel-size"] == "4"
    needed = answer(request("llama3.1-8b", RTX_4090, gpus=4))
    assert values(needed)["--tensor-parallel-size"] == "2"
    assert values(needed)["--data-parallel-size"] == "2"
    large = answer(request("deepseek-v3", H200, gpus=8))
    assert values(large)["--tensor-parallel-size"] == "8"
    assert large.attention.backend == "FLASH_ATTN_MLA"
    odd = answer(request("qwen2.5-7b", H200, gpus=8, goal="latency"))  # 28 heads
    assert values(odd)["--tensor-parallel-size"] == "4"
    pinned = answer(request("llama3.1-8b", H200, gpus=4, pins=("-tp=2",)))
    assert values(pinned)["--tensor-parallel-size"] == "2"
    assert pinned.gpus == 4


def test_a_model_of_states_only_has_no_attention() -> None:
    found = answer(request("codestral-mamba-7b", RTX_4090, allow=frozenset({"fp8-kv"})))
    assert found.fits
    assert found.attention.backend is None
    assert "no attention layers" in found.attention.why
    assert "--kv-cache-dtype" not in values(found)


def test_batch_and_cache_agree_where_memory_is_short() -> None:
    found = answer(request("gemma2-9b", RTX_4090))
    said = next(choice for choice in found.flags if choice.name == "--max-num-seqs")
    held = int(said.why.split("holds ")[1].split()[0].replace(",", ""))
    assert held - 8 < int(said.value or 0) <= held
    assert int(values(found)["--max-num-batched-tokens"] or 0) < 8192


def test_turing_gets_float16() -> None:
    found = answer(request("qwen2.5-0.5b", T4))
    assert values(found)["--dtype"] == "half"
    assert "no bfloat16" in next(c.why for c in found.flags if c.name == "--dtype")
    assert found.attention.backend == "TRITON_ATTN"


def test_graphs_outside_of_the_budget_find_room() -> None:
    card, pins = ("a card of 12 GiB", 11.6, Capability(8, 9)), ("max-num-seqs=512",)
    found = answer(request("qwen2.5-7b-awq", card, pins=pins))
    assert found.fits
    assert not found.memory.graphs_inside
    share = next(c for c in found.flags if c.name == "--gpu-memory-utilization")
    assert "on top of the budget" in share.why
    parts = found.memory.weights_gib + found.memory.activation_gib + found.memory.non_torch_gib
    assert parts + found.memory.kv_gib + found.memory.graphs_gib < 11.6
    held = answer(request("qwen2.5-7b-awq", card, pins=(*pins, "gpu-memory-utilization=0.92")))
    assert values(held)["--gpu-memory-utilization"] == "0.92"


def test_v0_has_no_graph_above_256() -> None:
    found = answer(request("qwen2.5-0.5b", H200, "0.6.6"))
    assert values(found)["--max-num-seqs"] == "256"
    assert "CUDA graphs cover" in next(c.why for c in found.flags if c.name == "--max-num-seqs")


def test_memory_of_others_lowers_the_share() -> None:
    found = answer(request("llama3.1-8b", H200, used=40 * GIB))
    share = float(values(found)["--gpu-memory-utilization"] or 0)
    assert share * 139.8 < 139.8 - 40
    assert "40.0 GiB" in next(c.why for c in found.flags if "utilization" in c.name)


@pytest.mark.parametrize(
    ("version", "variables"),
    [
        ("0.21.0", {}),
        ("0.22.1", {"VLLM_USE_V2_MODEL_RUNNER": "0"}),
        ("0.25.1", {"VLLM_WSL2_ENABLE_PIN_MEMORY": "1"}),
        ("0.30.0", {}),
    ],
)
def test_wsl_needs_a_variable(version: str, variables: dict[str, str]) -> None:
    found = answer(request("qwen2.5-7b", RTX_4090, version, wsl=2))
    assert {item.name: item.value for item in found.environment} == variables
    assert found.command.startswith("VLLM_" if variables else "vllm serve")
    assert answer(request("qwen2.5-7b", RTX_4090, version)).environment == ()


def test_an_old_engine_gets_chunks_and_its_own_start() -> None:
    found = answer(request("qwen2.5-7b", RTX_4090, "0.6.6"))
    assert found.engine == "V0"
    assert values(found)["--enable-chunked-prefill"] is None
    assert "--enable-prefix-caching" in values(found)
    older = answer(request("llama-2-7b", H200, "0.4.3"))
    assert older.command.startswith("python -m vllm.entrypoints.openai.api_server --model MODEL")


def test_every_flag_is_known_to_the_release_and_has_a_reason_and_a_source() -> None:
    for version in ("0.4.3", "0.6.6", "0.8.5", "0.10.2", "0.16.0", "0.25.1", "0.33.0"):
        for goal in ("throughput", "latency", "long-context"):
            asked = request("qwen2.5-7b", RTX_4090, version, goal=goal, gpus=2)
            found = answer(asked)
            for choice in (*found.flags, *found.kept, *found.environment):
                assert choice.why
                assert choice.source
                assert "{" not in choice.why
            names = {choice.name.lstrip("-") for choice in found.flags}
            assert names <= set(asked.flags.flags)


def test_the_plan_is_one_that_the_account_accepts() -> None:
    asked = request("llama3.1-8b", RTX_4090)
    decision = decide(asked, TABLES)
    again = memory.plan(asked.model, asked.gpu, decision.settings, asked.version, tables=TABLES)
    assert again.fits
    assert again == decision.memory


def test_json_is_the_contract() -> None:
    body = answer(request("llama3.1-8b", H200)).to_json()
    assert body["schema"] == "flashdoctor/tune/v1"
    assert {"total_gib", "budget_gib", "weights_gib", "activation_gib", "graphs_gib", "kv_gib",
            "kv_bytes_per_token", "kv_tokens", "max_model_len"} <= set(body["memory"])  # fmt: skip
    assert {"backend", "fa_version", "why"} <= set(body["attention"])
    assert all(set(flag) == {"name", "value", "why", "source"} for flag in body["flags"])
    assert body["memory"]["kv_bytes_per_token"] == 131072


def test_an_error_of_the_model_makes_the_exit_code_1() -> None:
    wrong = Finding(id="FD641", name="n", cause="n", outcome="fail", severity="error", title="t",
                    layer="framework")  # fmt: skip
    found = answer(request("llama3.1-8b", H200), findings=[wrong])
    assert (found.fits, found.exit_code) == (True, 1)


MIXED = ("llama3.1-8b", "gemma2-9b", "qwen3-30b-a3b", "deepseek-v2-lite", "gpt-oss-20b",
         "qwen2.5-7b-awq", "mistral-7b-v0.1", "codestral-mamba-7b")  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    model=st.sampled_from(MIXED),
    total=st.floats(4, 200),
    cc=st.sampled_from([(7, 0), (7, 5), (8, 0), (8, 9), (9, 0), (10, 0), (12, 0)]),
    version=st.sampled_from(["0.6.6", "0.8.5", "0.10.2", "0.11.0", "0.16.0", "0.25.1", "0.33.0"]),
    goal=st.sampled_from(["throughput", "latency", "long-context"]),
    gpus=st.integers(1, 8),
)
def test_whatever_is_asked_has_a_consistent_answer(
    *, model: str, total: float, cc: tuple[int, int], version: str, goal: Any, gpus: int
) -> None:
    asked = request(model, ("some GPU", total, Capability(*cc)), version, goal=goal, gpus=gpus)
    planner = Planner(asked, TABLES)
    decision: Decision = planner.decide()
    found = answer(asked)
    assert found.gpus <= gpus
    assert found.fits == decision.fits == (found.refusal is None)
    assert found.exit_code == int(not found.fits)
    if found.fits:
        assert decision.memory.fits
        assert found.memory.kv_gib > 0
        seqs, tokens = decision.settings.max_num_seqs or 1, decision.settings.max_num_batched_tokens
        assert 1 <= seqs <= (tokens or seqs)
        assert found.memory.max_model_len <= (asked.model.max_positions or 10**9)
    else:
        assert found.refusal
