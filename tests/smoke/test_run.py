from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.smoke import run as module
from flashdoctor.smoke.run import SmokeRun, run_cases
from tests.processes import comes_true, is_alive

ENVIRON = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
ABC = ("a", "b", "c")
Play = Callable[..., None]


def run(python: Path, cases: Any, **given: Any) -> SmokeRun:
    return run_cases(python, cases, environ=ENVIRON, **given)


def statuses(done: SmokeRun) -> dict[str, str]:
    return {str(event["name"]): str(event["status"]) for event in done.results}


def test_one_child_runs_all(python: Path, play: Play, make_cases: Any) -> None:
    play(start={"torch": "2.11.0", "device": "NVIDIA H200", "import_s": 2.0})
    done = run(python, make_cases(ABC))
    assert statuses(done) == {"a": "ran", "b": "ran", "c": "ran"}
    assert (done.children, done.error, done.start["device"]) == (1, "", "NVIDIA H200")
    assert len({event["child"] for event in done.results}) == 1


def test_a_case_that_dies_says_so_and_the_rest_goes_on(
    python: Path, play: Play, make_cases: Any
) -> None:
    play({"b": {"die": True, "say": "RuntimeError: illegal memory access\n"}})
    done = run(python, make_cases(ABC))
    assert statuses(done) == {"a": "ran", "b": "died", "c": "ran"}
    assert done.children == 2
    (said,) = done.results[1]["messages"]
    assert "SIGSEGV" in said
    assert "illegal memory access" in said


def test_a_case_that_hangs_is_killed_at_its_own_limit(
    python: Path, play: Play, make_case: Any
) -> None:
    play({"b": {"hang": True}, "a": {"wait": 1.5}})
    cases = [make_case("a", limit_s=20.0), make_case("b", limit_s=1.0), make_case("c")]
    started = time.monotonic()
    done = run(python, cases)
    assert statuses(done) == {"a": "ran", "b": "timeout", "c": "ran"}
    assert "within 1 s" in done.results[1]["messages"][0]
    assert time.monotonic() - started < 15


def test_a_context_that_is_lost_gets_a_new_child(python: Path, play: Play, make_cases: Any) -> None:
    play({"b": {"result": {"status": "error", "fatal": True}}})
    done = run(python, make_cases(ABC))
    assert statuses(done) == {"a": "ran", "b": "error", "c": "ran"}
    assert done.children == 2
    assert done.results[0]["child"] == done.results[1]["child"] != done.results[2]["child"]


def test_a_death_between_two_cases_is_the_next_ones_only_where_nothing_else_is_left(
    python: Path, play: Play, make_cases: Any
) -> None:
    play({"b": {"die between": True}})
    done = run(python, make_cases(ABC))
    assert statuses(done) == {"a": "ran", "b": "died", "c": "ran"}
    assert "status 7" in done.results[1]["messages"][0]


def test_every_case_may_die(python: Path, play: Play, make_cases: Any) -> None:
    play({name: {"die": True} for name in ABC})
    done = run(python, make_cases(ABC))
    assert statuses(done) == dict.fromkeys(ABC, "died")
    assert done.children == 3


def test_a_case_that_is_left_out_is_an_error(python: Path, play: Play, make_cases: Any) -> None:
    play({"b": {"leave out": True}})
    assert statuses(run(python, make_cases(ABC))) == {"a": "ran", "b": "error", "c": "ran"}


def test_output_without_end_is_cut(python: Path, play: Play, make_cases: Any) -> None:
    play({"b": {"flood": True}})
    assert statuses(run(python, make_cases(ABC))) == {"a": "ran", "b": "died", "c": "ran"}


def test_a_torch_that_does_not_start_leaves_all_undone(
    python: Path, play: Play, make_cases: Any
) -> None:
    play(start={"die": True})
    done = run(python, make_cases(ABC))
    assert statuses(done) == dict.fromkeys(ABC, "not-run")
    assert "SIGSEGV" in done.error
    assert done.children == 1


def test_a_torch_that_hangs_leaves_all_undone(
    python: Path, play: Play, make_cases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "START_S", 1.0)
    play(start={"hang": True})
    done = run(python, make_cases(ABC))
    assert statuses(done) == dict.fromkeys(ABC, "not-run")
    assert "did not answer within 1 s" in done.error


def test_no_interpreter_leaves_all_undone(tmp_path: Path, make_cases: Any) -> None:
    done = run(tmp_path / "gone", make_cases(ABC))
    assert statuses(done) == dict.fromkeys(ABC, "not-run")
    assert "cannot be started" in done.error


def test_no_case_starts_nothing(python: Path) -> None:
    assert run(python, []).children == 0


