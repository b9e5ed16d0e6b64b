"""Five plans against the real package index, metadata only. FLASHDOCTOR_NETWORK=1 asks for it."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

from flashdoctor import pipeline, planning

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(
        not os.environ.get("FLASHDOCTOR_NETWORK"), reason="FLASHDOCTOR_NETWORK=1 asks for it"
    ),
]

BASE = ("python=3.12", "glibc=2.35", "platform=linux_x86_64")
CASES = [
    ("vllm", "gpu=NVIDIA H100 80GB HBM3", "driver=580"),
    ("vllm", "gpu=NVIDIA GeForce RTX 4090", "driver=535"),
    ("vllm==0.14.1", "gpu=NVIDIA A100-SXM4-80GB", "driver=550"),
    ("transformers torch==2.14.0", "gpu=NVIDIA B200", "driver=590"),
    ("flash-attn", "gpu=NVIDIA GeForce RTX 5090", "driver=570"),
]
TIMEOUT_S = 600


@pytest.fixture(scope="module")
def pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with a pip that resolves from metadata alone."""
    folder = tmp_path_factory.mktemp("pip")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--upgrade", "pip>=25"],
        check=True,
        timeout=TIMEOUT_S,
    )
    return python


@pytest.mark.parametrize(("want", "gpu", "driver"), CASES)
def test_the_first_command_resolves(
    pip: Path, tmp_path: Path, want: str, gpu: str, driver: str
) -> None:
    found = planning.resolve(pipeline.assume([*BASE, gpu, driver]), wants=want.split())
    assert found.plan is not None
    words = found.commands[0].split()
    assert words[:2] == ["pip", "install"]
    target = ["--python-version", "3.12", "--only-binary=:all:", "--target", str(tmp_path)]
    args = [str(pip), "-m", *words[:2], "--dry-run", "--ignore-installed", *target, *words[2:]]
    done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr[-2000:]
    last = next(line for line in done.stdout.splitlines() if line.startswith("Would install"))
    assert f"torch-{found.plan.torch}" in last
    for name, version in (("vllm", found.plan.vllm), ("triton", found.plan.triton)):
        assert version is None or f"{name}-{version}" in last
