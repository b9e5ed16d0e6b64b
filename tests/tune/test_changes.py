"""What to change first: every change proposed lets the engine start."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.model.llm import Model
from flashdoctor.model.versions import Capability
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.memory import Change, Gpu, MemoryPlan, Settings, plan

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
TABLES = load_tables()
GIB = 1 << 30


def read_model(name: str) -> Model:
    return parse_config((MODELS / name / "config.json").read_text(encoding="utf-8"), name)


LLAMA = read_model("llama3.1-8b")


def card(gib: float) -> Gpu:
    return Gpu(name="RTX", total_bytes=int(gib * GIB), capability=Capability(8, 9))


def planned(
    gpu: Gpu, settings: Settings, version: str = "0.25.1", model: Model = LLAMA
) -> MemoryPlan:
    return plan(model, gpu, settings, version, tables=TABLES)


def applied(change: Change, settings: Settings) -> Settings:
    """Apply a flag as a user would."""
    name = change.flag.removeprefix("--").replace("-", "_")
    kind = next(str(field.type) for field in fields(Settings) if field.name == name)
    value: Any = change.value or True
    if "str" not in kind and value is not True:
        value = float(value) if "float" in kind else int(value)
    return replace(settings, **{name: value})


def flags(result: MemoryPlan) -> list[str]:
    return [change.flag for change in result.changes]


def test_what_fits_needs_no_change() -> None:
    assert planned(card(80), Settings()).changes == ()


def test_fp8_is_marked_as_changing_the_output() -> None:
    result = planned(card(26), Settings(max_model_len=100000, gpu_memory_utilization=0.95))
    assert not result.fits
    small = next(change for change in result.changes if change.flag == "--kv-cache-dtype")
    assert small.value == "fp8"
    assert small.changes_output
    assert not any(one.changes_output for one in result.changes if one is not small)
    assert result.changes.index(small) > 0


def test_a_smaller_batch_where_the_peak_fills_the_card() -> None:
    large = Settings(max_num_batched_tokens=65536, max_model_len=4096)
    result = planned(card(23.55), large)
    assert not result.fits
    assert flags(result)[0] == "--max-num-batched-tokens"


def test_a_batch_below_the_sequences_grows() -> None:
    few = Settings(max_num_batched_tokens=64, max_num_seqs=128, max_model_len=1024)
    assert flags(planned(card(80), few))[:2] == ["--max-num-batched-tokens", "--max-num-seqs"]


def test_less_of_the_card_where_others_hold_some() -> None:
    busy = replace(card(80), used_bytes=30 * GIB)
    result = planned(busy, Settings(max_model_len=8192))
    change = result.changes[0]
    assert (change.flag, change.value) == ("--gpu-memory-utilization", "0.62")


def test_a_shorter_context_where_whole_prompts_are_run() -> None:
    whole = Settings(enable_chunked_prefill=False)
    result = planned(card(23.55), whole)
    assert "--max-model-len" in flags(result)


def test_the_smallest_number_of_gpus() -> None:
    result = planned(card(15), Settings(max_model_len=8192))
    assert [change.value for change in result.changes if "parallel" in change.flag] == ["2"]


def test_graphs_that_the_budget_pays_for_can_be_left_out() -> None:
    settings = Settings(max_model_len=16384, gpu_memory_utilization=0.9)
    exact = next(
        size / 10 for size in range(180, 260) if planned(card(size / 10), settings, "0.33.0").fits
    )
    result = planned(card(exact - 0.3), settings, "0.33.0")
    assert not result.fits
    assert "--enforce-eager" in flags(result)


_SETTINGS = st.builds(
    Settings,
    max_model_len=st.sampled_from([None, 1024, 32768, 131072, 200000]),
    max_num_batched_tokens=st.sampled_from([None, 16, 2048, 65536]),
    max_num_seqs=st.sampled_from([None, 8, 1024, 4000]),
    enable_chunked_prefill=st.sampled_from([None, False]),
    gpu_memory_utilization=st.sampled_from([None, 0.1, 0.5, 1.0]),
)


@given(
    gib=st.floats(1, 100),
    used=st.floats(0, 0.9),
    settings=_SETTINGS,
    version=st.sampled_from(["0.6.3", "0.9.0", "0.10.2", "0.25.1", "0.33.0"]),
    name=st.sampled_from(["llama3.1-8b", "gemma2-9b", "qwen2.5-0.5b"]),
)
def test_every_change_is_enough(
    gib: float, used: float, settings: Settings, version: str, name: str
) -> None:
    gpu = replace(card(gib), used_bytes=int(gib * used * GIB))
    model = read_model(name)
    result = planned(gpu, settings, version, model)
    assert len(set(flags(result))) == len(flags(result))
    for change in result.changes:
        again = planned(gpu, applied(change, settings), version, model)
        assert again.fits, (change, again.refusal)
