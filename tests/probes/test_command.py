from __future__ import annotations

import os
import signal
import stat
import sys
import time
from pathlib import Path

import pytest

from flashdoctor.probes.command import Completed, run

PLENTY = 30.0


def test_a_program_that_ends_well() -> None:
    done = run(["printf", "a\\nb"], timeout_s=PLENTY)
    assert done == Completed(stdout="a\nb", stderr="", status=0)
    assert done.ok


def test_status_and_both_streams() -> None:
    done = run(["sh", "-c", "echo out; echo err >&2; exit 7"], timeout_s=PLENTY)
    assert (done.stdout, done.stderr, done.status, done.failure) == ("out\n", "err\n", 7, "")
    assert not done.ok


def test_a_signal_is_a_negative_status() -> None:
    done = run(["sh", "-c", "kill -SEGV $$"], timeout_s=PLENTY)
    assert (done.status, done.failure) == (-signal.SIGSEGV, "")


def test_input_and_environment() -> None:
    environ = {"PATH": os.environ["PATH"], "WORD": "w"}
    done = run(["sh", "-c", "cat; printf %s $WORD"], timeout_s=PLENTY, env=environ, stdin="ä-")
    assert done.stdout == "ä-w"


def test_a_program_without_input_reads_an_end() -> None:
    assert run(["cat"], timeout_s=PLENTY).ok


def test_text_that_is_not_utf8() -> None:
    assert run(["printf", "a\\377b"], timeout_s=PLENTY).stdout == "a\ufffdb"


@pytest.mark.parametrize("name", ["no-such-program-here", "/no/such/program"])
def test_not_found(name: str) -> None:
    done = run([name], timeout_s=PLENTY)
    assert (done.failure, done.status, done.stdout) == ("not-found", None, "")


def test_the_path_of_the_given_environment_counts(tmp_path: Path) -> None:
    program = tmp_path / "only-here"
    program.write_text("#!/bin/sh\necho found\n", encoding="utf-8")
    program.chmod(stat.S_IRWXU)
    assert run(["only-here"], timeout_s=PLENTY, env={"PATH": str(tmp_path)}).stdout == "found\n"
    assert run(["only-here"], timeout_s=PLENTY, env={"PATH": "/nowhere"}).failure == "not-found"


def test_no_permission(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    assert run([str(program)], timeout_s=PLENTY).failure == "permission"


def test_what_cannot_be_run_at_all(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF no program")
    program.chmod(stat.S_IRWXU)
    assert run([str(program)], timeout_s=PLENTY).failure == "os-error"
    assert run(["a\0b"], timeout_s=PLENTY).failure == "os-error"


def test_a_hang_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    script = f"sleep 600 & echo $! > '{mark}'; echo said; wait"
    started = time.monotonic()
    done = run(["sh", "-c", script], timeout_s=0.5)
    assert time.monotonic() - started < 5
    assert (done.failure, done.status, done.stdout) == ("timeout", None, "said\n")
    child = int(mark.read_text(encoding="ascii"))
    deadline = time.monotonic() + 5
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def test_a_pipe_that_a_stranger_holds_is_let_go() -> None:
    # The grandchild leaves the group and keeps standard output open.
    stranger = "import os, time; os.setsid(); time.sleep(3)"
    started = time.monotonic()
    script = f"{sys.executable} -I -S -c '{stranger}' & echo said; sleep 600"
    done = run(["sh", "-c", script], timeout_s=0.5)
    assert time.monotonic() - started < 2.5
    assert (done.failure, done.stdout) == ("timeout", "said\n")


def test_output_without_end_is_cut() -> None:
    done = run(["cat", "/dev/zero"], timeout_s=PLENTY)
    assert (done.failure, done.status, done.ok) == ("overflow", None, False)


def test_an_endless_ignorer_of_signals_is_killed() -> None:
    done = run(["sh", "-c", "trap '' TERM INT; while :; do sleep 1; done"], timeout_s=0.3)
    assert done.failure == "timeout"
