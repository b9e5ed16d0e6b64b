"""The program that is sent to an interpreter: a bootstrap, the parts of an agent, its options."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from typing import Any

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
    try:
        data = pkgutil.get_data("flashdoctor.agents", f"{name}.py")
    except OSError as error:
        raise TargetError(
            f"the agent {name!r} is missing from this installation", hint="reinstall flashdoctor"
        ) from error
    if data is None:
        raise TargetError(f"the agent {name!r} cannot be read from this installation")
    return data.decode()
