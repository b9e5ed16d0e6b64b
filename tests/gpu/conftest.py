"""What runs on a machine with an NVIDIA GPU, by `python -m pytest -m gpu`; elsewhere that skips.

The Python under test is `FLASHDOCTOR_GPU_PYTHON`, else the one that runs pytest. What a live run
must show, the runs on record in tests/data/smoke must show as well, without a GPU. With
`FLASHDOCTOR_GPU_RECORD=DIR` a live run leaves its records there, to take their place.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Report: TypeAlias = Mapping[str, Any]
Run: TypeAlias = Callable[..., Report]

PYTHON = os.environ.get("FLASHDOCTOR_GPU_PYTHON", sys.executable)
DATA = Path(__file__).resolve().parent.parent / "data" / "smoke"
_ASK = "import torch; print(torch.cuda.is_available() and torch.cuda.get_device_capability(0)[0])"
_LIMIT_S = 400

FAMILIES = (
    "sdpa-default-d128", "sdpa-flash-d128", "sdpa-cudnn-d128", "sdpa-mem-efficient-d128",
    "sdpa-math-d128", "sdpa-fa3", "flash-attn-d128", "fa3", "fa4-d128", "flex-d128", "xformers",
    "vllm-fa3-varlen", "transformers-sdpa", "transformers-fa2", "vllm", "vllm-triton",
)  # fmt: skip
"""Cases that prove every family between them; a family may have more than one."""

GATES: Mapping[str, tuple[str, ...]] = {
    "flash-attn": ("smoke", "--case", "flash-attn-d128", "--require", "flash-attn"),
    "hidden flash-attn": ("smoke", "--case", "transformers-fa2", "--require", "flash-attn"),
    "mask": ("smoke", "--case", "sdpa-flash-mask", "--case", "sdpa-default-mask",
             "--require", "flash-attn"),
    "check flash-attn": ("check", "--require", "flash-attn"),
    "check hidden flash-attn": ("check", "--require", "flash-attn"),
    "check vllm": ("check", "--require", "vllm"),
    "check newer": ("check", "--require", "fa3", "--require", "fa4"),
    "check without a run": ("check", "--require", "flash-attn", "--smoke", "off"),
}  # fmt: skip
"""Each by the arguments of its command; "hidden" ones run where flash-attn cannot be found."""

# Hides flash-attn from imports and from metadata, as if this Python had never seen it.
_HIDING = """
from importlib.machinery import PathFinder
from importlib.metadata import Distribution

find, discover = PathFinder.find_spec, Distribution.discover

def find_spec(name, path=None, target=None):
    hidden = name.partition(".")[0] in ("flash_attn", "flash_attn_2_cuda")
    return None if hidden else find(name, path, target)

def discover_others(*given, **named):
    for item in discover(*given, **named):
        if (item.metadata["Name"] or "").replace("-", "_") != "flash_attn":
            yield item

PathFinder.find_spec = staticmethod(find_spec)  # some call it on an instance
Distribution.discover = staticmethod(discover_others)
"""


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
    """Run flashdoctor on the Python under test; its JSON."""
    assert gpu_major

    def call(*arguments: str, before: str | None = None) -> Report:
        path = os.pathsep.join(filter(None, (before, os.environ.get("PYTHONPATH"))))
        done = subprocess.run(
            [sys.executable, "-m", "flashdoctor", *arguments, "--python", PYTHON,
             "--format", "json"],
            capture_output=True, text=True, timeout=_LIMIT_S, check=False,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        assert done.returncode in {0, 1, 3}, done.stderr
        report: Report = json.loads(done.stdout)
        assert report["exit_code"] == done.returncode
        return report

    return call


RECORDED_OR_LIVE = ["recorded", pytest.param("live", marks=pytest.mark.gpu)]


@pytest.fixture(scope="session", params=RECORDED_OR_LIVE)
def whole(request: pytest.FixtureRequest) -> Report:
    """A run of all that is torch's own and flash-attn's: one on record, and one here and now."""
    if request.param == "recorded":
        return _on_record("without_frameworks")
    call: Run = request.getfixturevalue("run")
    words = ("smoke", "--case", "sdpa", "--case", "flash-attn")
    call(*words)  # the first run reads some GB of torch's and cuDNN's libraries from disk
    return _kept("without_frameworks", call(*words))


@pytest.fixture(scope="session", params=RECORDED_OR_LIVE)
def families(request: pytest.FixtureRequest) -> Report:
    """A run in which every family is proven, as far as its package is installed."""
    if request.param == "recorded":
        return _on_record("nine_families")
    call: Run = request.getfixturevalue("run")
    return _kept("nine_families", call("smoke", *_named(FAMILIES)))


@pytest.fixture(scope="session", params=RECORDED_OR_LIVE)
def gates(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """What each gate said, by its name."""
    if request.param == "recorded":
        return _on_record("gates")
    call: Run = request.getfixturevalue("run")
    folder = tmp_path_factory.mktemp("hiding")
    (folder / "sitecustomize.py").write_text(_HIDING, encoding="utf-8")
    said = {
        name: _answer(call(*words, before=str(folder) if "hidden" in name else None))
        for name, words in GATES.items()
    }
    return _kept("gates", said)


def _named(cases: Sequence[str]) -> list[str]:
    return [word for name in cases for word in ("--case", name)]


def _answer(report: Report) -> Report:
    """Return what a gate goes by, and nothing of the machine."""
    facts = {
        path: {key: fact[key] for key in ("state", "value") if key in fact}
        for path, fact in report.get("facts", {}).items()
        if path.startswith("smoke.") or path == "live.status"
    }
    kept = {key: report[key] for key in ("schema", "verdict", "exit_code")}
    findings = [
        {key: item[key] for key in ("id", "cause", "outcome", "severity", "title")}
        for item in report["findings"]
    ]
    return {**kept, "findings": findings, "cases": report.get("cases", []), "facts": facts}


def _on_record(name: str) -> Report:
    file = DATA / f"h200_{name}.json"
    if not file.exists():
        pytest.skip(f"no {file.name} on record yet")
    report: Report = json.loads(file.read_text(encoding="utf-8"))
    return report


def _kept(name: str, report: Report) -> Report:
    folder = os.environ.get("FLASHDOCTOR_GPU_RECORD")
    if folder:
        text = json.dumps(report, indent=1) + "\n"
        (Path(folder) / f"h200_{name}.json").write_text(text, encoding="utf-8")
    return report
