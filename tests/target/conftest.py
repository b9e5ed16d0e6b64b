"""Real interpreters in throw-away environments, filled by hand."""

from __future__ import annotations

import os
import sys
import venv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact
from flashdoctor.target.collect import Collected, collect_facts

ENVIRON = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


class Site:
    """A virtual environment without pip; `packages` is its site-packages folder."""

    def __init__(self, root: Path) -> None:
        venv.create(root, symlinks=True, with_pip=False)
        self.root = root
        self.python = root / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.packages = root / "lib" / version / "site-packages"
        self.environ: Mapping[str, str] = ENVIRON

    def write(self, path: str, text: str = "") -> Path:
        """Write a file below site-packages."""
        file = self.packages / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def install(
        self,
        name: str,
        version: str,
        *,
        requires: Iterable[str] = (),
        headers: Iterable[str] = (),
        files: Mapping[str, str] | None = None,
        info: Mapping[str, str] | None = None,
    ) -> None:
        """Lay out a distribution as pip does: its files and a dist-info folder with `info`."""
        folder = f"{name.replace('-', '_')}-{version}.dist-info"
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *headers]
        lines += [f"Requires-Dist: {line}" for line in requires]
        self.write(f"{folder}/METADATA", "\n".join([*lines, "", "A description.", ""]))
        for path, text in (info or {}).items():
            self.write(f"{folder}/{path}", text)
        for path, text in (files or {}).items():
            self.write(path, text)

    def look(self, environ: Mapping[str, str] | None = None) -> Collected:
        """Collect what stands in this environment."""
        return collect_facts(self.python, environ={**self.environ, **(environ or {})})

    def facts(self, environ: Mapping[str, str] | None = None) -> dict[str, Fact]:
        """Collect, and return the facts by path."""
        return self.index(self.look(environ))

    @staticmethod
    def index(collected: Collected) -> dict[str, Fact]:
        """Return the facts by path; each stands once and is in the catalogue."""
        found = {fact.path: fact for fact in collected.facts}
        assert len(found) == len(collected.facts)
        assert set(found) <= set(FACTS)
        return found


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "venv")


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a shell script, to stand in for an interpreter."""

    def write(text: str, name: str = "python3") -> Path:
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        file.chmod(0o755)
        return file

    return write


@pytest.fixture(scope="session")
def interpreter() -> Callable[[str], Path]:
    """Return a function that finds `pythonX.Y`, by pyenv's folder or PATH; skips without one."""

    def find(version: str) -> Path:
        root = os.environ.get("PYENV_ROOT")
        installed = sorted(Path(root).glob(f"versions/{version}.*/bin/python")) if root else []
        folders = [Path(folder) for folder in os.get_exec_path() if "shims" not in folder]
        candidates = [*installed, *(folder / f"python{version}" for folder in folders)]
        for candidate in candidates:
            if os.access(candidate, os.X_OK):
                return candidate
        pytest.skip(f"no Python {version} here")

    return find
