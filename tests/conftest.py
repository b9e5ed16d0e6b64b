"""Machines to play: an NVML library built from C, an nvidia-smi on PATH, a root folder."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
HANG = "HANG"


@pytest.fixture(scope="session")
def nvml_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds libnvidia-ml.so.1, built from tests/probes/nvml_stub."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not here, and the NVML stub is C")
    folder = tmp_path_factory.mktemp("nvml")
    source = HERE / "probes" / "nvml_stub" / "nvml.c"
    args = [compiler, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    target = folder / "libnvidia-ml.so.1"
    subprocess.run([*args, "-o", target, source], check=True, timeout=60)
    return folder


@pytest.fixture
def nvml_stub(nvml_folder: Path, tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Return a function that plays an NVML scene: it gives the variables to add to environ.

    A scene is the name of a file in tests/data/nvml, or the text of one (see nvml.c).
    """

    def play(scene: str) -> dict[str, str]:
        file = HERE / "data" / "nvml" / f"{scene}.txt"
        if "\n" in scene:
            file = tmp_path / "scene.txt"
            file.write_text(scene, encoding="utf-8")
        assert file.is_file(), f"no scene {scene}"
        return {"LD_LIBRARY_PATH": str(nvml_folder), "FLASHDOCTOR_NVML_SCENE": str(file)}

    return play


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], str]:
    """Return a function that reads a file of tests/data/nvidia_smi, with made-up UUIDs put in."""

    def read(name: str) -> str:
        text = (HERE / "data" / "nvidia_smi" / name).read_text(encoding="utf-8")
        for number in range(3):
            text = text.replace(f"@{number}@", f"0000000{number}-0000-0000-0000-000000000000")
        return text

    return read


@pytest.fixture
def nvidia_smi_stub(tmp_path: Path) -> Callable[[Mapping[str, str]], dict[str, str]]:
    """Return a function that puts an nvidia-smi on PATH: it gives the variables to add.

    Its argument maps the start of the arguments (`-q -x`, `--query-gpu`, empty for none) to what
    is printed for them; HANG never answers. Other arguments fail with status 2.
    """

    def install(answers: Mapping[str, str]) -> dict[str, str]:
        folder = tmp_path / "smi"
        folder.mkdir()
        cat, sleep = map(shutil.which, ("cat", "sleep"))
        cases = []
        for number, (start, text) in enumerate(answers.items()):
            said = folder / f"{number}.txt"
            said.write_text(text, encoding="utf-8")
            act = f"{sleep} 600 & wait" if text == HANG else f"exec {cat} '{said}'"
            cases.append(f"  '{start}'{'*' if start else ''}) {act};;")
        script = "\n".join(["#!/bin/sh", 'case "$*" in', *cases, "  *) exit 2;;", "esac", ""])
        program = folder / "nvidia-smi"
        program.write_text(script, encoding="utf-8")
        program.chmod(0o755)
        return {"PATH": f"{folder}:/usr/bin:/bin"}

    return install


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that builds a root folder as the kernel of a machine shows it."""

    def build(
        *,
        displays: int = 0,
        switches: int = 0,
        nodes: tuple[str, ...] = (),
        module: str = "",
        proc: str = "",
    ) -> Path:
        root = tmp_path / "root"
        for folder in ("dev", "proc", "sys/module", "sys/bus/pci/devices"):
            (root / folder).mkdir(parents=True)
        for number in range(displays + switches):
            device = root / "sys/bus/pci/devices" / f"0000:{number:02x}:00.0"
            device.mkdir()
            (device / "vendor").write_text("0x10de\n", encoding="ascii")
            kind = "0x030200" if number < displays else "0x068000"
            (device / "class").write_text(f"{kind}\n", encoding="ascii")
        for node in nodes:
            (root / "dev" / node).touch()
        if module:
            (root / "sys/module/nvidia").mkdir()
            (root / "sys/module/nvidia/version").write_text(f"{module}\n", encoding="ascii")
        if proc:
            (root / "proc/driver/nvidia").mkdir(parents=True)
            (root / "proc/driver/nvidia/version").write_text(proc, encoding="ascii")
        return root

    return build
