"""`collect_env` of torch (1.3 to 2.14) and of vLLM (flat up to 0.8, boxed sections from 0.9).

Labels are those of torch/utils/collect_env.py and vllm/collect_env.py. `None` and `Could not
collect` behind "CUDA used to build PyTorch" both stand for a `torch.version.cuda` that is None: the
script writes `N/A` where torch could not be imported or is a ROCm build.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, pairwise

from flashdoctor.logs.parsers._gpu_lines import GpuLines
from flashdoctor.logs.parsers._packages import Companions, state_package
from flashdoctor.logs.parsers._platform import (
    state_gcc,
    state_libc,
    state_os,
    state_platform,
    state_python,
)
from flashdoctor.logs.parsers._stated import is_version, on, state
from flashdoctor.logs.parsers.conda_list import state_row
from flashdoctor.logs.statements import REPORT, STATED, BlockParser, say
from flashdoctor.logs.variables import facts_of, is_kept
from flashdoctor.model import versions
from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.log import Found, Line

_SOURCE = "collect_env"
_FIELD = re.compile(
    r"\s{0,8}(?P<bullet>[-*\u2022] )?(?P<label>[A-Za-z][\w .]{1,40}?)\s{0,40}:(?P<value>.*)"
)
_PACKAGE = re.compile(r"\s{0,8}\[(?P<tool>pip3?|conda|uv)\] (?P<row>.{1,300})")
_PIN = re.compile(r"([\w.-]{1,100})==(\S{1,80})")
_ASSIGNMENT = re.compile(r"\s{0,8}(?P<name>[A-Z][A-Z0-9_]{1,60})=(?P<value>.*)")
_MARKS = ("collecting environment information", "system info", "pytorch info", "cuda / gpu info")
_NOTHING = frozenset({"", "n/a", "none", "could not collect", "no cuda", "not set"})
_IN_LINE = re.compile(
    r"(?<!\S)(?:(?:PyTorch version|Is debug build|(?:CUDA|ROCM|XPU) used to build PyTorch|OS"
    r"|(?:GCC|Clang|CMake|Libc|Python|cuDNN|vLLM|ROCM|HIP runtime|MIOpen runtime) [Vv]ersion"
    r"|Python platform|Is (?:CUDA|XPU|XNNPACK) available|CUDA runtime version"
    r"|CUDA_MODULE_LOADING set to|GPU models and configuration|Nvidia driver version|CPU"
    r"|Caching allocator config|Versions of relevant libraries|vLLM Build Flags|GPU Topology)\s?:"
    r"|\[(?:pip3?|conda)\] )"
)
_FEWEST_PIECES = 4
_MOST_PIECES = 200
_SECTION = "environment variables"
_PATIENCE = 60
"""Lines without a variable until the section of the environment, or the topology before it, counts
as over."""
_LONGEST_VALUE = 3900
"""Characters of a variable's value: a line that may have been cut short gives none."""

_OWN = frozenset({
    "pytorch version", "is debug build", "cuda used to build pytorch", "rocm used to build pytorch",
    "xpu used to build pytorch", "is cuda available", "gpu models and configuration",
    "nvidia driver version", "cuda runtime version", "vllm version", "python platform",
})  # fmt: skip
"""Labels that no other report has; `OS: ...` alone is only what somebody states."""

_SHARED = frozenset({"pytorch version", "vllm version"})
"""Those that other programs put behind a bullet."""


