from __future__ import annotations

from pathlib import Path

import pytest

from flashdoctor.target.choose import choose_python
from flashdoctor.target.pyenv import behind_shim


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("shims", "versions/3.10.13/bin", "versions/3.11.7/bin"):
        executable = tmp_path / "pyenv" / folder / "python3"
        executable.parent.mkdir(parents=True)
        executable.write_text("#!/bin/sh\n")
        executable.chmod(0o755)
    (tmp_path / "work" / "deep").mkdir(parents=True)
    return tmp_path / "pyenv"


def ask(root: Path, version: str = "", local: str = "", whole: str = "") -> str | None:
    """Return the version that the shim leads to."""
    work = root.parent / "work"
    for file, text in ((work / ".python-version", local), (root / "version", whole)):
        if text:
            file.write_text(text)
    found = behind_shim(root / "shims" / "python3", {"PYENV_VERSION": version}, work / "deep")
    return found.parent.parent.name if found else None


def test_the_variable_wins_over_the_files(root: Path) -> None:
    assert ask(root, version="3.10.13", local="3.11.7", whole="3.11.7") == "3.10.13"


def test_the_file_of_a_folder_above_wins_over_the_global_one(root: Path) -> None:
    assert ask(root, local="3.10.13\n", whole="3.11.7\n") == "3.10.13"


def test_the_global_version_is_the_last_resort(root: Path) -> None:
    assert ask(root, whole="3.11.7\n3.10.13\n") == "3.11.7"


@pytest.mark.parametrize("version", ["", "system", "3.11", "3.12.1", "../x", "system:3.11.7"])
def test_what_pyenv_has_to_decide_is_left_to_it(root: Path, version: str) -> None:
    assert ask(root, version=version) is None


def test_a_program_outside_the_shims_is_no_shim(root: Path) -> None:
    assert behind_shim(root / "versions/3.11.7/bin/python3", {"PYENV_VERSION": "3.10.13"}) is None


def test_the_interpreter_behind_the_shim_is_chosen(root: Path) -> None:
    environ = {"PATH": str(root / "shims"), "PYENV_VERSION": "3.11.7"}
    choice = choose_python(None, environ)
    assert choice.path == root / "versions/3.11.7/bin/python3"
    assert choice.why == "python3 on PATH"
