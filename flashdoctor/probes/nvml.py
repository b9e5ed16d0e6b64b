"""NVML, asked in a child process that can be killed; nothing is loaded into this one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flashdoctor.model.gpu_words import STATUSES
from flashdoctor.probes.command import Completed, run
from flashdoctor.probes.gpu_answer import Answer, resolve
from flashdoctor.probes.tree import exists
from flashdoctor.probes.visible_devices import Seen, Visible

SOURCE = "NVML"
_SENTINEL = "FLASHDOCTOR-NVML "  # of nvml_child.py, which is not imported here: pynvml stays out
_LIBRARY = "libnvidia-ml.so.1"
_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64", "usr/local/lib", "usr/lib/wsl/lib")
_NODES = ("dev/nvidiactl", "dev/nvidia0", "dev/dxg", "proc/driver/nvidia")
_START = (
    "import sys; sys.path.extend(sys.argv[1:]); "
    "from flashdoctor.probes.nvml_child import main; main()"
)


def read_nvml(environ: Mapping[str, str], timeout_s: float, root: Path = Path("/")) -> Answer:
    """Ask NVML; never raises, and never takes much longer than `timeout_s` seconds."""
    if not may_exist(environ, root):
        return Answer(
            source=SOURCE, status="library-not-found", error=f"no {_LIBRARY} for the loader"
        )
    if not sys.executable or getattr(sys, "frozen", False):
        return Answer(source=SOURCE, status="unknown-error", error="no Python to ask NVML with")
    args = [sys.executable, "-I", "-S", "-c", _START, *_search_path()]
    return parse_report(run(args, timeout_s=timeout_s, env=environ), environ, timeout_s)


def may_exist(environ: Mapping[str, str], root: Path = Path("/")) -> bool:
    """Tell in a few file look-ups whether NVML can be there at all: no child where it cannot."""
    if os.name == "nt":
        return any(map(exists, _windows_libraries(environ)))
    if any(exists(root / node) for node in _NODES):
        return True
    searched = [Path(part) for part in environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    folders = [*(root / folder for folder in _FOLDERS), *(root / "usr/lib").glob("*-linux-gnu")]
    if any(exists(folder / _LIBRARY) for folder in (*searched, *folders)):
        return True
    try:
        return _LIBRARY.encode() in (root / "etc/ld.so.cache").read_bytes()
    except OSError:
        return False


def _windows_libraries(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield where pynvml looks on Windows."""
    yield Path(environ.get("WINDIR", "C:/Windows"), "System32/nvml.dll")
    files = environ.get("ProgramFiles", "C:/Program Files")
    yield Path(files, "NVIDIA Corporation/NVSMI/nvml.dll")


def _search_path() -> list[str]:
    """Return where the child finds flashdoctor and pynvml: this package's root first.

    The root may be a zip file. The child appends these, so nothing here shadows its own library.
    """
    return [str(Path(__file__).parents[2]), *(path for path in sys.path if path)]


def parse_report(completed: Completed, environ: Mapping[str, str], timeout_s: float) -> Answer:
    """Make an answer of what the child printed and how it ended."""
    report = _Report(_lines(completed.stdout))
    status, error = _outcome(completed, report, timeout_s)
    system = report.values.get(None, {})
    count = system.get("count")
    devices = tuple({"index": n, **report.values.get(n, {})} for n in range(count or 0))
    visible = _visible(system.get("visible"))
    if visible is None and count is not None:
        visible = resolve(devices, environ)  # hung or crashed before that; without UUIDs
    return Answer(
        source=SOURCE,
        status=status,
        error=error,
        driver=system.get("driver"),
        cuda=system.get("cuda"),
        count=count,
        devices=devices,
        visible=visible,
        refusals={
            (device, name): words
            for device, name, _, words in report.failures
            if device is not None
        },
    )


class _Report:
    """The child's lines, sorted by kind; lines that make no sense are passed over."""

    def __init__(self, lines: Iterable[list[Any]]) -> None:
        self.values: dict[int | None, dict[str, Any]] = {}
        self.failures: list[tuple[int | None, str, int, str]] = []
        self.last_call = ""
        self.ended = False
        for line in lines:
            match line:
                case ["call", str(name)]:
                    self.last_call = name
                case ["put", int() | None as device, str(key), value]:
                    self.values.setdefault(device, {})[key] = value
                case ["fail", int() | None as device, str(name), int(code), str(words)]:
                    self.failures.append((device, name, code, words))
                case ["end"]:
                    self.ended = True


def _lines(stdout: str) -> Iterator[list[Any]]:
    for line in stdout.splitlines():
        if line.startswith(_SENTINEL):
            try:
                words = json.loads(line[len(_SENTINEL) :])
            except ValueError:  # cut off by the kill
                continue
            if isinstance(words, list):
                yield words


def _outcome(completed: Completed, report: _Report, timeout_s: float) -> tuple[str, str]:
    """Return the words of nvml.status and nvml.error."""
    if completed.failure == "timeout":
        where = f" to {report.last_call}" if report.last_call else ""
        return "timeout", f"no answer{where} within {timeout_s:g} s"
    if completed.failure:
        return "unknown-error", f"the process that asks NVML failed: {completed.failure}"
    fatal = next(filter(_is_fatal, report.failures), None)
    if fatal is not None:
        return STATUSES.get(fatal[2], "unknown-error"), fatal[3]
    if not report.ended:
        return "unknown-error", _crash(completed, report)
    return "ok", ""


def _is_fatal(failure: tuple[int | None, str, int, str]) -> bool:
    """Whether a refusal concerns NVML or a whole GPU, and not one property of it."""
    device, name, code, _ = failure
    started = name in {"import pynvml", "nvmlInitWithFlags", "nvmlDeviceGetCount"}
    lost = STATUSES.get(code) == "gpu-lost"
    return started or lost or (device is not None and name == "nvmlDeviceGetHandleByIndex")


def _crash(completed: Completed, report: _Report) -> str:
    where = report.last_call or "the start of Python"
    if completed.status is not None and completed.status < 0:
        return f"{where} ended the process by signal {-completed.status}"
    last = completed.stderr.strip().rpartition("\n")[2][:200]
    ended = f"the process that asks NVML ended in {where} with status {completed.status}"
    return f"{ended}: {last}" if last else ended


def _visible(value: Any) -> Visible | None:
    match value:
        case [list(order), list(invalid), str(unresolved), bool(guessed)]:
            return Visible(
                tuple(Seen(*seen) for seen in order), tuple(invalid), unresolved, guessed
            )
    return None
