"""`conda list`, also of mamba, micromamba and pixi: versions, and builds that name their CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.parsers._packages import PackageTable, state_package
from flashdoctor.logs.parsers._stated import is_version, on
from flashdoctor.logs.statements import STATED, BlockParser
from flashdoctor.model.facts import Fact, absent, known
from flashdoctor.model.log import Found, Line

_SOURCE = "conda list"
_HEAD = re.compile(r"\s{0,4}#\s+packages in environment at\b")
_COLUMNS = re.compile(r"\s{0,4}#?\s{0,4}(?:Name|Package)\s+Version\s+Build\b")
_ROW = re.compile(
    r"\s{0,4}(?P<name>[A-Za-z_][\w.-]{0,80})\s{1,60}(?P<version>\d\S{0,60})\s{1,60}"
    r"(?P<build>[\w.+*-]{1,80})(?:\s{1,60}(?P<channel>\S{1,80}))?(?:\s|$)"
)
_BUILD = re.compile(r"(?:pypi|\w+)_\d+|py[\w.]*|\d+|[a-z0-9_.]*(?:cuda|cpu|gpu)[\w.]*|main")
_CUDA = re.compile(r"cuda_?(\d{2}\.\d|\d{3})(?!\d)")
_CPU = re.compile(r"(?:^|_)cpu(?:_|$)")
_TORCH = frozenset({"pytorch", "pytorch-cpu", "pytorch-gpu", "torch"})
_MAX_OTHERS = 3
"""Lines in a row that are no package until a list counts as over."""


def state_row(text: str, source: str) -> Iterator[Fact]:
    """Yield what one row states: `pytorch 2.5.1 py3.9_cuda12.1_cudnn9_0 pytorch`."""
    row = _ROW.match(text)
    if row is None or not is_version(row["version"]):
        return
    name, version = row["name"].lower(), row["version"]
    if name in _TORCH:
        yield from state_package("torch", version, source)
        yield from _state_build(row["build"], row["channel"] or "", source)
    elif name == "python":
        yield known("python.version", version, source)
    elif name == "pytorch-cuda":
        yield known("torch.cuda", version, source)
    elif name == "cuda-nvcc":
        yield known("toolkit.version", version, source)
    else:
        yield from state_package(name, version, source)


def _state_build(build: str, channel: str, source: str) -> Iterator[Fact]:
    """Read `py3.10_cuda12.1_cudnn8.9.2_0`, `cuda126_mkl_py312_he3f0d9b_301`, `cpu_generic_...`.

    conda-forge compiles all its C++ with the new ABI, whatever the release on the index has.
    """
    cuda = _CUDA.search(build)
    if cuda:
        digits = cuda[1].replace(".", "")
        yield known("torch.cuda", f"{digits[:2]}.{digits[2]}", source)
    elif _CPU.search(build):
        yield absent("torch.cuda", source, f"the build is {build}")
        yield known("torch.build", "cpu", source)
    if "conda-forge" in channel and (cuda or _CPU.search(build)):
        yield known("torch.cxx11_abi", True, source)


class _List(PackageTable):
    """The rows of one list, with or without its head."""

    def __init__(self) -> None:
        super().__init__(_SOURCE, _MAX_OTHERS)

    def feed(self, line: Line) -> Iterable[Found]:
        """Read a head or a row. Without a head only rows count whose build looks like conda's."""
        if _HEAD.match(line.text):
            self._begin()
            return on(line, [known("python.environment", "conda", _SOURCE)])
        if _COLUMNS.match(line.text):
            self._begin()
            return ()
        row = _ROW.match(line.text)
        listed = row is not None and (self.open or _BUILD.fullmatch(row["build"]) is not None)
        if row is None or not listed:
            self._miss()
            return ()
        self._go_on()
        self._companions.add(row["name"], row["version"], line)
        return on(line, state_row(line.text, _SOURCE), STATED)


_KEYWORDS = (
    "# packages in environment", "version                   build", "version build",
    "pypi_0", "pytorch  ", "pytorch-cuda", "_cuda", "_cpu", "cuda-nvcc",
)  # fmt: skip

PARSER = BlockParser(kind="conda list", keywords=_KEYWORDS, make=_List)
