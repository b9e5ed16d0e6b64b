"""The completion scripts, asked by the shells they are for."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flashdoctor.cli.main import COMMANDS
from flashdoctor.model.rule import COMPONENTS
from flashdoctor.render.formats import FORMATS

Call = Callable[..., tuple[int, str, str]]
Ask = Callable[[str], set[str]]
SHELLS = ("bash", "zsh", "fish")
LONGEST_S = 20.0


@pytest.fixture
def scripts(call_main: Call, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes the script for a shell; a shell that is not there skips."""

    def write(shell: str) -> Path:
        if shutil.which(shell) is None:
            pytest.skip(f"no {shell} here")
        code, out, err = call_main("--show-completion", shell)
        assert (code, err) == (0, "")
        file = tmp_path / f"completion.{shell}"
        file.write_text(out, encoding="utf-8")
        return file

    return write


def lines_of(*args: str | Path) -> list[str]:
    done = subprocess.run(
        args, capture_output=True, text=True, encoding="utf-8", timeout=LONGEST_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.fixture(params=["bash", "fish"])
def ask(request: pytest.FixtureRequest, scripts: Callable[[str], Path]) -> Ask:
    """Return a function that tells what a shell offers at the end of a line."""
    shell: str = request.param
    script = scripts(shell)

    def in_bash(line: str) -> set[str]:
        text = (
            'source "$1"; read -ra COMP_WORDS <<< "$2"; [[ $2 != *" " ]] || COMP_WORDS+=("");'
            ' COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _flashdoctor; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        return set(lines_of("bash", "--norc", "-c", text, "bash", script, line)) - {""}

    def in_fish(line: str) -> set[str]:
        text = "source $argv[1]; complete -C $argv[2]"
        return {item.split("\t")[0] for item in lines_of("fish", "-N", "-c", text, script, line)}

    return in_bash if shell == "bash" else in_fish


def test_commands_options_and_values_are_offered(ask: Ask) -> None:
    assert set(COMMANDS) <= ask("flashdoctor ")
    assert ask("flashdoctor che") == {"check"}
    assert ask("flashdoctor matrix ") >= {"show", "verify", "refresh"}
    assert ask("flashdoctor rules list --f") == {"--format"}
    assert ask("flashdoctor check --fail-on ") == {"error", "warning", "never"}
    assert ask("flashdoctor check --require ") == set(COMPONENTS)
    assert ask("flashdoctor lint x --format ") == set(FORMATS)
    assert ask("flashdoctor resolve --format ") == {"terminal", "json"}
    assert "--want" not in ask("flashdoctor check --")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_parses(shell: str, scripts: Callable[[str], Path]) -> None:
    assert lines_of(shell, "-n", scripts(shell)) == []


def test_zsh_completes_at_its_prompt(scripts: Callable[[str], Path], tmp_path: Path) -> None:
    """Types into a real zsh, which tells its lines only to a terminal."""
    pty = pytest.importorskip("pty")
    script = scripts("zsh")
    terminal, inner = pty.openpty()
    env = {**os.environ, "TERM": "dumb", "HOME": str(tmp_path)}
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=inner, stdout=inner, stderr=inner, env=env, cwd=tmp_path,
        start_new_session=True,
    )  # fmt: skip
    try:
        told = "flashdoctor() { print to''ld ${(j:|:)@} }"
        typed(terminal, f"source {script}; {told}; print read''y\n", "ready\r\n")
        said = typed(terminal, "flashdoctor che\t--fail\tnev\t\n", "|never")
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)
        os.close(inner)
    assert "told check|--fail-on|never" in said


def typed(terminal: int, text: str, until: str) -> str:
    os.write(terminal, text.encode())
    said, end = b"", time.monotonic() + LONGEST_S
    while until.encode() not in said and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            said += os.read(terminal, 65536)
    return said.decode(errors="replace")


def test_another_shell_is_wrong_usage(call_main: Call) -> None:
    code, out, err = call_main("--show-completion", "tcsh")
    assert (code, out) == (2, "")
    assert "--show-completion takes bash, zsh or fish, not 'tcsh'" in err
