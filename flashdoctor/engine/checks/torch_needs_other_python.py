"""FD107: no wheel of this torch release exists for this Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashdoctor.data import lookup
from flashdoctor.engine import situation
from flashdoctor.engine.torch_choice import advise_torch
from flashdoctor.engine.torch_wheels import is_index_wheel
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.engine.when import OPERATORS


def judge(view: View) -> Judgement:
    """Pass where torch was imported: then somebody built it for this Python."""
    if situation.imports_torch(view):
        return passed("live.torch_version")
    python, torch = view.need("python.version"), view.need("torch.version")
    if python is None or torch is None:
        return passed("python.version")
    required = view.value("torch.python_requires")
    if required and OPERATORS["violates"]("version", python, required):
        text = f"torch asks for Python {required}, this is {python}."
        return _fail(view, "torch.python_requires", text)
    if _has_no_wheel(view, torch):
        return _fail(view, "python.tag", f"torch {torch} has no {view.value('python.tag')} wheel.")
    return passed("python.version", "torch.version")


def _has_no_wheel(view: View, torch: str) -> bool:
    """Whether the index holds no file of this release for the interpreter's tag.

    conda builds its own, for Pythons that the index may not have.
    """
    tag, row = view.value("python.tag"), lookup.torch_release(view.tables, torch)
    conda = view.value("python.environment") == "conda"
    if tag is None or row is None or conda or not is_index_wheel(torch):
        return False
    return tag not in _pythons(view, row)


def _pythons(view: View, row: Mapping[str, Any]) -> list[str]:
    windows = view.value("os.system") == "Windows"
    return list(row["pythons_windows" if windows else "pythons_linux_x86_64"])


def _fail(view: View, path: str, text: str) -> Judgement:
    return failed(path, "python.version", "torch.version", detail=text, values=advise_torch(view))