class _Report:
    """The state of one paste: what stands in the lines that belong together."""

    def __init__(self) -> None:
        self.open = False  # whether the next line belongs to a list of GPUs or the environment
        self._gpus = GpuLines(_SOURCE)
        self._companions = Companions()
        self._torch: str | None = None
        self._piped = False
        self._waiting = 0
        self._own = False

    def feed(self, line: Line) -> Iterable[Found]:
        """Read a field, a package, a GPU or a variable."""
        found = list(self._read(line))
        self.open = self._gpus.open or self._waiting > 0
        return found

    def _read(self, line: Line) -> Iterator[Found]:
        for piece in _pieces(line):
            yield from self._read_piece(piece)

    def _read_piece(self, line: Line) -> Iterator[Found]:
        if self._gpus.open:
            yield from self._gpus.feed(line)
            if self._gpus.open:
                return
        folded = line.text.lower()
        if any(mark in folded for mark in _MARKS):
            self._own = True
        package = _PACKAGE.match(line.text)
        field = None if package else _FIELD.match(line.text)
        if package:
            self._own = True
            yield from self._package(package, line)
        elif field:
            yield from self._field(field, line)
        elif _SECTION in folded or "gpu topology" in folded:
            self._waiting = _PATIENCE
        yield from self._variable(line)

    def end(self) -> Iterator[Found]:
        """Close a list of GPUs that the paste ends with."""
        yield from self._gpus.end()
        yield from self._companions.end(_SOURCE)

    def _field(self, match: re.Match[str], line: Line) -> Iterator[Found]:
        label, value = match["label"].strip().lower(), match["value"].strip()
        if match["bullet"] and label not in _OWN - _SHARED:
            return
        self._own = self._own or label in _OWN
        if label == "gpu models and configuration":
            yield from self._gpus.begin(value, line)
        elif label == "gpu topology":
            self._waiting = _PATIENCE
        elif label == "pytorch version":
            yield from on(line, self._torch_version(value), REPORT)
        elif label in _FIELDS and value.lower() not in _NOTHING - _MEANINGFUL.get(label, _EMPTY):
            trust = REPORT if self._own else STATED
            yield from on(line, _FIELDS[label](value), trust)

    def _torch_version(self, value: str) -> Iterator[Fact]:
        version = value.split(maxsplit=1)[0] if value else ""
        if not is_version(version):
            if version == "N/A":
                yield unknown("torch.version", "torch could not be imported", _SOURCE)
            return
        self._torch = version
        yield known("torch.version", version, _SOURCE)
        yield known("live.torch_version", version, _SOURCE)
        yield known("live.status", "ok", _SOURCE)
        tag = versions.local_tag(version) or ""
        build = next((kind for kind in ("rocm", "xpu", "cpu") if tag.startswith(kind)), None)
        if build:
            yield known("torch.build", build, _SOURCE)

    def _package(self, match: re.Match[str], line: Line) -> Iterator[Found]:
        if match["tool"] == "conda":
            yield from on(line, filter(self._is_news, state_row(match["row"], _SOURCE)))
            return
        pin = _PIN.fullmatch(match["row"].strip())
        if pin is None:
            return
        self._companions.add(pin[1], pin[2], line)
        for fact in state_package(pin[1], pin[2], _SOURCE):
            self._piped = True
            if not self._is_same_torch(fact):
                yield from on(line, [fact])

    def _is_news(self, fact: Fact) -> bool:
        """Whether conda's list can add a fact: pip's saw every package of this environment."""
        return not (self._piped and fact.path.endswith(".version"))

    def _is_same_torch(self, fact: Fact) -> bool:
        """Whether a list names the torch of this report: its metadata lacks the local tag."""
        same = versions.public(str(fact.value)) == versions.public(self._torch or "")
        return fact.path == "torch.version" and same

    def _variable(self, line: Line) -> Iterator[Found]:
        if not self._waiting:
            return
        match = _ASSIGNMENT.match(line.text)
        self._waiting = _PATIENCE if match else self._waiting - 1
        value = match["value"].strip() if match else ""
        if match is None or len(value) > _LONGEST_VALUE:
            return
        if match["name"] == "VLLM_USAGE_SOURCE" and "docker" in value:
            yield say("container.kind", "docker", line, _SOURCE)
        for path, read in facts_of(match["name"], value) if is_kept(match["name"]) else ():
            yield say(path, read, line, _SOURCE)


