"""flashdoctor from a zip file: tables, examples, agents and parsers, and the same JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from flashdoctor.data.compile import compile_matrices

ROOT = Path(__file__).resolve().parents[2]
MAIN = "from flashdoctor.__main__ import console\nconsole()\n"
COMMANDS: dict[str, tuple[int, tuple[str, ...]]] = {
    "what-if": (1, ("check", "--assume", "gpu=V100", "--assume", "torch=2.11.0+cu130")),
    "example": (0, ("check", "--snapshot", "example:h200")),
    "paste": (1, ("diagnose", "paste.txt")),
    "launch": (1, ("lint", "vllm serve m --max-modl-len 8", "--engine-version", "0.11.0")),
    "plan": (0, ("resolve", "--assume", "gpu=L4", "--want", "flash-attn")),
    "rules": (0, ("rules", "list")),
    "table": (0, ("matrix", "show", "torch", "2.6.0")),
    "folklore": (0, ("folklore",)),
}

Both = Callable[..., tuple["subprocess.CompletedProcess[str]", "subprocess.CompletedProcess[str]"]]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a zip file of this checkout's package, as in the wheel; its dependencies stay out."""
    folder = tmp_path_factory.mktemp("archive")
    compile_matrices(ROOT / "matrices", folder / "_matrices")
    with zipfile.ZipFile(folder / "flashdoctor.pyz", "w") as packed:
        packed.writestr("__main__.py", MAIN)
        for file in (ROOT / "flashdoctor").rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                packed.write(file, str(file.relative_to(ROOT)))
        for file in (folder / "_matrices").rglob("*"):
            packed.write(file, f"flashdoctor/{file.relative_to(folder)}")
    return folder / "flashdoctor.pyz"


@pytest.fixture
def both(archive: Path, work: Path, tmp_path: Path) -> Both:
    """Return a function that runs a command from the zip file and from the checkout."""
    (work / "paste.txt").write_text("torch==2.11.0+cu130\nvllm==0.10.2\n", encoding="utf-8")

    def call(
        *args: str,
    ) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
        return tuple(  # type: ignore[return-value]  # of two
            subprocess.run(
                [sys.executable, program, *args], cwd=work, env=env, capture_output=True,
                text=True, encoding="utf-8", timeout=120, check=False,
            )
            for program in (str(archive), "flashdoctor.pyz")
        )  # fmt: skip

    return call


@pytest.mark.parametrize("name", COMMANDS)
def test_the_archive_says_the_same_as_the_checkout(name: str, both: Both) -> None:
    code, args = COMMANDS[name]
    packed, plain = both(*args, "--format", "json")
    assert (packed.returncode, packed.stderr) == (code, "")
    assert json.loads(packed.stdout)
    assert packed.stdout == plain.stdout


def test_the_archive_lists_its_examples(both: Both) -> None:
    packed, plain = both("check", "--snapshot", "example:list")
    assert packed.stdout == plain.stdout
    assert "example:wsl2" in packed.stdout
    packed, _ = both("check", "--snapshot", "example:nobody")
    assert (packed.returncode, packed.stdout) == (2, "")
    assert "examples: h200, v100, wsl2" in packed.stderr


def test_the_archive_sends_its_agents(both: Both) -> None:
    packed, plain = both("check", "--python", sys.executable, "--smoke", "off", "--format", "json")
    facts, wanted = (json.loads(done.stdout)["facts"] for done in (packed, plain))
    assert facts["python.status"]["value"] == "ok"
    assert facts["python.version"] == wanted["python.version"]
    assert set(facts) == set(wanted)
