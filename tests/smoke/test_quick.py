"""The quick look inside a check: which cases, which facts, and what the check says then."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flashdoctor import pipeline
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.style import Style
from flashdoctor.render.terminal import render
from flashdoctor.smoke.quick import QuickLook
from flashdoctor.smoke.skipped import PATHS, not_run
from flashdoctor.target.live import Import, run_live

ENVIRON = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
SOUND = ("gpu=NVIDIA H200", "driver=580.95.05", "torch=2.11.0+cu130", "torch.cudnn=9.19.0.56",
         "flash_attn=2.8.3", "python=3.11.9", "platform=linux_x86_64", "glibc=2.35",
         "flash_attn_3.version=absent", "flash_attn_4.version=absent", "vllm=absent",
         "transformers=absent")  # fmt: skip
START = {"torch": "2.11.0+cu130", "device": "NVIDIA H200", "capability": "9.0"}


@pytest.fixture
def look(
    python: Path, play: Callable[..., None], stack: Any, kernels: Mapping[str, str]
) -> Callable[..., Snapshot]:
    """Return a function that takes a quick look at a sound H200, some cases changed."""
    hits = {
        "sdpa-default-d128": ([kernels["cudnn"]], 0.5),
        "sdpa-flash-d128": ([kernels["torch-flash"]], 0.9),
        "sdpa-math-d128": ([kernels["math gemm"], kernels["math softmax"]], 26.0),
        "flash-attn-d128": ([kernels["fa2"]], 0.8),
    }

    def run(*required: Any, start: Mapping[str, Any] = START, **changed: Any) -> Snapshot:
        parts: dict[str, Any] = {
            name: {"result": {"kernels": names, "ms": ms, "profiler": "ok"}}
            for name, (names, ms) in hits.items()
        }
        for name, given in changed.items():
            parts[name.replace("_", "-")] = given
        play(parts, start)
        facts = stack(*SOUND)
        ran = snapshots.merge(snapshots.of([known("live.kernel_ran", True, "x")]), facts)
        found = snapshots.of(QuickLook(facts, required).facts(python, ran, ENVIRON))
        assert set(found.facts) == set(PATHS)
        return snapshots.merge(found, facts)

    return run


def check(facts: Snapshot, *required: Any) -> tuple[Any, str]:
    report = pipeline.judge_snapshot(pipeline._redacted(facts), required=required)
    return report, render(report, Style(width=100))


def test_a_proof_is_named_in_the_pass(look: Any) -> None:
    report, text = check(look(), "flash-attn", "sdpa")
    assert (report.verdict, report.exit_code) == ("pass", 0)
    assert "FA2 proven: flash::flash_fwd_kernel, 0.80 ms, 32 x math; besides cuDNN's kernel" in text
    json.dumps(report.to_json(), allow_nan=False)


def test_what_is_not_installed_is_not_proven(look: Any) -> None:
    report, _ = check(look(), "fa3")
    assert report.exit_code == 1
    assert {"FD331", "FD414"} <= {item.id for item in report.findings}


def test_a_refusal_is_an_error_where_it_is_required(look: Any) -> None:
    told = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
    refused = {"result": {"status": "refused", "kernels": [], "messages": [told]}}
    facts = look(flash_attn_d128=refused)
    assert check(facts)[0].exit_code == 0
    report, _ = check(facts, "flash-attn")
    assert (report.exit_code, report.findings[0].id) == (1, "FD413")
    assert report.findings[0].cause in {"flash-attn-needs-ampere", "flash-attn-arch-not-built"}


def test_a_wrong_output_fails_any_check(look: Any) -> None:
    report, _ = check(look(sdpa_flash_d128={"result": {"status": "wrong"}}))
    assert (report.exit_code, report.findings[0].id) == (1, "FD410")


def test_a_death_fails_any_check(look: Any) -> None:
    report, _ = check(look(flash_attn_d128={"die": True}))
    assert (report.exit_code, report.findings[0].id) == (1, "FD411")


def test_without_a_profiler_what_is_required_is_not_established(look: Any) -> None:
    blind = {"result": {"kernels": [], "profiler": "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"}}
    names = ("sdpa_default_d128", "sdpa_flash_d128", "sdpa_math_d128", "flash_attn_d128")
    facts = look(**dict.fromkeys(names, blind))
    report, text = check(facts, "flash-attn")
    assert (report.verdict, report.exit_code) == ("undetermined", 3)
    assert report.missing == ("smoke.proven",)
    assert "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" in text
    report, text = check(facts)
    assert report.exit_code == 0
    assert "nothing is proven" in text


def test_a_torch_that_does_not_start_again_proves_nothing(look: Any) -> None:
    facts = look(start={"die": True})
    assert facts.value("smoke.status") == "error"
    assert check(facts, "sdpa")[0].exit_code == 3
    assert check(facts)[0].exit_code == 0


def test_assumed_facts_fit_and_prove_nothing(stack: Any) -> None:
    report, text = check(stack(*SOUND), "flash-attn")
    assert (report.verdict, report.exit_code) == ("pass", 0)
    assert "nothing was run or proven" in text
    left_out = snapshots.merge(snapshots.of(not_run("--smoke off")), stack(*SOUND))
    assert check(left_out, "flash-attn")[0].verdict == "pass"


TORCH = """\
import types
__version__ = "2.11.0+cu130"
version = types.SimpleNamespace(cuda="13.0")
float32 = "f"
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 91900))
cuda = types.SimpleNamespace(
    is_available=lambda: True, device_count=lambda: 1, init=lambda: None,
    get_device_capability=lambda index: (9, 0), get_arch_list=lambda: ["sm_90"],
    synchronize=lambda: None,
)
class Matrix:
    __add__ = __mod__ = __matmul__ = reshape = to = lambda self, *_: self
    cpu = lambda self: self
