"""The program that is sent to an interpreter: a bootstrap, the parts of an agent, its options.

Each part goes as text, and as the bytecode that our own interpreter made of it: where the other one
is of the same version it need not compile the text, which takes longer than all that it looks up.
"""

from __future__ import annotations

import binascii
import json
import marshal
from collections.abc import Mapping
from importlib.machinery import PathFinder
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any

import flashdoctor
from flashdoctor.errors import TargetError

_PACKAGE = "flashdoctor.agents"
_SMOKE_PARTS = (
    "smoke_measure", "smoke_problem", "smoke_sdpa", "smoke_flash", "smoke_others", "smoke_config",
    "smoke_transformers", "smoke_vllm",
)  # fmt: skip
_PARTS: Mapping[str, tuple[str, ...]] = {
    "collect": (
        "report", "requirements", "distributions", "environment", "packages", "torch_files",
        "attention", "collect",
    ),
    "smoke": ("live", *_SMOKE_PARTS, "smoke"),
    "live": (*_SMOKE_PARTS, "smoke", "live"),
}  # fmt: skip
"""Agents of more than one part, the main one last; any other agent is its own only part."""


def program(agent: str, options: Mapping[str, Any]) -> str:
    """Return the program of an agent as ASCII text; `options` must be JSON values."""
    parts = [(name, _text(name), _code(name)) for name in _PARTS.get(agent, (agent,))]
    call = f"run({MAGIC_NUMBER.hex()!a}, {parts!a}, {json.dumps(dict(options))!a})\n"
    return f"{_text('bootstrap')}\n\n{call}"


def _text(name: str) -> str:
    """Return the source of a part, from a folder or a zip file."""
    try:
        # Straight from its loader: pkgutil would do the same, 5 ms later.
        data: bytes = _loader(name).get_data(_path(name))
    except OSError as error:
        raise TargetError(
            f"the agent {name!r} is missing from this installation", hint="reinstall flashdoctor"
        ) from error
    return data.decode()


def _code(name: str) -> str:
    """Return the bytecode of a part in base64; nothing where none can be had."""
    try:
        code = _loader(name).get_code(f"{_PACKAGE}.{name}")
    except (OSError, ImportError, TargetError):
        return ""
    return binascii.b2a_base64(marshal.dumps(code), newline=False).decode()


def _path(name: str) -> str:
    return str(Path(flashdoctor.__file__).parent / "agents" / f"{name}.py")


def _loader(name: str) -> Any:
    spec = PathFinder.find_spec(f"{_PACKAGE}.{name}", [str(Path(_path(name)).parent)])
    if spec is None or spec.loader is None:
        raise TargetError(
            f"the agent {name!r} is missing from this installation", hint="reinstall flashdoctor"
        )
    return spec.loader
