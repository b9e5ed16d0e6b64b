from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import Fact
from flashdoctor.probes import compiler
from flashdoctor.probes.compiler import PATHS, parse_version, read_compiler

pytestmark = pytest.mark.skipif(os.name == "nt", reason="shell scripts stand for compilers")


@pytest.fixture
def install(tmp_path: Path) -> Callable[..., Path]:
    """Put a shell script below a root that stands for a compiler."""

    def write(name: str, script: str) -> Path:
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return tmp_path

    return write


def read(root: Path, search: str = "/bin") -> tuple[Fact, Fact]:
    text, version = read_compiler(root, {"PATH": search})
    assert (text.path, version.path) == PATHS
    return text, version


def test_this_machines_compiler_is_what_it_says() -> None:
    program = shutil.which("gcc")
    if program is None or sys.platform != "linux":
        pytest.skip("needs gcc")
    text, version = read(Path("/"), os.environ["PATH"])
    assert text.value == f"gcc {version.value}"
    assert version.value.split(".")[0].isdigit()


def test_gcc_comes_before_clang(install: Callable[..., Path]) -> None:
    install("clang", "echo 14.0.6")
    root = install("gcc", '[ "$*" = "-dumpfullversion -dumpversion" ] && echo 12.2.0')
    assert [fact.value for fact in read(root)] == ["gcc 12.2.0", "12.2.0"]
    (root / "bin/gcc").unlink()
    assert [fact.value for fact in read(root)] == ["clang 14.0.6", "14.0.6"]


def test_no_compiler_is_a_fact(tmp_path: Path) -> None:
    assert [fact.state for fact in read(tmp_path)] == ["absent", "absent"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("sleep 60", "timeout"),
        ("exit 1", "its answer holds no version"),
        ("echo no", "its answer holds no version"),
    ],
)
def test_a_compiler_that_does_not_answer(
    script: str, reason: str, install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "_TIMEOUT_S", 0.5)
    text, version = read(install("gcc", script))
    assert text.value == "gcc"
    assert (version.state, version.reason) == ("unknown", reason)


def test_windows_compiler_is_named_and_not_asked(
    install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    text, version = read(install("cl", "exit 1"))
    assert (text.value, version.state) == ("cl", "unknown")


def test_macos_gcc_is_not_believed(
    install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    install("gcc", "echo 15.0.0")
    root = install("clang", "echo 15.0.0")
    assert read(root)[0].value == "clang 15.0.0"


@given(st.text())
def test_any_answer_is_read(text: str) -> None:
    version = parse_version(text)
    assert version is None or version in text


@given(st.lists(st.integers(0, 99), min_size=1, max_size=3))
def test_a_version_is_read(numbers: list[int]) -> None:
    version = ".".join(map(str, numbers))
    assert parse_version(f"{version}\n") == version
