"""The host compiler that a build, or Triton at run time, would start."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.probes.command import run
from flashdoctor.probes.tree import on_path

PATHS = ("os.compiler", "os.compiler_version")

_TEXT, _VERSION = PATHS
_TIMEOUT_S = 2.0


def read_compiler(root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Find gcc, else clang (on Windows cl) on PATH and ask it for its version."""
    for name in _names():
        for program in on_path(root, environ.get("PATH", ""), name)[:1]:
            return _describe(name, program)
    return [absent(path, "PATH", "no C compiler") for path in PATHS]


def _names() -> tuple[str, ...]:
    if sys.platform == "win32":
        return ("cl", "clang")
    return ("clang",) if sys.platform == "darwin" else ("gcc", "clang")  # macOS' gcc is clang


def _describe(name: str, program: Path) -> list[Fact]:
    if name == "cl":  # it prints its version in the user's language, beside an error
        return [known(_TEXT, name, "PATH"), unknown(_VERSION, "cl is not asked", "PATH")]
    flags = ["-dumpfullversion"] if name == "gcc" else []
    answer = run([str(program), *flags, "-dumpversion"], timeout_s=_TIMEOUT_S)
    source = f"{name} {' '.join([*flags, '-dumpversion'])}"
    version = parse_version(answer.stdout) if answer.ok else None
    if version is None:
        reason = answer.failure or "its answer holds no version"
        return [known(_TEXT, name, "PATH"), unknown(_VERSION, reason, source)]
    return [known(_TEXT, f"{name} {version}", source), known(_VERSION, version, source)]


def parse_version(text: str) -> str | None:
    """Return the version that `-dumpversion` printed: `12.2.0`, or `12` on some distributions."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)*)\s*", text)
    return match[1] if match else None
