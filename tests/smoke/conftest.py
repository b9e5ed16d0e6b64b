"""A target Python, an agent that plays parts, and the facts of some machines."""

from __future__ import annotations

import json
import sys
import venv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.engine.derive import derive
from flashdoctor.model.smoke import Case, Shape
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.target import payload

ENVIRON = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

# Plays the agent: what a case does stands in PARTS by its name.
AGENT = """
import ctypes, os, sys, time
PARTS = {parts}
START = {start}
def main(parts, options, emit):
    if START.get("die"):
        ctypes.string_at(0)
    if START.get("hang"):
        time.sleep(300)
    if START.get("take"):
        try:
            os.mkdir(START["take"])
        except FileExistsError:
            emit({{"agent": "smoke", "event": "start", "error": "CUDA-capable devices are busy"}})
            for case in options["cases"]:
                emit({{"agent": "smoke", "event": "result", "name": case["name"],
                      "status": "error"}})
            emit({{"agent": "smoke", "event": "end"}})
            return
    emit(dict({{"agent": "smoke", "event": "start", "pid": os.getpid()}}, **START))
    for case in options["cases"]:
        play = PARTS.get(case["name"], {{}})
        if play.get("leave out"):
            continue
        if play.get("die between"):
            os._exit(7)
        emit({{"agent": "smoke", "event": "begin", "name": case["name"]}})
        if play.get("say"):
            sys.stderr.write(play["say"])
        if play.get("die"):
            ctypes.string_at(0)
        if play.get("hang"):
            time.sleep(300)
        if play.get("flood"):
            while True:
                emit({{"agent": "smoke", "event": "noise", "text": "x" * 100000}})
        time.sleep(play.get("wait", 0))
        told = {{key: value for key, value in options.items() if key != "cases"}}
        result = {{"agent": "smoke", "event": "result", "name": case["name"], "status": "ran",
                   "asked_case": case, "options": told, "child": os.getpid()}}
        result.update(play.get("result", {{}}))
        emit(result)
        if result.get("fatal"):
            return
    if START.get("take"):
        os.rmdir(START["take"])
    emit({{"agent": "smoke", "event": "end"}})
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Return the interpreter of an empty virtual environment."""
    venv.create(tmp_path / "venv", symlinks=True, with_pip=False)
    name = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    return tmp_path / "venv" / name


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that puts an agent in place of the real one: what its cases do."""

    def put(parts: Mapping[str, Any] | None = None, start: Mapping[str, Any] | None = None) -> None:
        texts = {"parts": repr(dict(parts or {})), "start": repr(dict(start or {}))}
        agent, real = AGENT.format(**texts), payload._text
        monkeypatch.setattr(payload, "_PARTS", {"smoke": ("smoke",), "live": ("smoke", "live")})
        monkeypatch.setattr(payload, "_text", lambda n: agent if n == "smoke" else real(n))
        monkeypatch.setattr(payload, "_code", lambda _name: "")

    return put


@pytest.fixture
def stack() -> Callable[..., Snapshot]:
    """Return a function that derives facts from assumptions: `stack("gpu=H200", ...)`."""

    def build(*items: str) -> Snapshot:
        return derive(read_assumptions(items), load_tables())

    return build


@pytest.fixture
def make_case() -> Callable[..., Case]:
    """Return a function that builds a case; what a test does not care about is filled in."""

    def build(name: str = "sdpa-flash-d128", **given: Any) -> Case:
        fields: dict[str, Any] = {
            "api": "sdpa",
            "backend": "flash",
            "label": "SDPA, flash only",
            "shape": Shape(batch=1, q_len=64, kv_len=64, heads=4, kv_heads=4, head_dim=64),
            "dtype": "bf16",
            "expected": ("torch-flash",),
        }
        return Case(name=name, **{**fields, **given})

    return build


@pytest.fixture
def make_cases(make_case: Callable[..., Case]) -> Callable[..., tuple[Case, ...]]:
    """Return a function that builds a case for each name, all with the same fields."""

    def build(names: Iterable[str], **given: Any) -> tuple[Case, ...]:
        return tuple(make_case(name, **given) for name in names)

    return build


@pytest.fixture(scope="session")
def kernels() -> Mapping[str, str]:
    """Return one real kernel name for each family, as torch's profiler spells it."""
    file = Path(__file__).resolve().parent.parent / "data" / "smoke" / "kernel_names.json"
    names: Mapping[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return names
