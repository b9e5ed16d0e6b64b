from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flashdoctor.target.process import Ended, Limits, run_process

ENVIRON = {"PATH": "/usr/bin:/bin"}
Script = Callable[[str], Path]


def run(file: Path, *, stdin: bytes = b"", timeout_s: float = 20, **limits: float) -> Ended:
    output_bytes = int(limits.pop("output_bytes", 1 << 20))
    bounds = Limits(timeout_s=timeout_s, output_bytes=output_bytes, **limits)
    return run_process([str(file)], stdin=stdin, environ=ENVIRON, limits=bounds)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody reaps does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def has_gone(note: Path) -> bool:
    """Whether the process whose id stands in `note` goes within five seconds."""
    pid, deadline = int(note.read_text(encoding="utf-8")), time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


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


def test_no_file_descriptor_is_left_open(script: Script) -> None:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("no /proc")
    run(script("echo x"))
    before = len(list(folder.iterdir()))
    for _ in range(3):
        run(script("sleep 300"), timeout_s=0.05)
        run(script("echo x"))
    assert len(list(folder.iterdir())) == before
