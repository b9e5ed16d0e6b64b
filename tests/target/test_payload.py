from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import flashdoctor
from flashdoctor.errors import TargetCrashedError
from flashdoctor.target import payload
from flashdoctor.target.payload import program
from flashdoctor.target.run import parse_reports, run_agent


def test_a_program_is_ascii_and_valid() -> None:
    for agent in ("collect", "live"):
        text = program(agent, {"name": "\u00fc\n'\"", "nothing": None})
        assert text.isascii()
        compile(text, agent, "exec")


def test_the_agents_can_be_read_from_a_zip_file(tmp_path: Path) -> None:
    package = Path(next(iter(flashdoctor.__path__)))
    archive = tmp_path / "flashdoctor.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in package.rglob("*.py"):
            file.write(path, path.relative_to(package.parent))
    code = "from flashdoctor.target.payload import program; print(program('collect', {}))"
    made = run_python(f"import sys; sys.path.insert(0, {str(archive)!r}); {code}")
    done = run_python("exec(__import__('sys').stdin.read())", made)
    assert [report["agent"] for report in parse_reports(done.encode(), "collect")] == ["collect"]


def run_python(code: str, given: str = "") -> str:
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout


def test_only_an_interpreter_of_another_version_compiles_the_text(
    monkeypatch: pytest.MonkeyPatch, interpreter: Callable[[str], Path]
) -> None:
    real = payload._text
    monkeypatch.setattr(
        payload, "_text", lambda name: real(name) if name == "bootstrap" else "raise SystemExit(7)"
    )
    assert run_agent(sys.executable)["agent"] == "collect"
    other = "3.12" if sys.version_info[:2] != (3, 12) else "3.13"
    with pytest.raises(TargetCrashedError, match="status 7"):
        run_agent(interpreter(other))


def test_without_bytecode_the_text_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "_code", lambda _name: "")
    assert run_agent(sys.executable)["agent"] == "collect"
