"""The one way in which a child process is run: a group of its own, a deadline, output limits.

A child may hang, leave grandchildren behind that hold its pipes, print without end, or wait inside
a driver where nothing can kill it. None of these keeps `run_process` more than a few seconds past
its limits. Each pipe has a thread of its own, which is what works on every system.
"""

from __future__ import annotations

import atexit
import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias

Reason: TypeAlias = Literal["ended", "timeout", "overflow"]
Listener: TypeAlias = Callable[[bytes], "float | None"]
"""Gets what a child has printed since the last call; may return a new limit of silence, in s."""

_CHUNK = 1 << 16
_KEPT_STDERR = 1 << 16
_TICK_S = 0.05  # between two looks at the clock; nothing that happens waits for it
_SETTLE_S = 0.05  # an ended child's pipes close at once, unless somebody else holds them
_DRAIN_S = 0.5  # for the pipes of a killed group
_REAP_S = 2.0  # for a killed child: one that waits inside a driver does not die

_WRITE_BYTES = getattr(select, "PIPE_BUF", _CHUNK)  # what a pipe that is ready takes at once

_running: set[subprocess.Popen[bytes]] = set()


class Limits(NamedTuple):
    """`timeout_s` for all, `silence_s` between two outputs, `output_bytes` on standard output."""

    timeout_s: float
    silence_s: float | None = None
    output_bytes: int = 16 << 20


class Ended(NamedTuple):
    """How a child ended.

    `status` is its exit status, a negative signal number (Windows: the exception's code), or None
    where it was killed here; `stderr` is the last 64 KiB.
    """

    reason: Reason
    status: int | None
    stdout: bytes
    stderr: bytes
    seconds: float


