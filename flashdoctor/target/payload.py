"""The program that is sent to an interpreter: a bootstrap, the parts of an agent, its options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashdoctor import agents
from flashdoctor.errors import TargetError

_PARTS: Mapping[str, tuple[str, ...]] = {
    "collect": (
        "report", "requirements", "distributions", "environment", "packages", "torch_files",
        "attention", "collect",
    ),
    "smoke": (
        "live", "smoke_measure", "smoke_problem", "smoke_sdpa", "smoke_flash", "smoke_others",
        "smoke_config", "smoke_transformers", "smoke_vllm", "smoke",
    ),
}  # fmt: skip
"""Agents of more than one part, the main one last; any other agent is its own only part."""


def program(agent: str, options: Mapping[str, Any]) -> str:
    """Return the program of an agent as ASCII text; `options` must be JSON values."""
    parts = [(name, _text(name)) for name in _PARTS.get(agent, (agent,))]
    call = f"run({parts!a}, {json.dumps(dict(options))!a})\n"
    return f"{_text('bootstrap')}\n\n{call}"


def _text(name: str) -> str:
    """Return the source of a part, from a folder or a zip file."""
    loader: Any = agents.__loader__  # pkgutil asks it as well, and takes 5 ms to import
    try:
        data: bytes = loader.get_data(str(Path(agents.__path__[0]) / f"{name}.py"))
    except OSError as error:
        raise TargetError(
            f"the agent {name!r} is missing from this installation", hint="reinstall flashdoctor"
        ) from error
    return data.decode()