arange = lambda count, dtype: Matrix()
equal = lambda left, right: True
with open(__file__ + ".starts", "a") as file:
    file.write("x")
"""
CASES = ("sdpa-default-d128", "sdpa-flash-d128", "sdpa-math-d128", "flash-attn-d128")


class Together:
    """A live import whose first child also takes the quick look; torch is a stub."""

    def __init__(self, folder: Path, python: Path, facts: Snapshot) -> None:
        self._file = folder / "torch.py"
        self._python, self._facts = python, facts
        self.torch()

    def torch(self, old: str = "", new: str = "") -> None:
        assert old in TORCH
        self._file.write_text(TORCH.replace(old, new, 1), encoding="utf-8")

    def run(self, *modules: str, **limits: float) -> tuple[Snapshot, list[tuple[str, str]]]:
        """Return the facts, and the status of each case."""
        environ = {**ENVIRON, "PYTHONPATH": str(self._file.parent)}
        look = QuickLook(self._facts, ())
        imports = [Import(module=name) for name in modules]
        live = run_live(self._python, imports=imports, environ=environ, guest=look, **limits)
        found = snapshots.merge(snapshots.of(live), self._facts)
        found = snapshots.merge(found, snapshots.of(look.facts(self._python, found, environ)))
        cases = found.value("smoke.cases") or []
        return found, [(item["name"], item["status"]) for item in cases]

    @property
    def starts(self) -> int:
        """How often torch was imported."""
        file = self._file.with_name("torch.py.starts")
        return len(file.read_text(encoding="utf-8")) if file.exists() else 0


@pytest.fixture
def together(tmp_path: Path, python: Path, stack: Any) -> Together:
    folder = tmp_path / "packages"
    folder.mkdir()
    return Together(folder, python, stack(*SOUND))


def statuses(**changed: str) -> list[tuple[str, str]]:
    return [(name, changed.get(name.replace("-", "_"), "inferred")) for name in CASES]


def imports_of(found: Snapshot) -> list[tuple[str, str]]:
    return [(row["module"], row["status"]) for row in found.value("live.imports")]


def test_torch_starts_once_for_the_live_import_and_the_cases(
    together: Together, play: Callable[..., None]
) -> None:
    play(start=START)
    found, cases = together.run("json", "no_such_module")
    assert cases == statuses()
    assert imports_of(found) == [("json", "ok"), ("no_such_module", "error")]
    assert (found.value("live.status"), found.value("live.kernel_ran")) == ("ok", True)
    assert together.starts == 1


@pytest.mark.parametrize(
    "part",
    [{"die": True}, {"result": {"status": "error", "fatal": True}}],
    ids=["dies", "gives up"],
)
def test_a_case_that_ends_the_process_costs_nothing_else(
    together: Together, play: Callable[..., None], part: Any
) -> None:
    play({"sdpa-flash-d128": part}, START)
    found, cases = together.run("json")
    assert cases == statuses(sdpa_flash_d128="died")
    assert imports_of(found) == [("json", "ok")]
    assert (found.value("live.status"), found.value("live.kernel_ran")) == ("ok", True)
    assert found["live.error"].state == "absent"
    assert together.starts == 2  # once more for the import; the played agent imports no torch


def test_a_case_that_hangs_is_killed_at_its_limit(
    together: Together, play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashdoctor.smoke.run._Work._limit", lambda _self, _name: 1.0)
    play({"flash-attn-d128": {"hang": True}}, START)
    found, cases = together.run("json")
    assert cases == statuses(flash_attn_d128="timeout")
    assert "within 1 s" in found.value("smoke.cases")[-1]["reason"]
    assert imports_of(found) == [("json", "ok")]


def test_a_case_may_take_longer_than_all_that_is_live(
    together: Together, play: Callable[..., None]
) -> None:
    play({"flash-attn-d128": {"wait": 4.0}}, START)
    found, cases = together.run("json", timeout_s=3.0, silence_s=2.0)
    assert cases == statuses()
    assert imports_of(found) == [("json", "ok")]


def test_an_import_that_dies_behind_the_cases_leaves_them_as_they_are(
    together: Together, play: Callable[..., None]
) -> None:
    play(start=START)
    (together._file.parent / "bad.py").write_text("import os; os.abort()", encoding="utf-8")
    found, cases = together.run("bad", "json")
    assert cases == statuses()
    assert imports_of(found) == [("bad", "crashed"), ("json", "ok")]
    assert together.starts == 2


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("lambda left, right: True", "lambda left, right: False", "ok"),
        ("lambda: None,\n    get_dev", "__import__('os').abort,\n    get_dev", "crashed"),
        ("import types", "raise ImportError('no')", "error"),
    ],
)
def test_no_case_runs_where_no_kernel_of_torch_ran(
    together: Together, play: Callable[..., None], old: str, new: str, status: str
) -> None:
    play(start=START)
    together.torch(old, new)
    found, cases = together.run()
    assert (cases, found.value("live.status")) == ([], status)
    assert (found.value("smoke.status"), found["smoke.proven"].reason) == (
        "not-run", "no kernel of torch ran before",
    )  # fmt: skip


def test_the_cases_are_the_same_whatever_cudnn_is_loaded(stack: Any) -> None:
    facts = stack(*SOUND)
    for version in ("8.9.2", "9.10.2", "9.19.0"):
        live = snapshots.of([known("live.cudnn", version, "x")])
        told = QuickLook(snapshots.merge(live, facts), ("fa3", "vllm")).options()
        plain = QuickLook(facts, ("fa3", "vllm")).options()
        assert told["cases"] == plain["cases"]
