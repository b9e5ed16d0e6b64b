"""`nvcc --version`, and what a shell says where there is no nvcc. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flashdoctor.logs.statements import STATED, LineParser, say, say_absent, shorten
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "nvcc --version"

_RELEASE = regex(r"Cuda compilation tools, release (\d{1,2}\.\d{1,2})\b", re.IGNORECASE)
_BUILD = regex(r"^\s*Build cuda_(\d{1,2}\.\d{1,2})\.r\d")
_VERSION_FILE = regex(r"^\s*CUDA Version (\d{1,2}\.\d{1,2})\.\d{1,4}\s*$")
_MISSING = regex(
    r"(?:^|[\s:'\"])nvcc'?:? (?:command )?not found|command not found: nvcc\b"
    r"|'nvcc' is not recognized|\bnvcc: No such file or directory"
    r"|Command 'nvcc' not found|\bno nvcc in \("
)


def _read(whole: Line) -> Iterator[Found]:
    line = shorten(whole)
    for pattern in (_RELEASE, _BUILD, _VERSION_FILE):
        if match := pattern.search(line.text):
            yield say("toolkit.version", match[1], line, SOURCE)
            return
    if _MISSING.search(line.text):
        yield say_absent("toolkit.version", line, "the shell found no nvcc", STATED)


PARSER = LineParser(
    kind=SOURCE,
    keywords=("cuda compilation tools", "build cuda_", "cuda version ", "nvcc"),
    read=_read,
)
