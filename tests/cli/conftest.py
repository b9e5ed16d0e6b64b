"""The command line as users run it: child processes in an environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60

SOUND = (
    "gpu=NVIDIA H100 80GB HBM3",
    "driver=570.124.06",
    "torch=2.7.1+cu126",
    "python=3.11.9",
    "platform=linux_x86_64",
    "glibc=2.35",
)
BROKEN = (
    *SOUND,
    "flash_attn=flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp311-cp311-linux_x86_64.whl",
)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def assumed(items: tuple[str, ...]) -> list[str]:
    return [word for item in items for word in ("--assume", item)]


@pytest.fixture
def sound() -> list[str]:
    """Return the options that assume a stack in order."""
    return assumed(SOUND)


@pytest.fixture
def broken() -> list[str]:
    """Return the options that assume a stack with a flash-attn built for another torch."""
    return assumed(BROKEN)


@pytest.fixture
def child_env(tmp_path: Path) -> dict[str, str]:
    """Return a small environment: no CI, no colour wishes, a home of its own."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "PYTHONWARNINGS": "error",
    }


@pytest.fixture
def run_cli(tmp_path: Path, child_env: dict[str, str]) -> Run:
    """Return a function that runs `python -m flashdoctor ARGS` in an empty folder."""

    def run(
        *args: str, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flashdoctor", *args],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=TIMEOUT_S,
            cwd=tmp_path,
            env={**child_env, **(env or {})},
        )

    return run


@pytest.fixture
def call_main(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that calls `main` here: it gives the exit code, stdout and stderr."""

    def call(*args: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(args)
        return code, *capfd.readouterr()

    return call


@pytest.fixture
def sound_snapshot() -> dict[str, Any]:
    """Return the body of a snapshot that has most kinds of facts in it."""
    facts: dict[str, Any] = {
        "gpu.name": "NVIDIA H100 80GB HBM3",
        "gpu.compute_capability": "9.0",
        "gpu.memory_mib": 81559,
        "gpu.devices": [{"index": 0, "name": "NVIDIA H100", "compute_capability": "9.0"}],
        "driver.version": "570.124.06",
        "driver.uvm_loaded": True,
        "torch.version": "2.7.1+cu126",
        "torch.arch_list": ["sm_80", "sm_90"],
        "python.version": "3.11.9",
        "python.executable": "./.venv/bin/python",
        "os.platform": "linux_x86_64",
        "os.glibc": "2.35",
    }
    body = {
        path: {"value": value, "state": "known", "source": "x"} for path, value in facts.items()
    }
    body["vllm.version"] = {"value": None, "state": "absent", "source": "sys.path"}
    body["torch.cxx11_abi"] = {"value": None, "state": "unknown", "source": "ELF", "reason": "no"}
    return {"schema": "flashdoctor/snapshot/v1", "facts": body}


@pytest.fixture
def snapshot_file(tmp_path: Path, sound_snapshot: dict[str, Any]) -> Path:
    file = tmp_path / "sound.json"
    file.write_text(json.dumps(sound_snapshot), encoding="utf-8")
    return file
