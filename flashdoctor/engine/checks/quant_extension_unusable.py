"""FD619: bitsandbytes carries no library for torch's CUDA."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.regex import regex

_CARRIED, _TORCH, _OWN = "bitsandbytes.cuda_binaries", "torch.cuda", "bitsandbytes.version"
_DIGITS = regex(r"(\d{2})\.?(\d)\b")


def judge(view: View) -> Judgement:
    """Look for torch's CUDA among the libraries.

    Newer releases fall back to a library of the same major, older ones to none: that is told, and
    only the lack of the whole major is a fault (bitsandbytes/cextension.py).
    """
    carried = view.need(_CARRIED)
    if carried is None:
        return passed(_OWN)
    torch = view.need(_TORCH)
    if torch is None or not carried:
        raise MissingFactError(_TORCH if torch is None else _CARRIED)
    builds = sorted({f"{m[1]}.{m[2]}" for item in carried if (m := _DIGITS.search(item))})
    if versions.minor(torch) in builds:
        return passed(_CARRIED, _TORCH)
    same_major = any(versions.major(build) == versions.major(torch) for build in builds)
    detail = f"bitsandbytes has libraries for CUDA {', '.join(builds)}, torch brings CUDA {torch}."
    return failed(_CARRIED, _TORCH, _OWN, detail=detail, severity="info" if same_major else None)
