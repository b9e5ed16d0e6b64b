"""What runs on a machine with an NVIDIA GPU, by `python -m pytest -m gpu`; elsewhere that skips.

The Python under test is `FLASHDOCTOR_GPU_PYTHON`, else the one that runs pytest. What can be said
of a run on record as well is asserted on both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Report: TypeAlias = Mapping[str, Any]
Run: TypeAlias = Callable[..., tuple[int, Report]]

PYTHON = os.environ.get("FLASHDOCTOR_GPU_PYTHON", sys.executable)
SMOKE = Path(__file__).resolve().parent.parent / "data" / "smoke"
RECORDED = SMOKE / "h200_without_frameworks.json"
_COMMAND = (sys.executable, "-m", "flashdoctor")
_ASK = "import torch; print(torch.cuda.is_available() and torch.cuda.get_device_capability(0)[0])"


@pytest.fixture(scope="session")
def gpu_major() -> int:
    """Skip where torch sees no GPU; else the major of its compute capability."""
    command = [PYTHON, "-c", _ASK]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except OSError as error:
        pytest.skip(f"no Python to test: {error}")
    said = done.stdout.strip()
    if not said.isdigit():
        pytest.skip("torch sees no GPU here")
    return int(said)


@pytest.fixture(scope="session")
def run(gpu_major: int) -> Run:
    """Run flashdoctor on the Python under test; its exit code and its JSON."""
    assert gpu_major

    def call(*arguments: str, **environ: str) -> tuple[int, Report]:
        done = subprocess.run(
            [*_COMMAND, *arguments, "--python", PYTHON, "--format", "json"],
            capture_output=True,
            text=True,
            timeout=900,
            env={**os.environ, **environ},
            check=False,
        )
        assert done.returncode in {0, 1, 3}, done.stderr
        report: Report = json.loads(done.stdout)
        assert report["exit_code"] == done.returncode
        return done.returncode, report

    return call


@pytest.fixture(scope="session", params=["recorded", pytest.param("live", marks=pytest.mark.gpu)])
def whole(request: pytest.FixtureRequest) -> Report:
    """A run of all that is torch's own and flash-attn's: one on record, and one here and now."""
    if request.param == "recorded":
        report: Report = json.loads(RECORDED.read_text(encoding="utf-8"))
        return report
    call: Run = request.getfixturevalue("run")
    call("smoke", "--case", "sdpa-default-d128")  # the first run reads torch's libraries from disk
    return call("smoke", "--case", "sdpa", "--case", "flash-attn")[1]
