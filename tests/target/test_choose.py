from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flashdoctor.errors import TargetNotFoundError
from flashdoctor.target.choose import choose_python


def make(file: Path, mode: int = 0o755) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n", encoding="utf-8")
    file.chmod(mode)
    return file


def test_an_active_venv_comes_first(tmp_path: Path) -> None:
    venv, conda = make(tmp_path / "v/bin/python"), make(tmp_path / "c/bin/python")
    path = make(tmp_path / "p/python3")
    environ = {
        "VIRTUAL_ENV": str(tmp_path / "v"),
        "CONDA_PREFIX": str(tmp_path / "c"),
        "PATH": str(tmp_path / "p"),
    }
    choice = choose_python(None, environ)
    assert (choice.path, choice.named) == (venv, False)
    assert "VIRTUAL_ENV" in choice.why
    del environ["VIRTUAL_ENV"]
    assert choose_python(None, environ).path == conda
    environ["CONDA_PREFIX"] = ""
    assert choose_python(None, environ).path == path


def test_python_is_taken_where_there_is_no_python3(tmp_path: Path) -> None:
    make(tmp_path / "python3", 0o644)
    plain = make(tmp_path / "python")
    assert choose_python(None, {"PATH": str(tmp_path)}).path == plain


def test_a_stale_environment_is_passed_over_and_said(tmp_path: Path) -> None:
    path = make(tmp_path / "p/python3")
    environ = {"VIRTUAL_ENV": str(tmp_path / "gone"), "PATH": str(tmp_path / "p")}
    choice = choose_python(None, environ)
    assert choice.path == path
    assert "VIRTUAL_ENV names a folder without a Python" in choice.why


def test_our_own_interpreter_is_never_the_fallback(tmp_path: Path) -> None:
    with pytest.raises(TargetNotFoundError) as caught:
        choose_python(None, {"PATH": str(tmp_path)})
    assert "--python" in caught.value.hint
    assert sys.executable not in caught.value.message


def test_an_executable_a_folder_and_a_name_can_be_asked_for(tmp_path: Path) -> None:
    python = make(tmp_path / "v/bin/python")
    named = make(tmp_path / "p/python3.99")
    environ = {"PATH": str(tmp_path / "p"), "VIRTUAL_ENV": str(tmp_path / "other")}
    assert choose_python(str(python), environ).path == python
    assert choose_python(str(tmp_path / "v"), environ).path == python
    choice = choose_python("python3.99", environ)
    assert (choice.path, choice.named, choice.why) == (named, True, "--python")


def test_a_windows_layout_is_known(tmp_path: Path) -> None:
    python = make(tmp_path / "v/Scripts/python.exe")
    assert choose_python(str(tmp_path / "v"), {}).path == python


def test_a_relative_path_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / ".venv/bin/python")
    monkeypatch.chdir(tmp_path)
    expected = tmp_path / ".venv/bin/python"
    assert choose_python(".venv", {"PATH": ""}).path == expected
    assert choose_python(".venv/bin/python", {"PATH": ""}).path == expected


def test_the_link_of_a_venv_is_kept(tmp_path: Path) -> None:
    base = make(tmp_path / "base/python3.11")
    link = tmp_path / "v/bin/python"
    link.parent.mkdir(parents=True)
    link.symlink_to(base)
    assert choose_python(str(tmp_path / "v"), {}).path == link
    assert choose_python(str(link), {}).path == link
    assert os.path.realpath(link) == str(base)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere/python", "there is no Python at"),
        ("no-such-python", "there is no Python at"),
        ("empty", "is no virtual environment"),
        ("text", "is not executable"),
    ],
)
def test_what_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    (tmp_path / "empty").mkdir()
    make(tmp_path / "text", 0o644)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TargetNotFoundError, match=words) as caught:
        choose_python(name, {"PATH": ""})
    assert "--python" in caught.value.hint


def test_a_home_that_nobody_has_is_not_there() -> None:
    with pytest.raises(TargetNotFoundError, match="there is no Python at ~no-such-user/python"):
        choose_python("~no-such-user/python", {"PATH": ""})


def test_what_may_not_be_looked_at_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path, **_: bool) -> None:
        raise PermissionError(13, "Permission denied")

    python = make(tmp_path / "p/python3")
    monkeypatch.setattr(Path, "stat", refuse)
    environ = {"VIRTUAL_ENV": str(tmp_path / "v"), "PATH": str(tmp_path / "p")}
    assert choose_python(None, environ).path == python
    with pytest.raises(TargetNotFoundError, match="there is no Python at"):
        choose_python(str(python), environ)


def test_windows_comes_to_python3_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python, python3 = make(tmp_path / "python"), make(tmp_path / "python3")
    assert choose_python(None, {"PATH": str(tmp_path)}).path == python3
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("shutil.which", lambda name, path: f"{path}/{name}")
    assert choose_python(None, {"PATH": str(tmp_path)}).path == python


def test_home_is_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Callable[[str], Path]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    python = script("exit 0")
    assert choose_python("~/python3", {"PATH": ""}).path == python
