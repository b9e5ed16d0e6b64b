"""The CUDA toolkits on this machine, and the one that a build of a torch extension would take."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from flashdoctor.model.facts import Fact, absent, known, known_or_absent, unknown
from flashdoctor.probes.command import run
from flashdoctor.probes.tree import (
    exists,
    inside,
    is_file,
    names_in,
    on_path,
    outside,
    read_text,
    resolved,
)

PATHS = (
    "toolkit.version",
    "toolkit.path",
    "toolkit.home",
    "toolkit.home_problem",
    "toolkit.installs",
)

_NVCC = "nvcc.exe" if os.name == "nt" else "nvcc"
_TIMEOUT_S = 3.0
_USUAL = "/usr/local/cuda"
_PARENTS = (
    ("/usr/local", "cuda-"),
    ("/opt", "cuda"),
    ("C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA", "v"),
)


class Home(NamedTuple):
    """A folder with `bin/nvcc` in it, or one that ought to have it, and what led there."""

    name: str
    via: str


def read_toolkit(root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Find every nvcc; its version from the files beside it, else from `nvcc --version`."""
    chosen = choose_home(root, environ)
    homes = [*([chosen] if chosen else []), *_homes(root, environ)]
    installs = _installs(root, homes)
    home, variable = _home_variable(environ)
    problem = None if home is None else describe_problem(root, home)
    return [
        *_chosen_facts(root, chosen, installs),
        known_or_absent("toolkit.home", home, variable),
        known_or_absent("toolkit.home_problem", problem, variable),
        known("toolkit.installs", list(installs.values()), "CUDA_HOME, PATH, usual folders"),
    ]


def choose_home(root: Path, environ: Mapping[str, str]) -> Home | None:
    """Return the toolkit that a build takes: CUDA_HOME, CUDA_PATH, nvcc on PATH, the usual folder.

    Source: torch/utils/cpp_extension.py, _find_cuda_home. A bad CUDA_HOME is taken all the same.
    """
    home, variable = _home_variable(environ)
    if home is not None:
        return Home(name=home, via=variable)
    programs = on_path(root, environ.get("PATH", ""), "nvcc")
    if programs:
        return Home(name=outside(root, programs[0].parent.parent), via="PATH")
    usual = [
        _USUAL,
        *(f"{_PARENTS[2][0]}/{name}" for name in names_in(inside(root, _PARENTS[2][0]))),
    ]
    return next((Home(name=name, via=name) for name in usual if exists(inside(root, name))), None)


def _home_variable(environ: Mapping[str, str]) -> tuple[str | None, str]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(variable):
            return environ[variable], variable
    return None, "CUDA_HOME, CUDA_PATH"


def describe_problem(root: Path, value: str) -> str | None:
    """Tell in words why no nvcc can be found through this CUDA_HOME; None where one can."""
    wording = parse_problem(value)
    if wording:
        return wording
    path = inside(root, value)
    if not exists(path):
        return "it does not exist"
    if is_file(path):
        return "it names a file, not the folder that holds bin/nvcc"
    if is_file(path / _NVCC):
        return "it names the bin folder, not the folder above it"
    return None if is_file(path / "bin" / _NVCC) else "it holds no bin/nvcc"


def parse_problem(value: str) -> str | None:
    """Tell in words what is wrong with the wording of a CUDA_HOME; None where nothing is."""
    if value != value.strip(" \t\r\n\"'"):
        return "it has quotes or blanks around it"
    has_drive = re.match(r"[A-Za-z]:[\\/]", value) is not None
    if ":" in value[2 if has_drive else 0 :] or ";" in value:
        return "it is a list of folders, not one folder"
    return None if has_drive or value.startswith("/") else "it is not an absolute path"


def _homes(root: Path, environ: Mapping[str, str]) -> Iterator[Home]:
    """Yield every other place at which a toolkit may stand, in order of likelihood."""
    for program in on_path(root, environ.get("PATH", ""), "nvcc"):
        yield Home(name=outside(root, program.parent.parent), via="PATH")
    for variable in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        if environ.get(variable):
            yield Home(name=environ[variable], via=variable)
    yield Home(name=_USUAL, via=_USUAL)
    for parent, start in _PARENTS:
        for name in names_in(inside(root, parent)):
            if name.startswith(start):
                yield Home(name=f"{parent}/{name}", via=parent)


def _installs(root: Path, homes: list[Home]) -> dict[str, dict[str, Any]]:
    """Return one record for each nvcc behind all links, keyed by its file; the first home names it.

    Where the link leads to a file of another name (a compiler cache), the link itself counts.
    """
    installs: dict[str, dict[str, Any]] = {}
    for home in homes:
        program = _program(root, home)
        if program is None or str(program) in installs:
            continue
        folder = program.parent.parent
        record = {"path": outside(root, folder), "version": read_version(folder), "via": home.via}
        installs[str(program)] = {key: value for key, value in record.items() if value is not None}
    return installs


def _program(root: Path, home: Home) -> Path | None:
    link = inside(root, home.name) / "bin" / _NVCC
    if not is_file(link):
        return None
    target = resolved(link)
    return target if target.name == _NVCC else resolved(link.parent) / _NVCC


def _chosen_facts(
    root: Path, chosen: Home | None, installs: Mapping[str, dict[str, Any]]
) -> list[Fact]:
    paths = PATHS[:2]
    if chosen is None:
        return [absent(path, "CUDA_HOME, PATH, /usr/local/cuda") for path in paths]
    program = _program(root, chosen)
    if program is None:
        reason = f"{chosen.via} leads to a folder without bin/nvcc"
        return [absent(path, chosen.via, reason) for path in paths]
    version = installs[str(program)].get("version")
    return [
        unknown(paths[0], "nvcc does not say its version", chosen.via)
        if version is None
        else known(paths[0], version, chosen.via),
        known(paths[1], chosen.name, chosen.via),
    ]


def read_version(folder: Path) -> str | None:
    """Return `X.Y` of the toolkit in a folder; starts nvcc only where no file says it."""
    return (
        parse_version_json(read_text(folder / "version.json") or "")
        or parse_version_txt(read_text(folder / "version.txt") or "")
        or parse_nvcc(run([str(folder / "bin" / _NVCC), "--version"], timeout_s=_TIMEOUT_S).stdout)
    )


def parse_version_json(text: str) -> str | None:
    """Return `X.Y` from the version.json of CUDA 11.1 and later: nvcc's entry, else CUDA's."""
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for name in ("cuda_nvcc", "cuda"):
        part = parts.get(name) if isinstance(parts, dict) else None
        version = part.get("version") if isinstance(part, dict) else None
        match = re.match(r"(\d+)\.(\d+)", version) if isinstance(version, str) else None
        if match:
            return f"{match[1]}.{match[2]}"
    return None


def parse_version_txt(text: str) -> str | None:
    """Return `X.Y` from the version.txt of CUDA 11.0 and before, `CUDA Version 10.2.89`."""
    match = re.search(r"CUDA Version (\d+)\.(\d+)", text)
    return f"{match[1]}.{match[2]}" if match else None


def parse_nvcc(text: str) -> str | None:
    """Return `X.Y` from what `nvcc --version` prints, `... release 12.4, V12.4.131`."""
    match = re.search(r"\brelease (\d+)\.(\d+)\b", text)
    return f"{match[1]}.{match[2]}" if match else None
