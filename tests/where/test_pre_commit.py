"""The pre-commit hooks: their entries run as pre-commit runs them, by the real command line."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ROOT / ".pre-commit-hooks.yaml"
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


@pytest.mark.network
def test_pre_commit_itself_runs_them(run: Run, work: Path, tmp_path: Path) -> None:
    """From a repository of this checkout's files, as `repo:` and `rev:` name one."""
    if run(
        ["python3", "-m", "pip", "download", "--no-deps", "-qd", tmp_path, "packaging"]
    ).returncode:
        pytest.skip("no package index")
    tool, project = published(run, tmp_path / "tool"), work / "project"
    project.mkdir()
    config = {"repos": [{"repo": str(tool), "rev": "v1", "hooks": [
        {"id": "flashdoctor-requirements"},
        {"id": "flashdoctor-launch", "args": ["--engine-version", "0.11.0"]},
    ]}]}  # fmt: skip
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    pre_commit = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    env = {"PRE_COMMIT_HOME": str(tmp_path / "home"), "PWD": str(project)}
    for start, code in (("wrong", 1), ("right", 0)):
        for name, kind in (("requirements.txt", ".txt"), ("serve.sh", ".sh")):
            source = f"{start} 2{kind}" if (start, kind) == ("wrong", ".sh") else start + kind
            (project / name).write_text(FILES[source], encoding="utf-8")
        git(run, project, "init", "-q")
        git(run, project, "add", "-A")
        done = run(["sh", "-c", 'cd "$0" && exec "$@"', project, *pre_commit], env)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stdout.count("Failed" if code else "Passed") == 2


def git(run: Run, folder: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    assert run(["git", "-C", folder, *who, *words]).returncode == 0


def published(run: Run, folder: Path) -> Path:
    """Return a repository, with a tag, that holds what this checkout has under git or would."""
    listed = run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"])
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git(run, folder, "init", "-q")
    git(run, folder, "add", "-A")
    git(run, folder, "commit", "-qm", "all")
    git(run, folder, "tag", "v1")
    return folder


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
