"""Hatchling's part of a build: puts the checked and compiled matrices into the wheel.

Hatchling loads this file by its path, in an environment that holds hatchling and no flashdoctor.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MatricesHook(BuildHookInterface[Any]):
    """Adds `flashdoctor/_matrices`; a mistake in a table stops the build."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the matrices into a temporary folder that hatchling then includes.

        An editable install (`version` is `editable`) reads the checkout's own and gets none.
        """
        if version == "editable":
            return
        self._scratch = tempfile.TemporaryDirectory(prefix="flashdoctor-matrices-")
        target = Path(self._scratch.name) / "_matrices"
        self._compile(Path(self.root), target)
        build_data["force_include"][str(target)] = "flashdoctor/_matrices"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        del build_data, artifact_path
        if version != "editable":
            self._scratch.cleanup()

    @staticmethod
    def _compile(root: Path, target: Path) -> None:
        sys.path.insert(0, str(root))
        try:
            from flashdoctor.data.compile import compile_matrices  # noqa: PLC0415  by its path
        finally:
            sys.path.remove(str(root))
        compile_matrices(root / "matrices", target)
