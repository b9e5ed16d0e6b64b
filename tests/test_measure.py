"""Trials in a target whose vLLM is a stand-in: it serves, runs out of memory, hangs, dies."""

from __future__ import annotations

import json
import os
import signal
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from flashdoctor import measure
from flashdoctor.data.tables import load_tables
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.engine.derive import derive
from flashdoctor.measure import Place, new_log_folder, run_trial
from flashdoctor.model.trial import Outcome, Trial
from flashdoctor.model_folder import read_model
from flashdoctor.probes import memory_watch
from flashdoctor.tune.ask import read_request
from flashdoctor.tune.plan import Planner, Workload
from flashdoctor.tune.trials import PEAK

MODELS = Path(__file__).resolve().parent / "data" / "models"

VLLM = """
import os, sys, time

def use(mib):
    if "FAKE_GPU" in os.environ:
        with open(os.environ["FAKE_GPU"] + ".new", "w") as file:
            file.write(str(mib))
        os.replace(os.environ["FAKE_GPU"] + ".new", os.environ["FAKE_GPU"])

class SamplingParams:
    def __init__(self, max_tokens, **others):
        self.max_tokens = max_tokens

class Answer:
    def __init__(self, count):
        self.outputs = [type("Output", (), {"token_ids": list(range(count))})()]

class LLM:
    def __init__(self, model, **settings):
        use(618)
        time.sleep(0.3)
        print("INFO 11-30 10:00:00 [kv_cache_utils.py:1] GPU KV cache size: 2,096,192 tokens")
        print("settings", sorted(settings.items()))
        print("Actual usage is 14.99 GiB for weight, 0.85 GiB for peak activation, 0.27 GiB for"
              " non-torch memory, and 0.98 GiB for CUDAGraph memory.")
        use(132_000)
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
        if len(prompts) == 16:
            use(133_421)
            time.sleep(0.4)
            use(132_500)
        return [Answer(params.max_tokens) for _ in prompts]
"""
NVML = """
import os, types

class NVMLError(Exception):
    pass

def nvmlInit():
    pass

def nvmlDeviceGetCount():
    return 2

def nvmlDeviceGetHandleByIndex(index):
    return index

def nvmlDeviceGetMemoryInfo(handle):
    if handle == 0:
        return types.SimpleNamespace(used=70_000 << 20)
    return types.SimpleNamespace(used=int(open(os.environ["FAKE_GPU"]).read()) << 20)
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


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a second GPU behind a stand-in for pynvml: 618 MiB are in use until an engine loads."""
    package, library = tmp_path / "nvml", tmp_path / "driver" / "libnvidia-ml.so.1"
    package.mkdir()
    (package / "pynvml.py").write_text(NVML, encoding="utf-8")
    library.parent.mkdir()
    library.write_bytes(b"")
    used = tmp_path / "used"
    used.write_text("618", encoding="utf-8")
    monkeypatch.syspath_prepend(str(package))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent))
    monkeypatch.setenv("FAKE_GPU", str(used))
    return used


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


@pytest.mark.usefixtures("gpu")
def test_the_peak_is_what_the_gpu_had_in_use_at_the_most(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(place.model).parent / "site"))
    planner = plan_for_h200()
    measured = measure.measure(
        planner, planner.decide(), place, diagnose=lambda _log: "", minutes=0.0
    )
    chosen = measured.outcomes[1]
    assert chosen.gpu_use is not None
    assert (chosen.gpu_use.gpu, chosen.gpu_use.before_mib) == (1, 618)
    assert chosen.gpu_use.most_mib == 133_421
    assert chosen.gpu_use.every_ms == memory_watch.EVERY_MS
    assert chosen.gpu_use.samples > 3
    compared = {item.name: item for item in measured.compared}
    assert set(compared) == {"activations", "KV tokens", PEAK}
    assert compared["activations"].real == pytest.approx(0.85)
    peak = compared[PEAK]
    assert peak.real == pytest.approx((133_421 - 618) / 1024, abs=0.001)
    assert peak.predicted == pytest.approx(planner.account(planner.decide().settings).peak_bytes
                                           / 2**30, rel=0.01)  # fmt: skip
    assert "NVML every 100 ms" in peak.source
    body = measured.to_json()
    assert body["trials"][1]["gpu_memory"]["most_mib"] == 133_421
    assert body["compared"][-1]["name"] == PEAK
    assert body["trials"][0]["compared"], "each trial has its own account"


def test_without_nvml_there_is_no_peak(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_watch, "may_exist", lambda _environ: False)
    monkeypatch.setenv("PYTHONPATH", str(Path(place.model).parent / "site"))
    planner = plan_for_h200()
    measured = measure.measure(
        planner, planner.decide(), place, diagnose=lambda _log: "", minutes=0.0
    )
    assert [item.gpu_use for item in measured.outcomes] == [None, None]
    assert PEAK not in {item.name for item in measured.compared}


def test_where_fp8_is_allowed_both_precisions_are_measured_first(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(place.model).parent / "site"))
    planner = plan_for_h200(allow=("fp8-kv",))
    measured = measure.measure(
        planner, planner.decide(), place, diagnose=lambda _log: "", minutes=0.0
    )
    names = [item.trial.name for item in measured.outcomes]
    assert names == ["defaults", "same-precision", "chosen"]
    assert measured.same_precision in {"defaults", "same-precision"}
    assert measured.same_precision_gain is not None


def test_what_was_measured_stays_when_somebody_ends_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(place.model).parent / "site"))
    planner = plan_for_h200()

    def end_the_third(done: int, _total: int, _name: str) -> None:
        if done == 2:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    measured = measure.measure(
        planner, planner.decide(), place, diagnose=lambda _log: "", progress=end_the_third
    )
    assert measured.interrupted
    assert [item.trial.name for item in measured.outcomes] == ["defaults", "chosen"]
    assert measured.left_out
    kept = json.loads((Path(measured.logs) / measure.RESULTS).read_text(encoding="utf-8"))
    assert [item["name"] for item in kept["trials"]] == ["defaults", "chosen"]


def test_a_neighbour_is_ended_with_the_time(place: Place) -> None:
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(place.model).parent / "site")}
    trial = Trial(name="it", settings={"max_num_seqs": 3}, why="")
    outcome = run_trial(place, trial, WORK, environ=environ, limit_s=1.5)
    assert outcome.status == "timeout"


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


def plan_for_h200(*pins: str, allow: tuple[str, ...] = ()) -> Planner:
    tables = load_tables()
    facts = derive(read_assumptions(["gpu=NVIDIA H200"]), tables)
    model = read_model(str(MODELS / "llama3.1-8b"))
    work = Workload(requests=16, prompt=8, output=4)
    request = read_request(
        model, facts, "0.25.1", "throughput", tables, pins=pins, allow=allow, workload=work
    )
    return Planner(request, tables)


def test_an_outcome_is_json(place: Place) -> None:
    body = tried(place, max_num_seqs=8).to_json()
    assert body["status"] == "ran"
    assert body["settings"] == {"max_num_seqs": 8}
