"""Agent part: what a call does on the GPU: its kernels, its time, its memory."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
import warnings
import zlib

_MIB = 1 << 20
_SLEEP_CYCLES = 4000000  # about 2 ms: time to queue all calls, so that the host's pace is not timed
_POISON_BLOCKS = 64
_MOST_KERNELS = 60
_LONGEST_NAME = 2000
_BASE_LENGTH = 1024
_QUADRATIC = 2.9  # between the 2 of memory that grows with N and the 4 of N squared
_REPEATS, _QUICK_REPEATS = 5, 3


class MissingError(Exception):
    """A package, or what a case needs of an installed one, is not there."""


class Bench:
    """A torch, the device that the cases run on, and how thoroughly they are measured.

    `profiler` is "ok", or why no kernel can be named; None until that has been tried.
    """

    MissingError = MissingError

    def __init__(self, torch: object, device: str, options: dict) -> None:
        self.torch = torch
        self.device = device
        self.options = options
        self.quick = bool(options.get("quick"))
        seed = options.get("seed")
        self.seed = int.from_bytes(os.urandom(4), "big") if seed is None else int(seed)
        self.profiler = None  # type: str | None
        self.trace = None

    def generator(self, name: str) -> object:
        """Return a source of random numbers that is this case's own."""
        generator = self.torch.Generator(device=self.device)
        return generator.manual_seed(self.seed + zlib.crc32(name.encode()))

    def synchronize(self) -> None:
        """Wait for the GPU; what went wrong there is raised here."""
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def import_module(self, name: str) -> object:
        """Import a package; MissingError where it, or a package that it needs, is not there.

        flash-attn 2 brings a copy of flash_attn.cute along, for instance, but not what that needs.
        """
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise MissingError("%s: %s" % (type(error).__name__, error)) from error

    def attribute(self, holder: object, name: str) -> object:
        """Return an attribute; MissingError where this version does not have it."""
        if not hasattr(holder, name):
            text = "%s %s has no %s"
            version = getattr(holder, "__version__", "")
            raise MissingError(text % (holder.__name__, version, name))
        return getattr(holder, name)


def poison(bench: object, sizes: list) -> None:
    """Leave NaN in the memory that the next tensors like these will get.

    `sizes` holds (count, dtype). All that is cached goes back first, so that no block with an old
    result is left; then blocks are filled until they no longer fit into what was there before.
    """
    cuda = bench.torch.cuda
    cuda.empty_cache()
    held = []
    for count, dtype in sizes:
        reserved = cuda.memory_reserved()
        for _ in range(_POISON_BLOCKS):
            held.append(bench.torch.full((count,), float("nan"), dtype=dtype, device="cuda"))
            if cuda.memory_reserved() > reserved:
                break
    del held


def profile(bench: object, call: object) -> tuple:
    """Return the names of the kernels that a call runs, longest time first, and "ok".

    Without a profiler that works there are none, and in place of "ok" stands why.
    """
    if bench.profiler is None:
        bench.profiler = probe_profilers(bench)
    if bench.profiler != "ok":
        return [], bench.profiler
    try:
        return bench.trace(bench, call) or bench.trace(bench, call), "ok"
    except Exception as error:
        return [], in_a_line(error)


def probe_profilers(bench: object) -> str:
    """Return "ok", or why no profiler sees a kernel that surely runs; `bench.trace` is the one.

    CUPTI gives its reason on standard error only.
    """
    numbers = bench.torch.ones(8, device=bench.device)
    said = []  # type: list
    problems = []
    for trace in (trace_directly, trace_publicly):
        try:
            with captured_stderr(said, pass_on=True):
                kernels = trace(bench, lambda: numbers.add_(1))
        except Exception as error:
            problems.append(in_a_line(error))
            continue
        if kernels:
            bench.trace = trace
            return "ok"
    return why_no_kernels("".join(said), problems)


def in_a_line(error: BaseException) -> str:
    """Return an exception's type and text."""
    return " ".join(("%s: %s" % (type(error).__name__, error)).split())


def why_no_kernels(said: str, problems: list) -> str:
    """Return the line on standard error that blames CUPTI, else what was raised."""
    lines = [" ".join(line.split()) for line in said.splitlines() if "CUPTI" in line.upper()]
    return [*lines, *problems, "the profiler saw no kernel, and did not say why"][0][:300]


