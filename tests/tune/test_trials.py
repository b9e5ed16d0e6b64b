from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.model.trial import GpuUse, Outcome, Status, Trial
from flashdoctor.model.versions import Capability
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.flags import read_table
from flashdoctor.tune.memory import Gpu
from flashdoctor.tune.pins import read_pins
from flashdoctor.tune.plan import Planner, Request
from flashdoctor.tune.trials import (
    CHOSEN,
    DEFAULT,
    MOST,
    PEAK,
    SAME_PRECISION,
    best_of,
    compare,
    gain_of,
    read_engine,
    same_precision,
    trials_of,
)

TABLES = load_tables()
DATA = Path(__file__).resolve().parent.parent / "data"
NEW = read_table(TABLES, "0.25.1")


def planner(model: str = "llama3.1-8b", pins: tuple[str, ...] = (), **given_: Any) -> Planner:
    text = (DATA / "models" / model / "config.json").read_text(encoding="utf-8")
    gpu = Gpu(name="NVIDIA H200", total_bytes=int(139.8 * 2**30), capability=Capability(9, 0))
    asked = Request(model=parse_config(text, model), gpu=gpu, version="0.25.1", flags=NEW,
                    pins=read_pins(pins, NEW), **given_)  # fmt: skip
    return Planner(asked, TABLES)


def tried(used: Planner) -> dict[str, Trial]:
    return {one.trial.name: one.trial for one in trials_of(used, used.decide())}


def test_the_defaults_come_first_and_no_two_are_alike() -> None:
    found = tried(planner())
    assert list(found)[:2] == [DEFAULT, CHOSEN]
    assert len(found) <= MOST
    assert found[DEFAULT].settings == {"max_model_len": 131072}
    assert found[CHOSEN].settings == {
        "max_model_len": 131072, "max_num_seqs": 512, "max_num_batched_tokens": 8192}  # fmt: skip
    all_settings = [json.dumps(dict(trial.settings), sort_keys=True) for trial in found.values()]
    assert len(set(all_settings)) == len(all_settings)
    assert all(trial.why for trial in found.values())
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for name in found)


def test_outputs_change_only_where_allowed_and_then_the_dtype_is_tried_alone() -> None:
    assert not any("kv_cache_dtype" in trial.settings for trial in tried(planner()).values())
    allowed = tried(planner(allow=frozenset({"fp8-kv"})))
    assert allowed["defaults-fp8-kv"].settings == {
        "max_model_len": 131072, "kv_cache_dtype": "fp8"}  # fmt: skip
    assert "kv_cache_dtype" not in allowed[DEFAULT].settings
    assert list(allowed)[:3] == [DEFAULT, SAME_PRECISION, CHOSEN]
    plain = {k: v for k, v in allowed[CHOSEN].settings.items() if k != "kv_cache_dtype"}
    assert allowed[SAME_PRECISION].settings == plain
    assert len(allowed) <= MOST


def test_pins_are_held_in_every_trial() -> None:
    pins = ("max-num-seqs=100", "enforce-eager", "seed=7", "served-model-name=m",
            "no-enable-prefix-caching", "cpu-offload-gb=1", "kv-cache-dtype=fp8")  # fmt: skip
    for trial in tried(planner(pins=pins)).values():
        said = trial.settings
        assert said["max_num_seqs"] == 100
        assert said["enforce_eager"] is True
        assert said["enable_prefix_caching"] is False
        assert (said["seed"], said["served_model_name"], said["cpu_offload_gb"]) == (7, "m", 1.0)
        assert said["kv_cache_dtype"] == "fp8"


def outcome(name: str, tps: float | None, status: Status = "ran") -> Outcome:
    return Outcome(trial=Trial(name, {}, "why"), status=status, output_tps=tps)


def test_the_best_and_its_gain() -> None:
    outcomes = [
        outcome(DEFAULT, 5590.0), outcome(CHOSEN, 6044.0),
        outcome("requests-1024", None, "out-of-memory"), outcome("step-16384", 9e9, "timeout"),
    ]  # fmt: skip
    best = best_of(outcomes)
    assert best is outcomes[1]
    assert gain_of(best, outcomes) == pytest.approx(1.081, abs=0.001)
    assert gain_of(outcomes[2], outcomes) is None
    assert best_of([outcomes[2]]) is None
    assert gain_of(best, [best]) is None


def test_gains_at_the_same_precision_leave_fp8_out() -> None:
    fp8 = Outcome(
        trial=Trial(CHOSEN, {"kv_cache_dtype": "fp8"}, "why"), status="ran", output_tps=6611.0
    )
    outcomes = [outcome(DEFAULT, 5604.0), outcome(SAME_PRECISION, 6151.0), fp8]
    assert best_of(outcomes) is fp8
    assert best_of(same_precision(outcomes)) is outcomes[1]
    assert same_precision([fp8]) == ()


def test_the_peak_of_a_recorded_run() -> None:
    """618 MiB were in use before, 133,537 when the engine ran."""
    used = planner("qwen2.5-7b")
    use = GpuUse(gpu=0, before_mib=618, most_mib=133537, every_ms=100, samples=900)
    (peak,) = compare(used.account(used.base(1, entry="llm")), {}, use)
    assert peak.name == PEAK
    assert peak.real == pytest.approx(129.804, abs=0.001)
    assert abs(peak.error) < 0.03
    idle = use._replace(most_mib=618)
    assert compare(used.account(used.base(1, entry="llm")), {}, idle) == ()


def test_the_account_is_compared_with_what_a_recorded_engine_said() -> None:
    log = (DATA / "launch" / "qwen2.5-7b_default.log").read_text(encoding="utf-8")
    engine = read_engine(log)
    used = planner("qwen2.5-7b")
    base = used.base(1, entry="llm")
    figures = {item.name: item for item in compare(used.account(base), engine)}
    assert {"weights", "KV cache", "KV tokens"} <= set(figures)
    assert figures["KV tokens"].real == 2096192
    assert abs(figures["KV tokens"].error) < 0.03
    assert abs(figures["weights"].error) < 0.01


@given(st.text(max_size=200))
def test_any_log_can_be_read(log: str) -> None:
    assert all(isinstance(path, str) for path in read_engine(log))
