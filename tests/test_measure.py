"""Trials in a target whose vLLM is a stand-in: it serves, runs out of memory, hangs, dies."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from flashdoctor import measure
from flashdoctor.data.tables import load_tables
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.engine.derive import derive
from flashdoctor.measure import Place, new_log_folder, run_trial
from flashdoctor.model.trial import Outcome, Trial
from flashdoctor.model_folder import read_model
from flashdoctor.tune.ask import read_request
from flashdoctor.tune.plan import Planner, Workload

MODELS = Path(__file__).resolve().parent / "data" / "models"

VLLM = """
import os, sys, time

class SamplingParams:
    def __init__(self, max_tokens, **others):
        self.max_tokens = max_tokens

class Answer:
    def __init__(self, count):
        self.outputs = [type("Output", (), {"token_ids": list(range(count))})()]

class LLM:
    def __init__(self, model, **settings):
        print("INFO 11-30 10:00:00 [kv_cache_utils.py:1] GPU KV cache size: 2,096,192 tokens")
        print("settings", sorted(settings.items()))
        sys.stdout.flush()
        if settings.get("max_num_seqs") == 1:
            raise ValueError("No available memory for the cache blocks. Try more.")
        if settings.get("max_num_seqs") == 2:
            raise TypeError("LLM got an unexpected keyword argument 'x'")
        if settings.get("max_num_seqs") == 3:
            time.sleep(60)
        if settings.get("max_num_seqs") == 4:
            os._exit(9)

    def generate(self, prompts, params, use_tqdm):
        self.kind = type(prompts[0]).__name__
        time.sleep(0.002 * len(prompts))
        return [Answer(params.max_tokens) for _ in prompts]
"""
WORK = {"requests": 16, "prompt_tokens": 8, "output_tokens": 4}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    package = tmp_path / "site" / "vllm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(textwrap.dedent(VLLM), encoding="utf-8")
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}", encoding="utf-8")
    return Place(python=Path(sys.executable), model=str(model), logs=new_log_folder(tmp_path))


def tried(place: Place, prompts: tuple[str, ...] = (), **settings: int) -> Outcome:
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(place.model).parent / "site")}
    trial = Trial(name="it", settings=settings, why="")
    return run_trial(place, trial, WORK, prompts=prompts, environ=environ)


def test_a_trial_that_runs_is_timed(place: Place) -> None:
    outcome = tried(place, max_num_seqs=512)
    assert outcome.ran, outcome.error
    assert outcome.output_tps is not None
    assert outcome.seconds is not None
    assert outcome.output_tps == pytest.approx(16 * 4 / outcome.seconds, rel=0.05)
    assert outcome.ttft_ms is not None
    assert outcome.start_s is not None
    log = Path(outcome.log).read_text(encoding="utf-8")
    assert "GPU KV cache size: 2,096,192 tokens" in log
    assert "('load_format', 'dummy')" in log, "a folder without weights gets random ones"
    assert "('skip_tokenizer_init', True)" in log


def test_given_prompts_need_the_tokenizer(place: Place) -> None:
    outcome = tried(place, prompts=("one", "two"))
    assert outcome.ran, outcome.error
    assert "skip_tokenizer_init" not in Path(outcome.log).read_text(encoding="utf-8")


def test_a_model_with_weights_keeps_them(place: Place) -> None:
    (Path(place.model) / "model.safetensors").write_bytes(b"")
    outcome = tried(place)
    assert "load_format" not in Path(outcome.log).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("seqs", "status", "words"),
    [
        (1, "out-of-memory", "No available memory for the cache blocks"),
        (2, "refused", "unexpected keyword argument"),
        (4, "died", "ended with status 9"),
    ],
)
def test_a_failure_is_a_result(place: Place, seqs: int, status: str, words: str) -> None:
    outcome = tried(place, max_num_seqs=seqs)
    assert outcome.status == status
    assert words in outcome.error
    assert outcome.output_tps is None


def test_a_hang_is_ended(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "START_S", 2.0)
    outcome = tried(place, max_num_seqs=3)
    assert outcome.status == "timeout"


def test_without_vllm_it_is_refused(place: Place) -> None:
    (Path(place.model).parent / "site" / "vllm" / "__init__.py").unlink()
    (Path(place.model).parent / "site" / "vllm").rmdir()
    outcome = tried(place)
    assert (outcome.status, "No module named 'vllm'" in outcome.error) == ("refused", True)


def test_a_python_that_is_not_there_is_a_result(place: Place) -> None:
    outcome = tried(place._replace(python=Path("/nowhere/python")))
    assert outcome.status == "died"


def test_logs_of_before_stay(tmp_path: Path) -> None:
    first, second = new_log_folder(tmp_path), new_log_folder(tmp_path)
    assert (first.name, second.name) == ("trials-1", "trials-2")


def test_the_defaults_the_choice_and_its_neighbours_are_compared(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(place.model).parent / "site"))
    told: list[tuple[int, int, str]] = []
    planner = plan_for_h200()
    measured = measure.measure(
        planner, planner.decide(), place,
        diagnose=lambda _log: "", progress=lambda *what: told.append(what),
    )  # fmt: skip
    names = [outcome.trial.name for outcome in measured.outcomes]
    assert names[:2] == ["defaults", "chosen"]
    assert len(told) == len(names) > 3
    assert all(outcome.ran for outcome in measured.outcomes)
    assert measured.best in names
    assert measured.gain is not None
    assert measured.gain >= 1
    (tokens,) = [item for item in measured.compared if item.name == "KV tokens"]
    assert tokens.real == 2096192
    assert measured.to_json()["trials"][0]["engine"]["engine.kv_tokens"] == 2096192


def test_no_trial_begins_after_the_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(place.model).parent / "site"))
    planner = plan_for_h200()
    measured = measure.measure(
        planner, planner.decide(), place, diagnose=lambda _log: "", minutes=0.0
    )
    assert len(measured.outcomes) == 2, "the defaults and the choice are always tried"
    assert measured.left_out


def test_a_log_names_the_cause(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(place.model).parent / "site"))
    planner = plan_for_h200("max-num-seqs=4")
    measured = measure.measure(
        planner, planner.decide(), place, diagnose=lambda _log: "kv-cache-no-memory", minutes=0.0
    )
    assert {item.status for item in measured.outcomes} == {"out-of-memory"}
    assert measured.best is None


def plan_for_h200(*pins: str) -> Planner:
    tables = load_tables()
    facts = derive(read_assumptions(["gpu=NVIDIA H200"]), tables)
    model = read_model(str(MODELS / "llama3.1-8b"))
    work = Workload(requests=16, prompt=8, output=4)
    return Planner(
        read_request(model, facts, "0.25.1", "throughput", tables, pins=pins, workload=work), tables
    )


def test_an_outcome_is_json(place: Place) -> None:
    body = tried(place, max_num_seqs=8).to_json()
    assert body["status"] == "ran"
    assert body["settings"] == {"max_num_seqs": 8}
