"""The real torch of this interpreter as a target, against what torch says of itself."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="this interpreter has no torch"
)

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 300
ASK = """\
import json, os, torch
print(json.dumps({"lib": os.path.join(os.path.dirname(torch.__file__), "lib"),
                  "version": str(torch.__version__), "cuda": torch.version.cuda,
                  "abi": bool(torch._C._GLIBCXX_USE_CXX11_ABI), "hip": torch.version.hip,
                  "available": torch.cuda.is_available()}))
"""
EXTENSION = f"flash_attn_2_cuda{EXTENSION_SUFFIXES[0]}"
ERROR = "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
GONE = "_ZN3c1021in_no_torch_whatsoeverEv"

Check = Callable[..., Mapping[str, Any]]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return a small environment in which flashdoctor can be imported."""
    return {
        "PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_CACHE_HOME": str(folder),
        "LC_ALL": "C.UTF-8", "PYTHONPATH": os.pathsep.join([*more.values(), str(ROOT)]),
    }  # fmt: skip


@pytest.fixture(scope="module")
def truth() -> Mapping[str, Any]:
    """Return what torch says when it is imported."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, check=True, timeout=LONGEST_S
    )
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """Return a function that runs `check --format json` on this interpreter, once per option."""
    made: dict[tuple[str, str], Mapping[str, Any]] = {}

    def run(smoke: str, packages: Path | None = None) -> Mapping[str, Any]:
        key = (smoke, str(packages))
        if key not in made:
            folder = tmp_path_factory.mktemp("check")
            more = {"packages": str(packages)} if packages else {}
            command = [sys.executable, "-m", "flashdoctor", "check", "--format", "json",
                       "--python", sys.executable, "--smoke", smoke]  # fmt: skip
            done = subprocess.run(
                command, capture_output=True, check=False, timeout=LONGEST_S, cwd=folder,
                env=environment(folder, **more),
            )  # fmt: skip
            assert done.stderr == b""
            made[key] = json.loads(done.stdout)
            assert made[key]["exit_code"] == done.returncode
        return made[key]

    return run


def value(report: Mapping[str, Any], path: str) -> Any:
    return report["facts"][path]["value"]


def causes(report: Mapping[str, Any]) -> list[str]:
    return [item["cause"] for item in report["findings"] if item["severity"] == "error"]


def test_its_facts_are_what_torch_says(check: Check, truth: Mapping[str, Any]) -> None:
    report = check("off")
    assert value(report, "torch.version") == truth["version"]
    assert value(report, "torch.cuda") == truth["cuda"]
    assert value(report, "torch.cxx11_abi") is truth["abi"]
    assert value(report, "torch.library_missing") == []
    assert value(report, "torch.installs") == 1
    assert value(report, "live.status") == "not-run"


def test_a_torch_without_cuda_never_passes(check: Check, truth: Mapping[str, Any]) -> None:
    if truth["cuda"] or truth["hip"]:
        pytest.skip("this torch is built for GPUs")
    for smoke in ("off", "on"):
        report = check(smoke)
        assert (report["verdict"], report["exit_code"]) == ("fail", 1)
        assert "torch-cpu-only-wheel" in causes(report)
        assert value(report, "torch.build") == "cpu"
        assert report["facts"]["torch.cuda"]["state"] == "absent"
    without_gpu = {"no-nvidia-gpu", "container-without-gpu", "torch-cpu-only-wheel"}
    if not Path("/dev/nvidiactl").exists():
        assert causes(check("off"))[0] in without_gpu


def test_its_import_is_what_torch_says(check: Check, truth: Mapping[str, Any]) -> None:
    report = check("on")
    assert value(report, "live.torch_version") == truth["version"]
    assert value(report, "live.cuda_available") is truth["available"]
    names = {Path(path).name for path in value(report, "live.libraries")}
    assert {"libc10.so", "libtorch_cpu.so", "libtorch_python.so"} <= names
    if not truth["available"] and truth["cuda"] is None:
        assert value(report, "live.status") == "ok"
        assert report["facts"]["live.error"]["state"] == "absent"


def test_the_import_changes_no_fact_about_the_files(check: Check) -> None:
    still, live = check("off")["facts"], check("on")["facts"]
    changed = {path for path in still if still[path] != live[path]}
    assert {path for path in changed if path.startswith(("torch.", "python.", "os."))} == set()


def test_an_extension_is_held_against_its_symbols(
    check: Check, truth: Mapping[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    if shutil.which("gcc") is None or not truth["abi"]:
        pytest.skip("needs gcc, and a torch of the new C++ ABI")
    folder = tmp_path_factory.mktemp("packages")
    build_flash_attn(folder, Path(truth["lib"]))
    report = check("on", folder)
    assert value(report, "flash_attn.missing_symbols") == [GONE], "torch has the other one"
    assert value(report, "flash_attn.abi_by_symbols") is True
    assert "flash-attn-abi-mismatch" in causes(report)
    errors = {record["module"]: record["error"] for record in value(report, "live.imports")}
    assert f"undefined symbol: {GONE}" in errors["flash_attn_2_cuda"]


def build_flash_attn(folder: Path, lib: Path) -> None:
    """Lay out a flash-attn whose extension asks for a symbol of torch and for one that is none."""
    info = folder / "flash_attn-2.8.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: flash-attn\nVersion: 2.8.3\n", encoding="utf-8")
    (folder / "flash_attn").mkdir()
    (folder / "flash_attn/__init__.py").write_text("import flash_attn_2_cuda\n", encoding="utf-8")
    source = (
        f'void error(void) __asm__("{ERROR}"); void gone(void) __asm__("{GONE}");'
        "void (*const uses[])(void) = {error, gone};"
    )
    command = ["gcc", "-x", "c", "-", "-shared", "-fPIC", "-x", "none", "-Wl,--no-as-needed",
               str(lib / "libc10.so"), "-o", str(folder / EXTENSION)]  # fmt: skip
    subprocess.run(command, input=source, text=True, check=True, timeout=60)
