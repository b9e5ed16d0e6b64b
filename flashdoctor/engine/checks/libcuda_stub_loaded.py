"""FD131: the toolkit's link-time stub stands where the driver's libcuda should be loaded."""

from __future__ import annotations

import re

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.regex import regex

_WORDS = regex(r"CUDA_ERROR_STUB_LIBRARY|stub library", re.IGNORECASE)


def judge(view: View) -> Judgement:
    """Believe CUDA's words first, then the path that the loader takes."""
    said = situation.says(view, _WORDS)
    if said:
        return failed(said, "driver.libcuda_path", "env.ld_library_path")
    if view.need("driver.libcuda_origin") == "stub" and not situation.proves_cuda(view):
        return failed("driver.libcuda_path", "env.ld_library_path")
    return passed("driver.libcuda_origin")
