from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flashdoctor.target import process
from flashdoctor.target.process import Ended, Limits, run_process
from tests.processes import comes_true, has_gone, read_pid

ROOT = Path(__file__).resolve().parents[2]
ENVIRON = {"PATH": "/usr/bin:/bin"}
FDS = Path("/proc/self/fd")
Script = Callable[..., Path]


def run(file: Path, *, stdin: bytes = b"", timeout_s: float = 20, **limits: float) -> Ended:
    output_bytes = int(limits.pop("output_bytes", 1 << 20))
    bounds = Limits(timeout_s=timeout_s, output_bytes=output_bytes, **limits)
    return run_process([str(file)], stdin=stdin, environ=ENVIRON, limits=bounds)


def count_fds() -> int:
    """Return how many file descriptors this process has open."""
    if not FDS.exists():
        pytest.skip("no /proc")
    gc.collect()
    return len(list(FDS.iterdir()))


def test_gives_output_and_status(script: Script) -> None:
    ended = run(script("cat; echo oops >&2; exit 7"), stdin=b"x" * 300_000)
    assert (ended.reason, ended.status, ended.stderr) == ("ended", 7, b"oops\n")
    assert ended.stdout == b"x" * 300_000


def test_a_child_that_never_reads_its_input_is_no_problem(script: Script) -> None:
    ended = run(script("echo done"), stdin=b"x" * 1_000_000)
    assert (ended.status, ended.stdout) == (0, b"done\n")


def test_a_signal_is_a_negative_status(script: Script) -> None:
    assert run(script("kill -SEGV $$")).status == -11


