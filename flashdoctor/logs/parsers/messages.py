"""What error messages and warnings say about the machine they ran on. Pure.

Texts: torch/cuda/__init__.py and c10/cuda, torch/utils/cpp_extension.py, vllm/worker and
vllm/platforms, bitsandbytes, xformers, NCCL, nvidia-container-cli, ptxas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from flashdoctor.logs.statements import REPORT, STATED, BlockParser, say
from flashdoctor.logs.values import cuda_of_number, read_value
from flashdoctor.model.gpu_words import failure_status
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex
from flashdoctor.model.versions import cuda_of_tag

SOURCE = "the program's message"

Convert = Callable[[str], Any]


class _Row(NamedTuple):
    """What a message gives; `keyword`, in lower case, is in every line that `pattern` fits."""

    keyword: str
    pattern: re.Pattern[str]
    facts: tuple[tuple[str, str, Convert | None], ...]
    trust: int = REPORT


def _gib(text: str) -> int:
    return round(float(text) * 1024)


def _cuda(text: str) -> str | None:
    """Return `11.7` for `117`."""
    return cuda_of_tag(f"cu{text}")


def _status(text: str) -> str | None:
    return failure_status(text)


_NAME = r"(?P<name>[A-Z][\w ()./+-]{1,60}?)"
_CAPABILITY = (("gpu.compute_capability", "cc", None),)
_GPU = (("gpu.name", "name", None), *_CAPABILITY)
_MEMORY = (("gpu.memory_mib", "size", _gib),)
_NVML = (("nvml.status", "said", _status), ("nvml.error", "said", None))
_ROWS: tuple[_Row, ...] = (
    _Row("compute capability", regex(
        rf"Your {_NAME} GPU (?:has|does not have) compute capability (?P<cc>\d{{1,2}}\.\d)"), _GPU),
    _Row("cuda capability", regex(
        rf"{_NAME} with CUDA capability (?P<cc>sm_\d{{2,3}}) is not compatible with"), _GPU),
    _Row("found gpu0", regex(
        rf"Found GPU0 {_NAME} which is of (?:cuda|compute) capability (?:\(CC\) )?"
        rf"(?P<cc>\d{{1,2}}\.\d)"), _GPU),
    _Row("supports cuda capabilities", regex(
        r"PyTorch install supports CUDA capabilities "
        r"(?P<list>(?:(?:sm|compute)_\d{2,3}[af]? ?){1,30})"),
        (("torch.arch_list", "list", None), ("live.arch_list", "list", None))),
    _Row("current capability:", regex(
        r"[Mm]inimum capability: \d{2,3}\.? Current capability: (?P<cc>\d{2,3})"), _CAPABILITY),
    _Row("gpu has capability", regex(
        r"but your GPU has capability (?P<cc>\(\d{1,2}, \d\))"), _CAPABILITY),
    _Row("too old (found", regex(
        r"driver on your system is too old \(found version (?P<number>\d{4,6})\)"),
        (("driver.cuda", "number", cuda_of_number),)),
    _Row("cudadriverversion", regex(r"cudaDriverVersion (?P<number>\d{4,6})\b"),
         (("driver.cuda", "number", cuda_of_number),)),
    _Row("detected cuda version (", regex(
        r"detected CUDA version \((?P<nvcc>\d{1,2}\.\d{1,2})\).{1,120}?compile PyTorch "
        r"\((?P<torch>\d{1,2}\.\d{1,2})\)"),
        (("toolkit.version", "nvcc", None), ("torch.cuda", "torch", None))),
    _Row("has a total capac", regex(
        r"GPU \d{1,2} has a total capac(?:i)?ty of (?P<size>\d{1,4}\.\d{1,3}) GiB"),
        _MEMORY, STATED),
    _Row("gib total capacity", regex(
        r"\(GPU \d{1,2}; (?P<size>\d{1,4}\.\d{1,3}) GiB total capacity;"), _MEMORY, STATED),
    _Row("free memory on device", regex(
        r"Free memory on device (?:cuda:\d{1,2} )?\(-?[\d.]{1,8}/"
        r"(?P<size>\d{1,4}(?:\.\d{1,3})?) GiB\)"), _MEMORY, STATED),
    _Row("memory utilization (", regex(
        r"desired GPU memory utilization \((?P<fraction>\d?\.\d{1,4})"),
        (("launch.gpu_memory_utilization", "fraction", None),), STATED),
    _Row("pytorch settings found", regex(
        r"PyTorch settings found: CUDA_VERSION=(?P<tag>\d{3}), Highest Compute Capability: "
        r"\(?(?P<cc>\d{1,2}(?:\.|, )\d)"), (("torch.cuda", "tag", _cuda), *_CAPABILITY)),
    _Row("among gpus detected", regex(
        r"Highest compute capability among GPUs detected: (?P<cc>\d{1,2}\.\d)"), _CAPABILITY),
    _Row("cuda setup: detected", regex(
        r"CUDA SETUP: Detected CUDA version (?P<tag>\d{3})\b"),
        (("torch.cuda", "tag", _cuda),), STATED),
    _Row("--gpu-name", regex(r"--gpu-name[= ](?P<cc>sm_\d{2,3})[af]?\b"),
         _CAPABILITY, STATED),
    _Row("nccl version", regex(r"\bNCCL version (?P<nccl>\d\.\d{1,2}\.\d{1,2})\+cuda"),
         (("torch.nccl", "nccl", None),)),
    _Row("unsatisfied condition", regex(
        r"unsatisfied condition: (?P<condition>cuda\s?>=\s?\d{1,2}\.\d)"),
        (("container.require_cuda", "condition", None),), STATED),
    _Row("nvmlerror_", regex(r"(?P<said>NVMLError_\w{4,40}(?:: .{3,80})?)"), _NVML),
    _Row("nvml error:", regex(r"(?P<said>nvml error: .{3,80})"), _NVML),
    _Row("nvml: ", regex(r"Error: nvml: (?P<said>.{3,80})"), _NVML),
    _Row("nvml shared library", regex(r"(?P<said>NVML Shared Library Not Found)"), _NVML),
    _Row("nvml/rm version", regex(r"(?P<said>RM has detected an NVML/RM version mismatch)"),
         _NVML),
)  # fmt: skip
_STATES: tuple[tuple[str, str, Any], ...] = (
    ("wsl is detected", "wsl.version", 2),
    ("wsl environment detected", "wsl.version", 2),
    ("nvidia-container-cli", "container.kind", "docker"),
    ("nvidia-container-runtime", "container.kind", "docker"),
    ("could not select device driver", "container.kind", "docker"),
)


class _Feed:
    """Every fact once: a log repeats its errors."""

    def __init__(self) -> None:
        self.open = False
        self._said: set[str] = set()

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a message."""
        for found in _read(line):
            if found.fact.path not in self._said:
                self._said.add(found.fact.path)
                yield found

    def end(self) -> Iterable[Found]:
        """Give nothing: no line is waited for."""
        return ()


def _read(line: Line) -> Iterator[Found]:
    folded = line.text.lower()
    for row in _ROWS:
        match = row.pattern.search(line.text) if row.keyword in folded else None
        for path, group, convert in row.facts if match else ():
            value = _value(path, match[group] if match else "", convert)
            if value is not None:
                yield say(path, value, line, SOURCE, row.trust)
    for keyword, path, value in _STATES:
        if keyword in folded:
            yield say(path, value, line, SOURCE, STATED)


def _value(path: str, text: str, convert: Convert | None) -> Any:
    try:
        return convert(text) if convert else read_value(path, text)
    except (ValueError, OverflowError):
        return None


PARSER = BlockParser(
    kind="program messages",
    keywords=(*(row.keyword for row in _ROWS), *(keyword for keyword, _, _ in _STATES)),
    make=_Feed,
)
