"""The real command line under the names by which gates call it, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(ROOT)!r})
from flashdoctor.__main__ import console
console()
"""
SAYS = '#!/bin/sh\necho "$0 $*" >> "$CALLS"\necho "{words}"\nexit {code}\n'

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Return a folder of programs that stands first on PATH: flashdoctor, python3."""
    folder = tmp_path / "tools"
    write_program(folder / "flashdoctor", LAUNCHER)
    write_program(folder / "python3", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return the folder in which gates run, with a flashdoctor.pyz that is this checkout."""
    folder = tmp_path / "work"
    write_program(folder / "flashdoctor.pyz", LAUNCHER)
    return folder


@pytest.fixture
def pretend(tools: Path) -> Callable[..., Path]:
    """Return a function that puts a program on PATH that only notes how it was called."""

    def make(name: str, *, code: int = 0, words: str = "") -> Path:
        return write_program(tools / name, SAYS.format(code=code, words=words))

    return make


@pytest.fixture
def run(tools: Path, work: Path, tmp_path: Path) -> Run:
    """Return a function that runs a program in the gate's folder, in a small environment."""

    def call(
        args: Sequence[str | Path], env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        base = {
            "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "CALLS": str(tmp_path / "calls"),
        }
        return subprocess.run(
            args, cwd=work, env={**base, **(env or {})}, capture_output=True, text=True,
            encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip

    return call


@pytest.fixture
def calls(tmp_path: Path) -> Callable[[], list[str]]:
    """Return a function that tells how the pretended programs were called."""

    def read() -> list[str]:
        file = tmp_path / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    return read
