"""Package specifications of conda: `conda list --export`, `conda env export`, environment.yml.

`pytorch=2.5.1=py3.9_cuda12.1_cudnn9_0` names a build: that is installed. `python=3.10` alone asks
for one, and a plan (`pytorch/linux-64::pytorch-2.5.1-py3.9_...`) is not carried out yet: mentions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flashdoctor.logs.parsers._stated import is_version, on
from flashdoctor.logs.parsers.conda_list import state_row
from flashdoctor.logs.statements import MENTION, STATED, LineParser
from flashdoctor.model.log import Found, Line

_SOURCE = "conda specification"
_SPEC = re.compile(
    r"\s{0,8}(?:-\s{1,4})?[\"']?(?:[\w-]{1,40}::)?(?P<name>[A-Za-z][\w.-]{0,80}?)={1,2}"
    r"(?P<version>\d[\w.!+]{0,62}?)(?:\.\*)?(?:=(?P<build>[\w.+]{1,80}))?[\"']?\s*(?:#.{0,200})?$"
)
_PLANNED = re.compile(
    r"::(?P<name>[A-Za-z][\w.-]{0,80}?)-(?P<version>\d[\w.!+]{0,62})-(?P<build>[\w.]{1,80})"
    r"(?=\s|$)"
)
_OF_PIP = frozenset({"torch"})
"""Names that only pip knows: with two signs and no build they are a pin of pip's."""


def _read(line: Line) -> Iterator[Found]:
    for plan in _PLANNED.finditer(line.text):
        row = f"{plan['name']} {plan['version']} {plan['build']}"
        yield from on(line, state_row(row, _SOURCE), MENTION)
    spec = _SPEC.match(line.text)
    if spec is None or not is_version(spec["version"]):
        return
    name, build = spec["name"], spec["build"] or ""
    if not build and (name in _OF_PIP or "==" in line.text):
        return
    facts = state_row(f"{name} {spec['version']} {build or '0'}", _SOURCE)
    yield from on(line, facts, STATED if build else MENTION)


_KEYWORDS = (
    "python=", "pytorch=", "pytorch-cuda=", "torchvision=", "numpy=", "cuda-nvcc=", "flash-attn=",
    "vllm=", "transformers=", "triton=", "::pytorch-", "::python-", "::flash-attn-",
)  # fmt: skip

PARSER = LineParser(kind="conda specification", keywords=_KEYWORDS, read=_read)
