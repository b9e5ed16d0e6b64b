"""FD706: a container in WSL lacks a library that Windows drivers from 555 on need."""

from __future__ import annotations

import re

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.regex import regex

_WORDS = regex(r"named symbol not found", re.IGNORECASE)
_FIRST_BRANCH = 555


def judge(view: View) -> Judgement:
    """Judge containers in WSL only."""
    if not view.need("wsl.version") or view.need("container.kind") is None:
        return passed("wsl.version", "container.kind")
    said = situation.says(view, _WORDS)
    if said:
        return failed(said, "wsl.dxgdmal", "driver.version", "container.kind")
    if situation.proves_cuda(view) or view.need("wsl.dxgdmal") is not False:
        return passed("wsl.dxgdmal")
    branch = view.need("driver.branch")
    if branch is None or branch < _FIRST_BRANCH:
        return passed("driver.branch")
    return failed("wsl.dxgdmal", "driver.version", "container.kind")