def run_process(  # noqa: PLR0913 - one child, all that may be said of it
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    environ: Mapping[str, str] | None = None,
    limits: Limits,
    listener: Listener | None = None,
    on_start: Callable[[], object] = lambda: None,
) -> Ended:
    """Run a command to its end or to a limit; OSError or ValueError where it cannot be started.

    `environ` replaces the whole environment, PATH for the search included where the system allows
    that. The whole group is killed in either case: what the child left running is its litter. On
    Windows that is so only for a child which has not ended by itself. `listener` is called in this
    thread, within a twentieth of a second; what it raises ends the child as well. `on_start` is
    called once the child is at work.
    """
    talk = None
    try:
        with _uninterrupted():
            child = _start(command, environ, takes_input=bool(stdin))
            talk = _Conversation(child, limits, listener)
        talk.begin(stdin)
        on_start()
        reason = talk.listen()
    finally:  # Ctrl-C does not reach a group of its own
        if talk is not None:
            talk.stop()
    talk.tell()
    return talk.result(reason)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until a child that was just started is known: else nobody would end it."""
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    held: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if held:
        raise KeyboardInterrupt


def _start(
    command: Sequence[str], environ: Mapping[str, str] | None, *, takes_input: bool
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if environ is None else dict(environ),
        bufsize=0,
        **_group_options(),
    )


def _group_options() -> dict[str, Any]:
    """Return what puts a child into a group of its own, so that all of it can be killed."""
    if sys.platform == "win32":
        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    return {"start_new_session": True}


class _Conversation:
    """One child, and a thread for each of its pipes, which closes it.

    The thread of standard output then awaits the child's end: as a rule that is the same moment.
    """

    def __init__(
        self, child: subprocess.Popen[bytes], limits: Limits, listener: Listener | None
    ) -> None:
        self._child = child
        self._limits = limits
        self._silence_s = limits.silence_s
        self._listener = listener
        self._told = 0
        self._stdout, self._stderr = bytearray(), bytearray()
        self._started = self._heard = time.monotonic()
        self._changed = threading.Condition()
        self._outputs_open = 2
        self._exited: float | None = None
        self._let_go = False
        self._threads: list[threading.Thread] = []
        self._idle = [pipe for pipe in (child.stdin, child.stdout, child.stderr) if pipe]
        _running.add(child)

    def begin(self, text: bytes) -> None:
        """Start the threads; OSError where the system has none left."""
        work = (
            (self._child.stdin, partial(self._send, memoryview(text))),
            (self._child.stdout, self._hear_out),
            (self._child.stderr, partial(self._receive, self._keep_stderr)),
        )
        try:
            for pipe, move in work:
                if pipe is not None:
                    thread = threading.Thread(target=move, args=(pipe,), daemon=True)
                    thread.start()
                    self._idle.remove(pipe)
                    self._threads.append(thread)
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, str(error)) from error

    def listen(self) -> Reason:
        """Wait until the child has ended and its pipes are closed, or for a limit."""
        with self._changed:
            while True:
                self.tell()
                if len(self._stdout) > self._limits.output_bytes:
                    return "overflow"
                if self._is_over():
                    return "ended"
                left_s = self._time_left()
                if left_s <= 0:
                    return "timeout"
                # In short steps: on Windows nothing interrupts a long one.
                if not self._changed.wait(min(left_s, _TICK_S)):
                    self._look()

    def tell(self) -> None:
        """Hand the listener what it has not had yet."""
        news = bytes(self._stdout[self._told :]) if self._listener else b""
        self._told += len(news)
        silence_s = self._listener(news) if self._listener and news else None
        self._silence_s = self._silence_s if silence_s is None else silence_s

    def _look(self) -> None:
        """Notice the end of a child whose output somebody else holds open."""
        if self._exited is None and _has_ended(self._child):
            self._exited = time.monotonic()

    def _is_over(self) -> bool:
        if self._exited is None:
            return False
        return not self._outputs_open or time.monotonic() - self._exited > _SETTLE_S

    def _time_left(self) -> float:
        now = time.monotonic()
        left_s = self._started + self._limits.timeout_s - now
        if self._silence_s is None:
            return left_s
        return min(left_s, self._heard + self._silence_s - now)

    def stop(self) -> None:
        """Kill what is left of the group, take what its pipes still hold, let go of the rest."""
        _kill_group(self._child)
        _running.discard(self._child)
        with self._changed:
            self._changed.wait_for(lambda: not self._outputs_open, _DRAIN_S)
        self._let_go = True
        self._reap()
        for thread in self._threads:
            thread.join(2 * _TICK_S)
        for pipe in self._idle:
            pipe.close()

    def _reap(self) -> None:
        """Reap the child, or leave that to a thread of its own: what cannot die may yet end."""
        try:
            self._child.wait(_REAP_S)
        except subprocess.TimeoutExpired:
            threading.Thread(target=self._child.wait, daemon=True).start()

    def result(self, reason: Reason) -> Ended:
        return Ended(
            reason=reason,
            status=self._child.returncode if reason == "ended" else None,
            stdout=bytes(self._stdout),
            stderr=bytes(self._stderr),
            seconds=time.monotonic() - self._started,
        )

    def _hear_out(self, pipe: IO[bytes]) -> None:
        self._receive(self._keep_stdout, pipe)
        if self._exited is None:
            _wait_for_exit(self._child)
        with self._changed:
            self._exited = self._exited or time.monotonic()
            self._changed.notify_all()

    def _send(self, text: memoryview, pipe: IO[bytes]) -> None:
        with suppress(OSError), pipe:  # the child may close its end
            while text and self._is_ready(pipe, for_writing=True):
                text = text[pipe.write(text[:_WRITE_BYTES]) :]

    def _receive(self, keep: Callable[[bytes], bool], pipe: IO[bytes]) -> None:
        with suppress(OSError), pipe:
            while self._is_ready(pipe):
                data = pipe.read(_CHUNK)
                if not data or not keep(data):
                    break
        with self._changed:
            self._outputs_open -= 1
            self._changed.notify_all()

    def _is_ready(self, pipe: IO[bytes], *, for_writing: bool = False) -> bool:
        """Wait until a pipe does not block; False once nobody cares for it any more.

        Only Unix can wait so. Elsewhere the read itself waits, and the thread stays behind in it
        for as long as a stranger holds the pipe.
        """
        if sys.platform == "win32":
            return not self._let_go
        poll = select.poll()
        poll.register(pipe, select.POLLOUT if for_writing else select.POLLIN)
        while not self._let_go:
            if poll.poll(_TICK_S * 1000):
                return True
        return False

    def _keep_stdout(self, data: bytes) -> bool:
        self._stdout += data
        self._heard = time.monotonic()
        return len(self._stdout) <= self._limits.output_bytes

    def _keep_stderr(self, data: bytes) -> bool:
        self._stderr = (self._stderr + data)[-_KEPT_STDERR:]
        return True


def _wait_for_exit(child: subprocess.Popen[bytes]) -> None:
    """Wait for a child's end, and let it stay a zombie where the system can do that.

    As long as it is one, nobody else's process group can get its number.
    """
    try:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    except (AttributeError, OSError):
        # Windows, and macOS before Python 3.13; or SIGCHLD is ignored here and the kernel reaps.
        child.wait()


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    try:
        options = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, child.pid, options) is not None
    except (AttributeError, OSError):  # as above
        return child.poll() is not None


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        _kill_tree(child)
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _kill_tree(child: subprocess.Popen[bytes]) -> None:
    """Kill a child on Windows, where what it started does not die with it.

    The system's own tool finds that, as long as the child still runs.
    """
    if child.poll() is not None:
        return
    tool = Path(os.environ.get("SYSTEMROOT", "C:/Windows"), "System32", "taskkill.exe")
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            [str(tool), "/F", "/T", "/PID", str(child.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_REAP_S,
            check=False,
        )
    with suppress(OSError):
        child.kill()


@atexit.register
def kill_running() -> None:
    """Kill every child that still runs: the thread that waits for it ends with the interpreter."""
    for child in tuple(_running):
        _kill_group(child)
