"""Target interpreters of every sort: chosen, too old, without pip, broken."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

IMPATIENT = {"collect_s": 3.0}  # an interpreter gets 20 s else

SCRIPTS: dict[str, tuple[str, str, str]] = {
    "hangs": ("sleep 300", "timeout", "did not answer within 3 s"),
    "stops itself": ("kill -STOP $$", "timeout", "did not answer"),
    "exits": ("exit 0", "silent", "ended without a report"),
    "exits with 3": ("exit 3", "crashed", "ended with status 3"),
    "segfaults": ("kill -SEGV $$", "crashed", "was ended by SIGSEGV"),
    "explains": ("echo 'pyenv: python3: command not found' >&2; exit 127", "crashed",
                 "pyenv: python3: command not found"),
    "is a cat": ("echo hello; exec cat", "silent", "ended without a report"),
    "never ends to print": ("exec cat /dev/zero", "silent", "printed more than 16 MiB"),
}  # fmt: skip


def patience(status: str) -> dict[str, float]:
    return IMPATIENT if status == "timeout" else {}


@pytest.mark.parametrize(("text", "status", "words"), SCRIPTS.values(), ids=SCRIPTS.keys())
def test_an_interpreter_that(
    command: Any, rig: Any, tmp_path: Path, *, text: str, status: str, words: str
) -> None:
    program = tmp_path / "python3"
    program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    program.chmod(0o755)
    done = command.check(
        "--python", str(program), rig=rig("h200"), smoke="auto", settings=patience(status)
    )
    assert (done.code, done.errors) == (1, ["target-python-failed"])
    assert done.value("python.status") == status
    assert words in done.value("python.error")
    assert done.state("torch.version") == "unknown"
    assert done.value("gpu.name") == "NVIDIA H200", "the machine is looked at all the same"
    assert done.seconds < 15


SITES: dict[str, tuple[str, str]] = {
    "exits": ("import os; os._exit(0)", "silent"),
    "raises an exit": ("raise SystemExit(4)", "crashed"),
    "segfaults": ("import ctypes; ctypes.string_at(0)", "crashed"),
}


@pytest.mark.parametrize(("text", "status"), SITES.values(), ids=SITES.keys())
def test_a_sitecustomize_that(command: Any, rig: Any, target: Any, text: str, status: str) -> None:
    target.torch().write("sitecustomize.py", text)
    done = command.check(rig=rig("h200"), target=target, smoke="auto")
    assert (done.code, done.errors) == (1, ["target-python-failed"])
    assert done.value("python.status") == status


BANNERS = (
    "print('Welcome to the cluster'); import os; os.write(1, b'no newline')",
    'print(\'FLASHDOCTOR-AGENT-V1 {"agent": "collect", "facts": []}\')',
    "raise RuntimeError('a broken plugin')",
    "import warnings; warnings.warn('old')",
    "import atexit; atexit.register(lambda: print('bye'))",
)


def test_banners_and_lies_change_nothing(command: Any, rig: Any, target: Any) -> None:
    target.torch()
    machine = rig("h200")
    plain = command.check(rig=machine, target=target, smoke="auto")
    assert plain.code == 0
    for text in BANNERS:
        target.write("sitecustomize.py", text)
        done = command.check(rig=machine, target=target, smoke="auto")
        assert done.stdout == plain.stdout, text


@pytest.fixture(scope="session")
def interpreter() -> Callable[[str], Path]:
    """Return a function that finds `pythonX.Y`, by pyenv's folder or PATH; skips without one."""

    def find(version: str) -> Path:
        root = os.environ.get("PYENV_ROOT")
        installed = sorted(Path(root).glob(f"versions/{version}.*/bin/python")) if root else []
        folders = [Path(folder) for folder in os.get_exec_path() if "shims" not in folder]
        for candidate in [*installed, *(folder / f"python{version}" for folder in folders)]:
            if os.access(candidate, os.X_OK):
                return candidate
        pytest.skip(f"no Python {version} here")

    return find


@pytest.mark.parametrize("version", ["2.7", "3.6"])
def test_a_python_that_is_too_old(
    command: Any, rig: Any, interpreter: Callable[[str], Path], version: str
) -> None:
    done = command.check("--python", str(interpreter(version)), rig=rig("h200"), smoke="auto")
    assert (done.code, done.errors) == (1, ["target-python-failed"])
    assert done.value("python.status") == "too-old"
    assert done.value("python.version").startswith(f"{version}.")
    assert "3.8 and newer" in done.value("python.error")


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_a_python_that_is_looked_into(
    command: Any, rig: Any, interpreter: Callable[[str], Path], version: str
) -> None:
    python = interpreter(version)
    done = command.check("--python", str(python), rig=rig("h200"))
    assert done.value("python.status") == "ok"
    assert done.value("python.version").startswith(f"{version}.")
    assert done.value("python.tag") == f"cp{version.replace('.', '')}"
    assert done.code in {0, 1}


def test_the_active_environment_is_the_default(command: Any, rig: Any, target: Any) -> None:
    target.torch()
    machine = rig("h200")
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        done = command.check(rig=machine, environ={variable: str(target.root)})
        assert (done.code, done.value("torch.version")) == (0, "2.7.1+cu126")
        assert done.value("python.executable").endswith("/env/bin/python")
        assert done.value("python.pip") is False
    on_path = command.check(rig=machine, environ={"PATH": f"{target.root / 'bin'}:/usr/bin:/bin"})
    assert on_path.value("torch.version") == "2.7.1+cu126"
    by_folder = command.check("--python", str(target.root), rig=machine)
    assert by_folder.value("torch.version") == "2.7.1+cu126"


def test_no_interpreter_at_all_is_never_a_pass(command: Any, rig: Any) -> None:
    done = command.check(rig=rig("h200"), environ={"PATH": str(command.work)})
    assert done.code in {1, 3}
    assert done.value("python.status") == "not-found"


@pytest.mark.parametrize("name", ["/nowhere/python", "no-such-python", "."])
def test_a_named_interpreter_that_is_not_there(command: Any, name: str) -> None:
    done = command.run("check", "--format", "json", "--python", name)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("flashdoctor: error: ")
    assert done.stderr.count("\n") == 1