def test_a_hang_is_killed_with_all_it_started(script: Script, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    started = time.monotonic()
    ended = run(script(f"sleep 300 & echo $! > {note}; echo before; sleep 300"), timeout_s=1)
    assert time.monotonic() - started < 5
    assert (ended.reason, ended.status, ended.stdout) == ("timeout", None, b"before\n")
    assert has_gone(note)


def test_a_grandchild_that_holds_the_pipes_does_not_hold_us(script: Script, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    ended = run(script(f"sleep 300 & echo $! > {note}; echo out; exit 3"))
    assert (ended.reason, ended.status, ended.stdout) == ("ended", 3, b"out\n")
    assert ended.seconds < 5
    assert has_gone(note), "it is litter and is taken away"


@pytest.mark.skipif(not Path("/usr/bin/setsid").exists(), reason="setsid is not here")
def test_a_grandchild_in_a_session_of_its_own_does_not_hold_us(script: Script) -> None:
    hang = run(script("setsid sleep 8 & sleep 300"), timeout_s=0.3)
    assert (hang.reason, hang.seconds < 4) == ("timeout", True)
    ended = run(script("setsid sleep 8 & echo out"))
    assert (ended.status, ended.stdout, ended.seconds < 4) == (0, b"out\n", True)


def test_closing_the_pipes_is_not_yet_an_end(script: Script) -> None:
    quick = run(script("exec >&- 2>&- <&-; sleep 0.2; exit 4"))
    assert (quick.reason, quick.status) == ("ended", 4)
    assert run(script("exec >&- 2>&- <&-; sleep 300"), timeout_s=0.3).reason == "timeout"


def test_output_without_end_is_cut(script: Script) -> None:
    ended = run(script("exec cat /dev/zero"), output_bytes=200_000)
    assert (ended.reason, ended.status) == ("overflow", None)
    assert len(ended.stdout) < 1_000_000


def test_errors_without_end_keep_their_last_part_only(script: Script) -> None:
    ended = run(script("head -c 3000000 /dev/zero >&2; echo last >&2"))
    assert ended.reason == "ended"
    assert len(ended.stderr) <= 1 << 16
    assert ended.stderr.endswith(b"last\n")


def test_silence_ends_a_child_that_output_would_have_kept(script: Script) -> None:
    talking = run(script("for i in 1 2 3 4; do echo $i; sleep 0.3; done"), silence_s=2.0)
    assert (talking.reason, talking.stdout) == ("ended", b"1\n2\n3\n4\n")
    silent = run(script("echo 1; sleep 300"), silence_s=1)
    assert (silent.reason, silent.stdout, silent.seconds < 5) == ("timeout", b"1\n", True)


def test_a_program_that_cannot_be_started_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run(tmp_path / "gone")


def test_an_end_is_noticed_at_once(script: Script) -> None:
    for text in ("exit 0", "exec >&- 2>&-; exit 0"):
        child = script(text)
        assert min(run(child).seconds for _ in range(20)) < 0.03


def test_nothing_is_left_open_or_running(script: Script) -> None:
    hang, fine = script("sleep 300", "hang"), script("echo x", "fine")
    stranger = script("setsid sleep 1 & echo x", "stranger")
    run(fine)
    fds, threads = count_fds(), threading.active_count()
    for _ in range(3):
        run(hang, timeout_s=0.05, stdin=b"x" * 1_000_000)
        run(fine, stdin=b"x" * 1_000_000)
        run(stranger)
        with pytest.raises(FileNotFoundError):
            run(fine.with_name("gone"))
    assert count_fds() == fds
    assert comes_true(lambda: threading.active_count() == threads)
    assert not process._running


@pytest.mark.parametrize("count", [1, 2, 3])
def test_without_threads_to_spare_nothing_is_run(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    note = tmp_path / "pid"
    start, started = threading.Thread.start, []

    def refuse(thread: threading.Thread) -> None:
        started.append(thread)
        if len(started) == count:
            raise RuntimeError("can't start new thread")
        start(thread)

    fds = count_fds()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(OSError, match="can't start new thread") as caught:
        run(script(f"echo $$ > {note}; sleep 300"), stdin=b"x")
    assert caught.value.errno == errno.EAGAIN
    assert count_fds() == fds
    time.sleep(0.1)  # a child that lived on would get this far
    assert not note.exists() or not note.read_text("utf-8") or has_gone(note)


def test_a_child_that_cannot_be_killed_is_left_behind(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, threads = tmp_path / "pid", threading.active_count()
    fds = count_fds()
    monkeypatch.setattr(process, "_kill_group", lambda _child: None)  # as inside a driver
    monkeypatch.setattr(process, "_REAP_S", 0.2)
    ended = run(script(f"echo $$ > {note}; exec sleep 300"), timeout_s=0.2)
    assert (ended.reason, ended.status, ended.seconds < 3) == ("timeout", None, True)
    assert count_fds() == fds
    os.kill(read_pid(note), signal.SIGKILL)  # now it comes back
    assert comes_true(lambda: threading.active_count() == threads)
    with pytest.raises(ChildProcessError):  # the thread that waited has reaped it
        os.waitpid(read_pid(note), os.WNOHANG)


INTERRUPTED = """
import os, sys, threading
from flashdoctor.target.process import Limits, run_process
def work():
    run_process([sys.argv[1]], environ=dict(os.environ), limits=Limits(timeout_s=60))
if sys.argv[2] == "beside":
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
work()
"""


@pytest.mark.parametrize("place", ["here", "beside"])
def test_an_interrupt_kills_what_runs(script: Script, tmp_path: Path, place: str) -> None:
    note = tmp_path / "pid"
    hang = script(f"sleep 300 & echo $! > {note}; wait")
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(hang), place],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as ours:
        read_pid(note)
        ours.send_signal(signal.SIGINT)
        said = ours.communicate(timeout=20)[1]
    assert said.endswith("KeyboardInterrupt\n")
    assert "Warning" not in said
    assert has_gone(note)


EARLY = """
import os, signal, subprocess, sys
from flashdoctor.target import process
real = subprocess.Popen
def start(*args, **options):
    child = real(*args, **options)
    os.kill(os.getpid(), signal.SIGINT)  # before anybody knows of the child
    return child
process.subprocess.Popen = start
process.run_process([sys.argv[1]], limits=process.Limits(timeout_s=60))
"""


def test_an_interrupt_at_the_very_start_kills_as_well(script: Script, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    hang = script(f"sleep 300 & echo $! > {note}; wait")
    command = [sys.executable, "-c", EARLY, str(hang)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.endswith("KeyboardInterrupt\n")
    assert not note.exists() or not note.read_text("utf-8") or has_gone(note)


IGNORED = """
import signal
from flashdoctor.target.process import Limits, run_process
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(run_process(["/bin/echo", "x"], limits=Limits(timeout_s=60)).stdout)
"""


def test_a_kernel_that_reaps_by_itself_is_no_problem() -> None:
    args = [sys.executable, "-c", IGNORED]
    done = subprocess.run(args, cwd=ROOT, capture_output=True, check=False, timeout=60)
    assert (done.stdout.strip(), done.stderr) == (b"b'x\\n'", b"")


def test_a_system_without_waitid(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "waitid", raising=False)
    note = tmp_path / "pid"
    ended = run(script(f"sleep 300 & echo $! > {note}; cat; exit 3", "ends"), stdin=b"in")
    assert (ended.reason, ended.status, ended.stdout) == ("ended", 3, b"in")
    assert has_gone(note)
    hang = script(f"sleep 300 & echo $! > {note}; wait", "hangs")
    assert (run(hang, timeout_s=0.5).reason, has_gone(note)) == ("timeout", True)


@pytest.fixture
def as_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Take away what Windows lacks; returns the folder with its taskkill."""
    monkeypatch.setattr(sys, "platform", "win32")
    for name in ("killpg", "waitid"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path))
    tools = tmp_path / "System32"
    tools.mkdir()
    return tools


def test_windows_ends(script: Script, as_windows: Path) -> None:
    ended = run(script("cat; echo oops >&2; exit 7"), stdin=b"x" * 300_000)
    assert (ended.reason, ended.status, ended.stderr) == ("ended", 7, b"oops\n")
    assert ended.stdout == b"x" * 300_000
    assert not list(as_windows.iterdir())


def test_windows_kills_the_whole_tree_by_its_own_tool(script: Script, as_windows: Path) -> None:
    tool = as_windows / "taskkill.exe"
    tool.write_text(f'#!/bin/sh\necho "$*" > {as_windows}/asked\nkill -9 $4\n', encoding="utf-8")
    tool.chmod(0o755)
    note = as_windows / "pid"
    ended = run(script(f"echo $$ > {note}; exec sleep 300"), timeout_s=0.5)
    assert (ended.reason, ended.status, ended.seconds < 3) == ("timeout", None, True)
    assert (as_windows / "asked").read_text("utf-8") == f"/F /T /PID {read_pid(note)}\n"
    assert has_gone(note)


def test_windows_needs_no_tool_to_kill_a_child(script: Script, as_windows: Path) -> None:
    note, fds, threads = as_windows / "pid", count_fds(), threading.active_count()
    # What it started lives on and holds the pipes: their threads wait for that, we do not.
    ended = run(script(f"sleep 2 & echo $$ > {note}; exec sleep 300"), timeout_s=0.3)
    assert (ended.reason, ended.status, ended.seconds < 1.9) == ("timeout", None, True)
    assert has_gone(note)
    assert comes_true(lambda: threading.active_count() == threads)
    assert count_fds() == fds


def test_a_listener_gets_the_output_as_it_comes(script: Script) -> None:
    heard: list[tuple[float, bytes]] = []
    ended = run_process(
        [str(script("echo one; sleep 1; echo two"))],
        environ=ENVIRON,
        limits=Limits(timeout_s=20),
        listener=lambda data: heard.append((time.monotonic(), data)),
    )
    assert b"".join(data for _, data in heard) == ended.stdout == b"one\ntwo\n"
    assert heard[-1][0] - heard[0][0] > 0.5


def test_a_listener_may_allow_more_or_less_silence(script: Script) -> None:
    def ask(answer: float | None, silence_s: float) -> Ended:
        limits = Limits(timeout_s=20, silence_s=silence_s)
        text = "echo one; sleep 1; echo two; sleep 3"
        return run_process(
            [str(script(text))], environ=ENVIRON, limits=limits, listener=lambda _: answer
        )

    patient = ask(10, 2)
    assert (patient.reason, patient.stdout) == ("ended", b"one\ntwo\n")
    assert ask(None, 2).reason == "timeout"
    done = ask(0, 10)
    assert (done.reason, done.stdout, done.seconds < 1) == ("timeout", b"one\n", True)


def test_a_listener_that_raises_ends_the_child(script: Script, tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def fail(_data: bytes) -> float | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_process(
            [str(script(f"sleep 300 & echo $! > {note}; echo x; sleep 300"))],
            environ=ENVIRON,
            limits=Limits(timeout_s=20),
            listener=fail,
        )
    assert has_gone(note)
