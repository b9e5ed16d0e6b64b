"""The README cannot drift: its console blocks hold what the commands print, its commands are CI's.

`python tests/test_readme.py` writes the blocks anew.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n\$ flashdoctor (?P<command>[^\n]*)\n(?P<output>.*?)```", re.DOTALL)
TEST_COMMAND = (
    "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/python -m pytest -n 2"
)


RECORDED = ROOT / "tests" / "data" / "smoke" / "h200_nine_families.json"
TABLE = re.compile(r"```text\ncase .*?```", re.DOTALL)


def recorded_table() -> str:
    """Return the README's table of a run on an H200, from its recorded JSON: what ran."""
    rows = [("case", "what ran", "ms", "kernel")]
    for case in json.loads(RECORDED.read_text(encoding="utf-8"))["cases"]:
        if not case["kernels"]:
            continue
        ms = "" if case["ms"] is None else f"{case['ms']:.2f}"
        rows.append((case["name"], case["family"], ms, case["kernel"][:52]))
    lines = [f"{name:27}{family:15}{ms:>6}  {kernel}".rstrip() for name, family, ms, kernel in rows]
    return "```text\n" + "\n".join(lines) + "\n```"


def output_of(command: str) -> str:
    environ = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-m", "flashdoctor", *shlex.split(command)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environ,
        cwd=ROOT,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


def commands() -> list[str]:
    return [match["command"] for match in BLOCK.finditer(README.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("command", commands())
def test_a_console_block_holds_what_the_command_prints(command: str) -> None:
    blocks = {
        match["command"]: match["output"]
        for match in BLOCK.finditer(README.read_text(encoding="utf-8"))
    }
    assert blocks[command] == output_of(command)


def test_the_recorded_run_is_the_one_on_record() -> None:
    found = TABLE.search(README.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == recorded_table()


def test_the_recorded_screen_is_the_one_on_record() -> None:
    screen = (ROOT / "tests" / "data" / "smoke" / "h200_whole.txt").read_text(encoding="utf-8")
    assert f"```text\n{screen}```" in README.read_text(encoding="utf-8")


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert TEST_COMMAND in README.read_text(encoding="utf-8")
    assert TEST_COMMAND in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_command_has_its_help_or_output_in_the_readme() -> None:
    heads = {command.split()[0] for command in commands()}
    assert {"check", "smoke", "diagnose", "snapshot", "rules", "matrix"} <= heads


def test_the_top_level_holds_what_the_design_allows() -> None:
    allowed = {"pyproject.toml", "flashdoctor", "matrices", "tests", "README.md", "CHANGELOG.md"}
    listed = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    tops = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert {top for top in tops if not top.startswith(".")} <= allowed


def renew(match: re.Match[str]) -> str:
    command = match["command"]
    return f"```console\n$ flashdoctor {command}\n{output_of(command)}```"


if __name__ == "__main__":
    text = BLOCK.sub(renew, README.read_text(encoding="utf-8"))
    README.write_text(TABLE.sub(lambda _: recorded_table(), text), encoding="utf-8")
