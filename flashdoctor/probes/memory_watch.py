"""How much memory of a GPU is in use at the most while something runs, sampled through NVML."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from flashdoctor.model.trial import GpuUse
from flashdoctor.probes.nvml import may_exist
from flashdoctor.target.process import Limits, run_process

EVERY_MS = 100

_SENTINEL = b"FLASHDOCTOR-NVML-MEMORY "  # of nvml_memory_child.py: pynvml stays out of here
_LONGEST_S = 24 * 3600.0
_STOP_S = 3.0
_START = (
    "import sys; sys.path.extend(sys.argv[2:]); "
    "from flashdoctor.probes.nvml_memory_child import main; main()"
)


class _Stopped(Exception):  # noqa: N818 - ends the child, and is no error
    """Enough was sampled."""


@contextmanager
def watch_memory(
    environ: Mapping[str, str] | None = None, every_ms: int = EVERY_MS
) -> Iterator[MemoryWatch]:
    """Sample every GPU in a child process while the block runs; never raises for what NVML does.

    Nothing is started where NVML cannot be there.
    """
    environ = dict(os.environ if environ is None else environ)
    watch = MemoryWatch(environ, every_ms)
    thread = threading.Thread(target=watch.run, daemon=True)
    starts = may_exist(environ) and bool(sys.executable)
    if starts:
        thread.start()
    try:
        yield watch
    finally:
        watch.enough.set()
        if starts:
            thread.join(_STOP_S)


class MemoryWatch:
    """What was sampled until now: the least and the most that each GPU had in use."""

    def __init__(self, environ: Mapping[str, str], every_ms: int) -> None:
        self.enough = threading.Event()
        self._environ = environ
        self._every_ms = every_ms
        self._rest = b""
        self._samples = 0
        self._least: dict[int, int] = {}
        self._most: dict[int, int] = {}

    def use(self) -> GpuUse | None:
        """Return the use of the GPU whose use rose most; None where nothing was sampled."""
        rises = {index: most - self._least[index] for index, most in self._most.items()}
        if not rises:
            return None
        index = max(rises, key=lambda one: (rises[one], -one))
        return GpuUse(
            gpu=index,
            before_mib=self._least[index],
            most_mib=self._most[index],
            every_ms=self._every_ms,
            samples=self._samples,
        )

    def run(self) -> None:
        """Sample until it is enough."""
        search = [str(Path(__file__).parents[2]), *(path for path in sys.path if path)]
        args = [sys.executable, "-I", "-S", "-c", _START, str(self._every_ms), *search]
        with suppress(_Stopped, OSError, ValueError):
            run_process(
                args, environ=self._environ, limits=Limits(timeout_s=_LONGEST_S), listener=self.hear
            )

    def hear(self, data: bytes) -> None:
        """Take the next piece of the child's output; ends the child once it is enough."""
        lines, newline, rest = (self._rest + data).rpartition(b"\n")
        self._rest = rest
        for line in lines.split(b"\n") if newline else ():
            if line.startswith(_SENTINEL):
                self._take(line[len(_SENTINEL) :])
        if self.enough.is_set():
            raise _Stopped

    def _take(self, line: bytes) -> None:
        try:
            sizes = json.loads(line)
        except ValueError:
            return
        self._samples += 1
        for index, size in enumerate(sizes if isinstance(sizes, list) else ()):
            if isinstance(size, int):
                self._least[index] = min(size, self._least.get(index, size))
                self._most[index] = max(size, self._most.get(index, size))