def test_progress_comes_while_cases_run(python: Path, play: Play, make_cases: Any) -> None:
    play({"b": {"wait": 0.5}, "c": {"die": True}})
    seen: list[tuple[float, int, int, str]] = []

    def note(done: int, total: int, name: str) -> None:
        seen.append((time.monotonic(), done, total, name))

    run(python, make_cases(ABC), progress=note)
    assert [item[1:] for item in seen] == [
        (0, 3, "starting torch"), (0, 3, "a"), (1, 3, "b"), (2, 3, "c"),
    ]  # fmt: skip
    assert seen[3][0] - seen[2][0] > 0.3


def test_each_run_has_inputs_of_its_own(python: Path, play: Play, make_cases: Any) -> None:
    play()
    seeds = [run(python, make_cases("a")).results[0]["options"]["seed"] for _ in range(2)]
    assert seeds[0] != seeds[1]
    done = run(python, make_cases("a"), options={"seed": 7, "quick": True})
    assert done.results[0]["options"] == {"seed": 7, "quick": True}


def test_the_agent_gets_each_case_as_it_stands(python: Path, play: Play, make_case: Any) -> None:
    play()
    case = make_case("a", mask=True, features=("paged",), dtype="fp16")
    assert run(python, [case]).results[0]["asked_case"] == case.to_agent()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_an_interrupt_ends_the_child_and_keeps_what_had_ended(
    python: Path, play: Play, make_cases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    play({"b": {"hang": True}})
    pids: list[int] = []
    heard = module._Work.hear

    def hear(work: Any, event: Any) -> float | None:
        pids.extend([event["pid"]] if "pid" in event else [])
        silent_s = heard(work, event)
        if event.get("name") == "b":
            os.kill(os.getpid(), signal.SIGINT)
        return silent_s

    monkeypatch.setattr(module._Work, "hear", hear)
    done = run(python, make_cases(ABC))
    assert statuses(done) == {"a": "ran"}
    assert done.interrupted == "interrupted at b; 1 of 3 cases had ended"
    assert [case.name for case in done.cases] == ["a"]
    assert len(pids) == 1
    assert comes_true(lambda: not is_alive(pids[0]))


@pytest.fixture
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 16)


def lanes(make_case: Any) -> list[Any]:
    return [make_case("a"), make_case("slow", alone=True), make_case("b"),
            make_case("flex", alone=True)]  # fmt: skip


@pytest.mark.usefixtures("many_cores")
def test_what_compiles_for_long_runs_beside_the_rest(
    python: Path, play: Play, make_case: Any
) -> None:
    play({"slow": {"wait": 3.0}, "flex": {"wait": 3.0}, "a": {"wait": 3.0}})
    started = time.monotonic()
    done = run(python, lanes(make_case))
    assert time.monotonic() - started < 8.5
    assert list(statuses(done)) == ["a", "slow", "b", "flex"], "in their order all the same"
    assert set(statuses(done).values()) == {"ran"}
    assert done.children == 3
    child = {event["name"]: event["child"] for event in done.results}
    assert child["a"] == child["b"] != child["slow"] != child["flex"]


def test_where_cores_are_few_one_child_runs_all(
    python: Path, play: Play, make_case: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    play()
    assert run(python, lanes(make_case)).children == 1


@pytest.mark.usefixtures("many_cores")
def test_a_case_alone_may_die(python: Path, play: Play, make_case: Any) -> None:
    play({"slow": {"die": True}})
    assert statuses(run(python, lanes(make_case)))["slow"] == "died"
    only = run(python, [make_case("slow", alone=True), make_case("flex", alone=True)])
    assert statuses(only) == {"slow": "died", "flex": "ran"}


@pytest.mark.usefixtures("many_cores")
def test_a_gpu_for_one_process_at_a_time_gets_one_at_a_time(
    python: Path, play: Play, make_case: Any, tmp_path: Path
) -> None:
    taken = tmp_path / "taken"
    play({"a": {"wait": 1.0}, "slow": {}}, start={"take": str(taken)})
    done = run(python, lanes(make_case))
    assert set(statuses(done).values()) == {"ran"}
    assert done.start.get("error") is None
    assert not taken.exists()


@pytest.mark.usefixtures("many_cores")
def test_an_interrupt_ends_every_child(
    python: Path, play: Play, make_case: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    play({name: {"hang": True} for name in ("a", "slow", "flex")})
    pids: list[int] = []
    heard = module._Work.hear
    first = threading.Lock()  # a second interrupt would come after this test

    def hear(work: Any, event: Any) -> float | None:
        pids.extend([event["pid"]] if "pid" in event else [])
        if len(pids) == 3 and event.get("event") == "begin" and first.acquire(blocking=False):
            os.kill(os.getpid(), signal.SIGINT)
        return heard(work, event)

    monkeypatch.setattr(module._Work, "hear", hear)
    with pytest.raises(KeyboardInterrupt):
        run(python, lanes(make_case))
    assert len(pids) == 3
    assert comes_true(lambda: not any(map(is_alive, pids)))
