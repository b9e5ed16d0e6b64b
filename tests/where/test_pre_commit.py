"""The pre-commit hooks: their entries run as pre-commit runs them, by the real command line."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

HOOKS = Path(__file__).resolve().parents[2] / ".pre-commit-hooks.yaml"
FILES = {
    "right.txt": "torch==2.8.0\nvllm==0.11.0\n",
    "wrong.txt": "torch==2.11.0+cu130\nvllm==0.10.2\n",
    "other.txt": "flask==3.1.0\n",
    "right.sh": "#!/bin/sh\nvllm serve Qwen/Qwen3-8B --max-model-len 8192\n",
    "wrong 2.sh": "#!/bin/sh\nvllm serve Qwen/Qwen3-8B --max-modl-len 8192\n",
    "newer.sh": "#!/bin/sh\nvllm serve Qwen/Qwen3-8B --attention-backend FLASH_ATTN\n",
    "other.sh": "#!/bin/sh\necho hello\n",
}

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def hook(name: str) -> dict[str, Any]:
    hooks: list[dict[str, Any]] = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    [found] = [hook for hook in hooks if hook["id"] == name]
    return found


@pytest.fixture
def commit(run: Run, work: Path) -> Run:
    """Return a function that runs a hook's entry on files, options of its `args` before them."""
    for name, text in FILES.items():
        (work / name).write_text(text, encoding="utf-8")

    def call(name: str, *words: str) -> subprocess.CompletedProcess[str]:
        return run([*shlex.split(hook(name)["entry"]), *words])

    return call


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (["right.txt"], 0),
        (["other.txt"], 0),
        (["wrong.txt"], 1),
        (["wrong.txt", "right.txt", "other.txt"], 1),
        ([], 0),
    ],
)
def test_requirements(commit: Run, files: list[str], code: int) -> None:
    done = commit("flashdoctor-requirements", *files)
    assert done.returncode == code
    assert ("FD601" in done.stdout) == (code == 1)
    assert "other.txt" not in done.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["right.sh", "other.sh"], 0),
        (["wrong 2.sh"], 1),
        (["wrong 2.sh", "other.sh", "right.sh"], 1),
        (["newer.sh"], 0),
        (["--engine-version", "0.11.0", "newer.sh"], 1),
        (["--nonsense", "right.sh"], 1),
    ],
)
def test_launches(commit: Run, words: list[str], code: int) -> None:
    done = commit("flashdoctor-launch", *words)
    assert done.returncode == code
    assert ("FAIL" in done.stdout) == (code == 1 and "--nonsense" not in words)


def test_which_files_are_requirements() -> None:
    wanted = re.compile(hook("flashdoctor-requirements")["files"])
    for name in ("requirements.txt", "deploy/requirements-gpu.txt", "requirements.lock"):
        assert wanted.search(name)
    for name in ("my_requirements.txt", "requirements.md", "requirements/readme.txt"):
        assert not wanted.search(name)


def test_each_hook_says_what_pre_commit_asks_for() -> None:
    for entry in yaml.safe_load(HOOKS.read_text(encoding="utf-8")):
        assert {"id", "name", "entry", "language"} <= set(entry)
        assert (entry["language"], entry["require_serial"]) == ("python", True)