class captured_stderr:  # noqa: N801 - used as a function in a with statement
    """Append to `said` what is written to file descriptor 2; `pass_on` writes it there later."""

    def __init__(self, said: list, *, pass_on: bool = False) -> None:
        self._said = said
        self._pass_on = pass_on

    def __enter__(self) -> None:
        """Redirect."""
        sys.stderr.flush()
        self._real = os.dup(2)
        self._file = tempfile.TemporaryFile()
        os.dup2(self._file.fileno(), 2)

    def __exit__(self, *exception: object) -> None:
        """Restore."""
        sys.stderr.flush()
        os.dup2(self._real, 2)
        os.close(self._real)
        self._file.seek(0)
        data = self._file.read()
        self._file.close()
        self._said.append(data.decode("utf-8", "replace"))
        if self._pass_on:
            os.write(2, data)


def trace_directly(bench: object, call: object) -> list:
    """Return the kernels of a call by the profiler below torch.profiler.

    That one imports Inductor's settings when it starts, which takes seconds.
    """
    from torch.autograd import profiler

    return traced(bench, profiler.profile(use_kineto=True, use_cpu=False, use_device="cuda"), call)


def trace_publicly(bench: object, call: object) -> list:
    """Return the kernels of a call by torch.profiler."""
    from torch import profiler

    options = {"activities": [profiler.ProfilerActivity.CUDA]}
    try:  # without acc_events newer ones warn that they forget the events of earlier cycles
        made = profiler.profile(acc_events=True, **options)
    except TypeError:
        made = profiler.profile(**options)
    return traced(bench, made, call)


def traced(bench: object, profiler: object, call: object) -> list:
    """Return the kernels of a call by a profiler that has not started."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with profiler:
            call()
            bench.synchronize()
        events = profiler.events() if hasattr(profiler, "events") else profiler.function_events
    return kernels_of(events)


def kernels_of(events: object) -> list:
    """Return the names of the events that took place on the GPU, longest total time first."""
    times = {}  # type: dict
    for event in events or ():
        on_gpu = str(event.device_type).endswith("CUDA")
        if on_gpu and not getattr(event, "is_user_annotation", False):
            name = event.name[:_LONGEST_NAME]
            times[name] = times.get(name, 0) + event.time_range.elapsed_us()
    return sorted(times, key=lambda name: -times[name])[:_MOST_KERNELS]


def time_and_peak(bench: object, call: object) -> tuple:
    """Return the median milliseconds of a call and the peak MiB of torch's memory meanwhile.

    Calls are queued behind a kernel that waits: launching takes the host longer than a short
    kernel runs, and would be timed instead.
    """
    cuda = bench.torch.cuda
    count = _QUICK_REPEATS if bench.quick else _REPEATS
    pairs = [[cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    cuda.synchronize()
    cuda.reset_peak_memory_stats()
    if hasattr(cuda, "_sleep"):
        cuda._sleep(_SLEEP_CYCLES)  # noqa: SLF001 - torch has no public kernel that waits
    for start, end in pairs:
        start.record()
        call()
        end.record()
    cuda.synchronize()
    times = sorted(start.elapsed_time(end) for start, end in pairs)
    return round(times[count // 2], 4), round(cuda.max_memory_allocated() / _MIB, 1)


def infer(bench: object, make: object) -> dict:
    """Return time and memory at two lengths, for where no kernel can be named.

    `make(length)` gives a call on sequences of that length, and what to call at the end. Memory
    beyond the inputs that grows with the length squared means that the scores were written out.
    """
    lengths = [_BASE_LENGTH, 2 * _BASE_LENGTH]
    times, extras = [], []
    for length in lengths:
        call, finish = make(length)
        try:
            call()
            before = bench.torch.cuda.memory_allocated() / _MIB
            ms, peak = time_and_peak(bench, call)
        finally:
            finish()
        times.append(ms)
        extras.append(round(peak - before, 2))
        del call, finish
    return {"lengths": lengths, "ms": times, "extra_mib": extras, "memory": growth(*extras)}


def growth(at_n: float, at_2n: float) -> str | None:
    """Return what memory at N and at 2N says: "N", "N squared", None where it is too little."""
    if at_n <= 0:
        return None
    return "N squared" if at_2n / at_n > _QUADRATIC else "N"


class Stopwatch:
    """Seconds by phase; `lap` ends one."""

    def __init__(self) -> None:
        self.seconds = {}  # type: dict
        self._began = time.monotonic()

    def lap(self, phase: str) -> None:
        """Add the time since the last lap to a phase."""
        now = time.monotonic()
        self.seconds[phase] = round(self.seconds.get(phase, 0) + now - self._began, 4)
        self._began = now
