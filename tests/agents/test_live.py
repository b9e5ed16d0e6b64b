from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

live: Any = importlib.import_module("flashdoctor.agents.live")
smoke: Any = importlib.import_module("flashdoctor.agents.smoke")
measure: Any = importlib.import_module("flashdoctor.agents.smoke_measure")

MAPS = """\
00400000-00401000 r-xp 00000000 fe:00 123    /usr/bin/python3.11
7f0000000000-7f0000001000 r-xp 00000000 fe:00 124    /x y/nvidia/cudnn/lib/libcudnn_ops.so.9
7f0000002000-7f0000003000 r--p 00000000 fe:00 124    /x y/nvidia/cudnn/lib/libcudnn_ops.so.9
7f0000004000-7f0000005000 r-xp 00000000 fe:00 125    /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05
7f0000006000-7f0000007000 r-xp 00000000 fe:00 126    /s/torch/lib/libcudart-d0da41ae.so.11.0
7f0000008000-7f0000009000 r-xp 00000000 fe:00 127    /s/torch/lib/libtorch_cuda.so
7f000000a000-7f000000b000 r-xp 00000000 fe:00 128    /usr/lib/x86_64-linux-gnu/libc.so.6
7f000000c000-7f000000d000 rw-p 00000000 00:00 0
7ffe00000000-7ffe00001000 rw-p 00000000 00:00 0      [stack]
"""


def test_picks_the_cuda_libraries_out_of_the_maps() -> None:
    assert live.parse_maps(MAPS) == [
        "/s/torch/lib/libcudart-d0da41ae.so.11.0",
        "/s/torch/lib/libtorch_cuda.so",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05",
        "/x y/nvidia/cudnn/lib/libcudnn_ops.so.9",
    ]


@given(st.text())
def test_any_maps_text_is_read(text: str) -> None:
    assert live.parse_maps(text) == sorted(set(live.parse_maps(text)))


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc")
def test_reads_the_maps_of_this_process() -> None:
    assert live.mapped_libraries() == live.parse_maps(
        Path("/proc/self/maps").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [(91002, "9.10.2"), (90100, "9.1.0"), (8902, "8.9.2"), (8700, "8.7.0"), (None, None)],
)
def test_reads_cudnn_numbers(number: int | None, text: str | None) -> None:
    assert live.cudnn_text(number) == text


@pytest.mark.parametrize(("fatal", "goes_on"), [(False, True), (True, False)])
def test_the_smoke_agent_runs_in_the_same_process(
    monkeypatch: pytest.MonkeyPatch, *, fatal: bool, goes_on: bool
) -> None:
    """A case of no api that anybody knows is enough to see the events, and a loss of the GPU."""
    torch = SimpleNamespace(__version__="2.11.0", cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(smoke, "is_lost", lambda _bench: fatal)
    parts = SimpleNamespace(live=live, smoke=smoke, smoke_measure=measure, smoke_sdpa=None)
    emitted: list[dict[str, Any]] = []
    case = {"name": "a", "api": "none", "backend": "default"}
    monkeypatch.setattr(smoke, "fill", lambda *_: 1 / 0)
    monkeypatch.setattr(parts, "smoke_sdpa", SimpleNamespace(refusal_lines=lambda _told: []))
    assert live.run_cases(parts, {"cases": [case], "quick": True}, emitted.append) is goes_on
    assert emitted[0] == {"agent": "live", "step": "begin", "name": "smoke"}
    assert {(item["agent"], item["step"]) for item in emitted[1:]} == {("live", "smoke")}
    kinds = [item["event"]["event"] for item in emitted[1:]]
    assert kinds == ["start", "begin", "result", *(["end"] if goes_on else [])]


def test_an_exception_reads_as_the_last_line_of_its_traceback() -> None:
    assert live.words(ImportError("a\n  b")) == "ImportError: a b"
    assert live.words(KeyboardInterrupt()) == "KeyboardInterrupt"


def test_windows_is_told_to_show_no_dialog(monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[int] = []
    fake = SimpleNamespace(
        SetErrorMode=modes.append, SEM_FAILCRITICALERRORS=1, SEM_NOGPFAULTERRORBOX=2
    )
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    live.crash_quietly()
    assert modes == [3]
