"""What tests ask about processes that were started, and should have ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 20


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody reaps does not."""
    try:
        if not Path("/proc/self/stat").exists():
            os.kill(pid, 0)
            return True
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def comes_true(question: Callable[[], bool]) -> bool:
    """Whether something is so within 20 seconds."""
    deadline = time.monotonic() + PATIENCE_S
    while not question() and time.monotonic() < deadline:
        time.sleep(0.01)
    return question()


def read_pid(note: Path) -> int:
    """Return the process id that a child writes to `note`, as a line."""
    assert comes_true(lambda: note.exists() and note.read_text("utf-8").endswith("\n"))
    return int(note.read_text("utf-8"))


def has_gone(note: Path) -> bool:
    """Whether the process whose id stands in `note` goes."""
    pid = read_pid(note)
    return comes_true(lambda: not is_alive(pid))