def _pieces(line: Line) -> Iterator[Line]:
    """Take a report apart that lost its line ends: forms of issue trackers do that."""
    starts = [match.start() for match in islice(_IN_LINE.finditer(line.text), _MOST_PIECES)]
    if len(starts) < _FEWEST_PIECES:
        yield line
        return
    for start, end in pairwise([*starts, len(line.text)]):
        yield Line(line.number, line.text[start:end].rstrip())


def _torch_cuda(value: str) -> Iterator[Fact]:
    cuda = versions.minor(value)
    if cuda:
        yield known("torch.cuda", cuda, _SOURCE)
    elif value.lower() in {"none", "could not collect"}:
        yield absent("torch.cuda", _SOURCE, "torch.version.cuda is None")


def _torch_rocm(value: str) -> Iterator[Fact]:
    if is_version(value):
        yield absent("torch.cuda", _SOURCE, "a ROCm build")
        yield known("torch.build", "rocm", _SOURCE)


def _torch_xpu(value: str) -> Iterator[Fact]:
    if is_version(value):
        yield known("torch.build", "xpu", _SOURCE)


def _hip(value: str) -> Iterator[Fact]:
    if is_version(value):
        yield known("os.rocm", True, _SOURCE)


def _vllm(value: str) -> Iterator[Fact]:
    """Read `0.6.3.post1`, `0.9.2rc2 (git sha: ...)`; `N/A (dev)` says nothing."""
    version = value.split(maxsplit=1)[0]
    if is_version(version):
        yield known("vllm.version", version.lstrip("v"), _SOURCE)


def _build_flags(value: str) -> Iterator[Fact]:
    """Read what follows `CUDA Archs:`: the variable TORCH_CUDA_ARCH_LIST, or `Not Set`."""
    archs = value.partition("; ROCm:")[0].strip()
    if archs.lower() not in _NOTHING:
        yield known("env.torch_cuda_arch_list", archs, _SOURCE)


def _plain(path: str) -> Callable[[str], Iterator[Fact]]:
    return lambda value: state(path, value.split(maxsplit=1)[0], _SOURCE)


def _with_source(read: Callable[[str, str], Iterator[Fact]]) -> Callable[[str], Iterator[Fact]]:
    return lambda value: read(value, _SOURCE)


_EMPTY: frozenset[str] = frozenset()
_MEANINGFUL: Mapping[str, frozenset[str]] = {
    "cuda used to build pytorch": frozenset({"none", "could not collect"})
}
_FIELDS: Mapping[str, Callable[[str], Iterable[Fact]]] = {
    "cuda used to build pytorch": _torch_cuda,
    "rocm used to build pytorch": _torch_rocm,
    "xpu used to build pytorch": _torch_xpu,
    "os": _with_source(state_os),
    "gcc version": _with_source(state_gcc),
    "libc version": _with_source(state_libc),
    "python version": _with_source(state_python),
    "python platform": _with_source(state_platform),
    "is cuda available": _plain("live.cuda_available"),
    "cuda runtime version": _plain("toolkit.version"),
    "nvidia driver version": _plain("driver.version"),
    "hip runtime version": _hip,
    "vllm version": _vllm,
    "cuda archs": _build_flags,
}


_KEYWORDS = (
    "collecting environment information", "system info", "pytorch info", "gpu info",
    "environment variables", "pytorch version", "is debug build", "used to build pytorch",
    "os:", "os   ",
    "gcc version", "libc version", "python version", "python platform", "is cuda available",
    "cuda runtime version", "gpu models and configuration", "nvidia driver version",
    "hip runtime version", "[pip", "[conda]", "vllm version", "cuda archs:", "gpu topology",
)  # fmt: skip

PARSER = BlockParser(kind="collect_env", keywords=_KEYWORDS, make=_Report)
