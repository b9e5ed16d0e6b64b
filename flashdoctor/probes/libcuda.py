"""The driver's user-space library: which libcuda.so.1 a process gets, and whose it is."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.probes.command import run
from flashdoctor.probes.library_search import Candidate, find_libraries
from flashdoctor.probes.tree import is_file

Origin: TypeAlias = Literal["driver", "compat", "stub", "wsl", "other"]

SONAME = "libcuda.so.1"
PATHS = (
    "driver.libcuda_path",
    "driver.libcuda_origin",
    "driver.libcuda_version",
    "driver.libcuda_cuda",
    "driver.libcuda_link",
    "driver.libcuda_candidates",
)

_SEARCH = "loader search path"
_ASK_TIMEOUT_S = 3.0

# Run in a child: a foreign library's start-up code may crash or hang.
_ASK = (
    "import ctypes, sys\n"
    "number = ctypes.c_int()\n"
    "status = ctypes.CDLL(sys.argv[1]).cuDriverGetVersion(ctypes.byref(number))\n"
    "print(status, number.value)\n"
)

# Folders in which distributions, containers and clusters keep the driver's own libraries.
_DRIVER_FOLDERS = (
    "/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/nvidia/", "/run/nvidia/",
    "/run/opengl-driver/", "/nix/store/", "/home/kubernetes/bin/nvidia/", "/opt/nvidia/driver/",
    "/usr/local/lib/nvidia",
)  # fmt: skip


def read_libcuda(root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Read the loader's search path for libcuda.so.1 and ask the one it takes for its CUDA."""
    found = find_libraries(root, environ, SONAME)
    candidates = known("driver.libcuda_candidates", [item.name for item in found], _SEARCH)
    if not found:
        return [candidates, *(absent(path, _SEARCH) for path in PATHS[:-1])]
    taken = found[0]
    source = f"{_SEARCH}, {taken.via}"
    return [
        candidates,
        known("driver.libcuda_path", taken.name, source),
        known("driver.libcuda_origin", classify(taken.name, taken.target), source),
        known("driver.libcuda_link", is_file(taken.path.with_name("libcuda.so")), source),
        _version_fact(taken),
        _cuda_fact(taken),
    ]


def classify(name: str, target: str) -> Origin:
    """Tell whose library it is from its name and the file behind it."""
    both = f"{name}\n{target}"
    if "/stubs/" in both:
        return "stub"
    if re.search(r"/compat[/_-]|cuda-compat", both):
        return "compat"
    if "/usr/lib/wsl/" in both:
        return "wsl"
    return "driver" if target.startswith(_DRIVER_FOLDERS) else "other"


def parse_library_version(file_name: str) -> str | None:
    """Return `535.161.07` for `libcuda.so.535.161.07`; None for a name without a driver version."""
    match = re.fullmatch(r"libcuda\.so\.(\d{3,4}(?:\.\d+){1,2})", file_name)
    return match[1] if match else None


def _version_fact(taken: Candidate) -> Fact:
    path, source = "driver.libcuda_version", "file name of libcuda"
    version = parse_library_version(taken.target.rpartition("/")[2])
    if version is None:
        return unknown(path, "the file's name carries no driver version", source)
    return known(path, version, source)


def _cuda_fact(taken: Candidate) -> Fact:
    path, source = "driver.libcuda_cuda", "cuDriverGetVersion"
    if not sys.executable:
        return unknown(path, "no interpreter to load the library in", source)
    answer = run(
        [sys.executable, "-I", "-S", "-c", _ASK, str(taken.path)], timeout_s=_ASK_TIMEOUT_S
    )
    if answer.failure:
        return unknown(path, f"loading it failed: {answer.failure}", source)
    if not answer.ok:
        last = (answer.stderr.strip().splitlines() or [f"exit status {answer.status}"])[-1]
        return unknown(path, f"loading it failed: {last}", source)
    cuda = parse_answer(answer.stdout)
    return (
        unknown(path, "it reports no version", source)
        if cuda is None
        else known(path, cuda, source)
    )


def parse_answer(text: str) -> str | None:
    """Return `12.4` for `0 12040`, the child's status and number; None for a failure."""
    match = re.search(r"^0 (\d{4,6})$", text, re.MULTILINE)
    if match is None:
        return None
    number = int(match[1])
    return f"{number // 1000}.{number % 1000 // 10}"
