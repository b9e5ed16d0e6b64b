"""Reports of other programs about their environment: sglang, xformers, DeepSpeed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from flashdoctor.logs.parsers._packages import state_package
from flashdoctor.logs.parsers._platform import state_python
from flashdoctor.logs.parsers._stated import is_version, on, state
from flashdoctor.logs.statements import REPORT, STATED, BlockParser
from flashdoctor.model import versions
from flashdoctor.model.facts import Fact, absent, known
from flashdoctor.model.log import Found, Line

_SOURCE = "environment report"
_LABEL = re.compile(r"\s{0,4}(?P<label>[A-Za-z][\w ./-]{1,40}?):\s{1,60}(?P<value>\S.{0,400})$")
_DOTTED = re.compile(r"\s{0,4}(?P<label>[a-z][\w ]{1,40}?) \.{3,40} (?P<value>.{1,300})$")
_SGLANG_GPU = re.compile(r"\s{0,4}GPU (?P<numbers>[\d,]{1,100}): (?P<name>[A-Z][^:]{1,100})$")
_SGLANG_CAPABILITY = re.compile(
    r"\s{0,4}GPU 0[\d,]{0,100} Compute Capability: (?P<value>\d{1,2}\.\d)\s*$"
)
_NVCC = re.compile(r"release \d{1,2}\.\d{1,2}, V(?P<version>\d{1,2}\.\d{1,2}\.\d{1,4})")
_XFORMERS = re.compile(r"xFormers (?P<version>\d\S{0,40})\s*$")
_QUOTES = " []'\"`"


class _Reports:
    """Lines that stand for themselves, but for sglang's GPUs: they follow `CUDA available`."""

    open = False

    def __init__(self) -> None:
        self._expected = -1

    def feed(self, line: Line) -> Iterable[Found]:
        """Read one line; a list of GPUs only where it belongs."""
        gpu = _SGLANG_GPU.match(line.text)
        if line.text.lstrip().lower().startswith("cuda available"):
            self._expected = line.number + 1
        if gpu is None:
            return _read(line)
        if line.number != self._expected:
            return ()
        self._expected += 1
        return on(line, _gpus(gpu["numbers"], gpu["name"].strip()), REPORT)

    def end(self) -> Iterable[Found]:
        """Give nothing: no line waits for another."""
        return ()


def _read(line: Line) -> Iterator[Found]:
    capability = _SGLANG_CAPABILITY.match(line.text)
    label = _LABEL.match(line.text)
    head = _XFORMERS.match(line.text)
    dotted = _DOTTED.match(line.text)
    if head:
        yield from on(line, state_package("xformers", head["version"], _SOURCE), REPORT)
    elif capability:
        yield from on(line, state("gpu.compute_capability", capability["value"], _SOURCE), REPORT)
    elif label and label["label"].lower() in _LABELS:
        yield from on(line, _LABELS[label["label"].lower()](label["value"].strip()), REPORT)
    elif label and label["label"].lower() in _SHORT_LABELS:
        yield from on(line, _SHORT_LABELS[label["label"].lower()](label["value"].strip()), STATED)
    elif dotted and dotted["label"] in _DOTTED_LABELS:
        value = dotted["value"].strip(_QUOTES)
        yield from on(line, _DOTTED_LABELS[dotted["label"]](value), REPORT)


def _gpus(numbers: str, name: str) -> Iterator[Fact]:
    """Read `GPU 0,1,2,3: NVIDIA H100 80GB HBM3`: one kind of GPU with its numbers."""
    listed = [number for number in numbers.split(",") if number]
    if listed and listed[0] == "0":
        yield known("gpu.name", name, _SOURCE)
        if len(listed) > 1:
            yield known("gpu.count", len(listed), _SOURCE)


def _torch(value: str) -> Iterator[Fact]:
    if is_version(value):
        yield known("torch.version", value, _SOURCE)
        yield known("live.torch_version", value, _SOURCE)
        yield known("live.status", "ok", _SOURCE)


def _torch_cuda(value: str) -> Iterator[Fact]:
    cuda = versions.minor(value)
    if cuda:
        yield known("torch.cuda", cuda, _SOURCE)
    elif value == "None":
        yield absent("torch.cuda", _SOURCE, "torch.version.cuda is None")


def _nvcc(value: str) -> Iterator[Fact]:
    found = _NVCC.search(value)
    if found:
        yield known("toolkit.version", found["version"], _SOURCE)


def _home(value: str) -> Iterator[Fact]:
    if value != "None":
        yield known("toolkit.home", value, _SOURCE)


def _available(value: str) -> Iterator[Fact]:
    if value in {"available", "not available"}:
        yield from _cuda_available(str(value == "available"))


def _cuda_available(value: str) -> Iterator[Fact]:
    """Read what torch said of CUDA; to say it, torch had to be imported."""
    yield from state("live.cuda_available", value, _SOURCE)
    yield known("live.status", "ok", _SOURCE)


def _into(path: str) -> Callable[[str], Iterator[Fact]]:
    return lambda value: state(path, value, _SOURCE)


def _package(name: str) -> Callable[[str], Iterator[Fact]]:
    """Read a version, or `Module Not Found`, which the report says of what it cannot import."""
    return lambda value: state_package(name, value, _SOURCE)


_LABELS: Mapping[str, Callable[[str], Iterator[Fact]]] = {
    "cuda available": _cuda_available,
    "cuda_home": _home,
    "nvcc": _nvcc,
    "cuda driver version": _into("driver.version"),
    "pytorch.version": _torch,
    "pytorch.cuda": _available,
    "gpu.compute_capability": _into("gpu.compute_capability"),
    "gpu.name": _into("gpu.name"),
}

_SHORT_LABELS: Mapping[str, Callable[[str], Iterator[Fact]]] = {
    "python": lambda value: state_python(value, _SOURCE),
    "pytorch": _package("torch"),
    **{name: _package(name) for name in (
        "sgl_kernel", "sglang-kernel", "flashinfer", "flashinfer_python", "flashinfer_cubin",
        "triton", "transformers", "numpy", "packaging", "psutil", "vllm", "flash_attn",
    )},
}  # fmt: skip
"""Labels of sglang's report that people write as well."""

_DOTTED_LABELS: Mapping[str, Callable[[str], Iterator[Fact]]] = {
    "torch version": _torch,
    "torch cuda version": _torch_cuda,
    "nvcc version": _into("toolkit.version"),
}

_KEYWORDS = (
    "xformers 0.",
    "cuda available: ", "compute capability: ", "cuda_home: ", "nvcc: ", "cuda driver version: ",
    "pytorch: ", "pytorch.version:", "pytorch.cuda:", "gpu.compute_capability:", "gpu.name:",
    "sgl_kernel: ", "sglang-kernel: ", "flashinfer: ", "flashinfer_python: ",
    "flashinfer_cubin: ", "triton: ", "transformers: ", "numpy: ", "vllm: ", "flash_attn: ",
    "python: ", " ... ", " .... ", ".... ", "gpu 0: ", "gpu 0,",
)  # fmt: skip

PARSER = BlockParser(
    kind="environment report",
    keywords=_KEYWORDS,
    make=_Reports,
)
