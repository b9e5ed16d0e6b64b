"""Real libraries for the probes that read them: compiled on the spot, kilobytes small."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def compile_library() -> Compile:
    """Compile C or C++ to a shared library: path, source, then what it links and flags."""
    if sys.platform != "linux":
        pytest.skip("ELF libraries are compiled on Linux")
    if not (shutil.which("gcc") and shutil.which("g++")):
        pytest.skip("needs gcc and g++ to compile small libraries")
    return _compile


def _compile(
    path: Path,
    source: str = "",
    *flags: str,
    needs: Sequence[Path] = (),
    language: str = "c",
    soname: str = "",
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    command = ["g++" if language == "c++" else "gcc", "-x", language, "-", "-shared", "-fPIC"]
    command += ["-O1", f"-Wl,-soname,{soname or path.name}", "-Wl,--no-as-needed", "-x", "none"]
    command += [*map(str, needs), *flags, "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True, timeout=60)
    return path


@pytest.fixture
def lay(tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Write files below a root of its own: name (`/etc/os-release`) to content."""

    def write(files: Mapping[str, str | bytes]) -> Path:
        root = tmp_path / "laid"
        root.mkdir(exist_ok=True)
        for name, content in files.items():
            path = root / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return root

    return write
