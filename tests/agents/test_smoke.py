"""The loop over the cases, with a torch that is only as much as the loop touches."""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

NAMES = ("live", "smoke_measure", "smoke_problem", "smoke_sdpa", "smoke_flash", "smoke")
PARTS: Any = SimpleNamespace(
    **{name: importlib.import_module(f"flashdoctor.agents.{name}") for name in NAMES}
)
smoke: Any = PARTS.smoke


def fake_torch(**cuda: Any) -> Any:
    """Return a torch without a GPU, or with the `cuda` given."""
    nothing = SimpleNamespace(**{"is_available": lambda: False, **cuda})
    return SimpleNamespace(__version__="2.11.0+cu130", cuda=nothing)


class Run:
    """A run of the agent with a part of its own, `RUN` by api."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, torch: Any, **run: Any) -> None:
        monkeypatch.setitem(sys.modules, "torch", torch)
        self._parts = SimpleNamespace(**vars(PARTS), other=SimpleNamespace(RUN=run))

    def events(self, *apis: str) -> list[dict[str, Any]]:
        cases = [{"name": f"{api}-{number}", "api": api} for number, api in enumerate(apis)]
        events: list[dict[str, Any]] = []
        smoke.main(self._parts, {"cases": cases, "seed": 5}, events.append)
        json.dumps(events, allow_nan=False)
        return events

    def results(self, *apis: str) -> list[dict[str, Any]]:
        return [event for event in self.events(*apis) if event["event"] == "result"]


def fail(error: BaseException) -> Any:
    def run(parts: Any, bench: Any, case: Any, result: Any) -> None:
        del parts, bench, case
        result["got"] = {"module": "flash_attn"}
        raise error

    return run


def fine(parts: Any, bench: Any, case: Any, result: Any) -> None:
    del parts, bench, case
    warnings.warn("why not", UserWarning, stacklevel=1)
    warnings.warn("why not", UserWarning, stacklevel=1)
    warnings.warn("for developers", DeprecationWarning, stacklevel=1)
    result.update(kernels=["k"], refusals={"flash": ["a mask"]})


def lost(parts: Any, bench: Any, case: Any, result: Any) -> None:
    fine(parts, bench, case, result)
    result["fatal"] = True


def test_each_case_is_announced_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    events = Run(monkeypatch, fake_torch(), fine=fine).events("fine", "fine")
    kinds = [(event["event"], event.get("name")) for event in events]
    assert kinds == [
        ("start", None), ("begin", "fine-0"), ("result", "fine-0"), ("begin", "fine-1"),
        ("result", "fine-1"), ("end", None),
    ]  # fmt: skip
    assert {event["agent"] for event in events} == {"smoke"}
    start = events[0]
    assert (start["torch"], start["device"], start["seed"]) == ("2.11.0+cu130", "cpu", 5)
    assert events[-1]["cases_s"] >= 0


def test_refusals_come_before_warnings_and_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (result,) = Run(monkeypatch, fake_torch(), fine=fine).results("fine")
    headline = "Flash attention kernel not used because:"
    assert (result["status"], result["messages"]) == ("ran", [headline, "a mask", "why not"])


def test_what_torch_has_said_itself_is_not_said_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(parts: Any, bench: Any, case: Any, result: Any) -> None:
        del parts, bench, case
        result["refusals"] = {"flash": ["a mask"]}
        for text in ("Flash attention kernel not used because: (x.cpp:1)", "a mask (x.h:2)"):
            warnings.warn(text, UserWarning, stacklevel=1)
        raise RuntimeError("No available kernel.")

    (result,) = Run(monkeypatch, fake_torch(), refused=refused).results("refused")
    assert result["status"] == "refused"
    assert result["messages"] == [
        "RuntimeError: No available kernel.", "Flash attention kernel not used because: (x.cpp:1)",
        "a mask (x.h:2)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("No available kernel. Aborting execution."), "refused"),
        (RuntimeError("FlashAttention only supports Ampere GPUs or newer."), "refused"),
        (AssertionError("FlashAttention-3 only supports Hopper"), "refused"),
        (RuntimeError("CUDA error: no kernel image is available for execution"), "error"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), "error"),
        (RuntimeError("cuDNN Frontend error: No execution plans support the graph"), "error"),
        (ImportError("flash_attn_2_cuda.so: undefined symbol: _ZN3c104"), "error"),
        (TypeError("f() got an unexpected keyword argument 'block_table'"), "missing"),
        (TypeError("f() missing 1 required positional argument: 'seqused_q'"), "missing"),
        (RuntimeError("This flash attention build does not support paged KV."), "missing"),
        (RuntimeError("Flash-Attention was built with backward disabled"), "missing"),
        (TypeError("unsupported operand"), "error"),
        (SystemExit("no licence"), "error"),
        (PARTS.smoke_measure.MissingError("No module named 'flash_attn'"), "missing"),
    ],
)
def test_a_refusal_is_told_from_what_broke(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, status: str
) -> None:
    run = Run(monkeypatch, fake_torch(), fails=fail(error), fine=fine)
    failed, after = run.results("fails", "fine")
    assert failed["status"] == status
    assert str(error) in failed["messages"][0]
    assert failed["got"] == {"module": "flash_attn"}, "what was learned before is kept"
    assert "fatal" not in failed
    assert after["status"] == "ran"


def test_errors_of_compilers_are_no_refusals() -> None:
    kind = type("Unsupported", (RuntimeError,), {"__module__": "torch._dynamo.exc"})
    assert smoke.status_of(kind("cannot trace")) == "error"
    assert smoke.status_of(RuntimeError("cannot trace")) == "refused"


def test_a_process_that_must_not_go_on_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    events = Run(monkeypatch, fake_torch(), lost=lost, fine=fine).events("lost", "fine")
    assert [event["event"] for event in events] == ["start", "begin", "result"]
    assert events[-1]["fatal"] is True


def test_a_lost_gpu_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def synchronize() -> None:
        if state["lost"]:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def illegal(parts: Any, bench: Any, case: Any, result: Any) -> None:
        del parts, case, result
        state["lost"] = True
        bench.synchronize()

    state = {"lost": False}
    torch = fake_torch(
        is_available=lambda: True, synchronize=synchronize, get_device_name=lambda _: "NVIDIA H200",
        get_device_capability=lambda _: (9, 0),
    )  # fmt: skip
    torch.zeros = lambda _: SimpleNamespace(cuda=lambda: None)
    events = Run(monkeypatch, torch, illegal=illegal, fine=fine).events("fine", "illegal", "fine")
    assert (events[0]["device"], events[0]["capability"]) == ("NVIDIA H200", "9.0")
    assert events[-1]["name"] == "illegal-1"
    assert (events[-1]["status"], events[-1]["fatal"]) == ("error", True)


def test_cuda_that_does_not_start_is_each_case_s_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def zeros(_count: int) -> Any:
        raise RuntimeError("CUDA driver initialization failed")

    torch = fake_torch(is_available=lambda: True)
    torch.zeros = zeros
    events = Run(monkeypatch, torch, fine=fine).events("fine")
    assert events[0]["error"] == "RuntimeError: CUDA driver initialization failed"
    assert (events[2]["status"], events[2]["messages"]) == ("error", [events[0]["error"]])
    assert events[-1]["event"] == "end"


def test_no_torch_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    events = Run(monkeypatch, None, fine=fine).events("fine")
    assert events[0]["torch"] is None
    assert events[2]["status"] == "missing"
    assert "torch" in events[2]["messages"][0]


def test_without_a_gpu_a_case_says_cpu_and_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for result in Run(monkeypatch, fake_torch()).results("flash-attn", "fa3", "flex", "unheard-of"):
        assert (result["status"], result["kernels"], result["messages"]) == ("cpu", [], [])


def test_all_apis_have_a_function() -> None:
    assert set(smoke.tables(PARTS, "PREPARE")) == {"sdpa", "flex", "flash-attn", "fa3", "fa4"}


@given(st.lists(st.text()))
def test_messages_have_an_end(texts: list[str]) -> None:
    short = smoke.shortened([*texts, "x" * 900])
    assert len(short) <= 20
    assert all(0 < len(text) <= 500 for text in short)
