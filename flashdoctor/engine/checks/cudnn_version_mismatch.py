"""FD210: cuDNN is not the one that torch was built and pinned with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.regex import regex

_WORDS = regex(r"cuDNN version incompatibility|SUBLIBRARY_VERSION_MISMATCH|libcudnn\w*\.so")
_NAME = regex(r"nvidia-cudnn(-cu\d+)?$")


def judge(view: View) -> Judgement:
    """Take errors first, then what is loaded against what is installed, then torch's pin."""
    path = situation.says(view, _WORDS)
    if path:
        return failed(path, "live.cudnn", "torch.cudnn", "env.ld_library_path")
    loaded, package = view.value("live.cudnn"), view.value("torch.cudnn")
    if loaded and package and versions.minor(loaded) != versions.minor(package):
        text = f"cuDNN {loaded} is loaded, the package beside torch is {package}."
        return failed("live.cudnn", "torch.cudnn", detail=text, severity="warning")
    unmet = find_unmet(view, _NAME)
    if unmet:
        return _judge_pin(view, unmet)
    if view.get("torch.pins_unmet").state == "unknown" and loaded is None:
        raise MissingFactError("torch.pins_unmet")
    return passed("torch.pins_unmet", "live.cudnn")


def _judge_pin(view: View, unmet: Mapping[str, Any]) -> Judgement:
    wanted = versions.major(str(unmet["required"]).lstrip("=~<>! "))
    other = wanted != versions.major(str(unmet.get("installed") or ""))
    return failed(
        "torch.pins_unmet",
        "torch.version",
        detail=describe_unmet(unmet),
        values={"advice.cudnn": f"{unmet['package']}{unmet['required']}"},
        severity="error" if other and not situation.imports_torch(view) else "warning",
    )


def find_unmet(view: View, name: re.Pattern[str]) -> Mapping[str, Any] | None:
    """Return the first of torch's unmet pins on a package of this name."""
    records: list[Mapping[str, Any]] = view.value("torch.pins_unmet") or []
    return next((record for record in records if name.match(str(record["package"]))), None)


def describe_unmet(unmet: Mapping[str, Any]) -> str:
    """Say what a pin asks for and what is there instead."""
    there = unmet.get("installed") or "not installed"
    return f"torch requires {unmet['package']}{unmet['required']}; it is {there}."
