"""`transformers env` (4.x, 5.x), and the same list of accelerate, diffusers, trl, LLaMA-Factory.

All print bullets, `- PyTorch version (GPU?): 2.5.1+cu121 (True)`. "not installed" behind a package
is what its own check for it said. For torch that check also says so of one that is too old, so
there it means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from flashdoctor.logs.parsers._packages import PATHS, normalised, state_package
from flashdoctor.logs.parsers._platform import state_platform, state_python
from flashdoctor.logs.parsers._stated import is_version, on
from flashdoctor.logs.statements import REPORT, LineParser
from flashdoctor.model.facts import Fact, absent, known
from flashdoctor.model.log import Found, Line

_SOURCE = "transformers env"
_BULLET = re.compile(
    r"\s{0,8}[-*\u2022]\s{1,4}(?:\W{1,3}\s?)?(?P<label>`?[A-Za-z][\w .-]{1,40}`?[\w ]{0,12}?)"
    r"\s?(?P<asked>\((?:GPU|CPU|accelerator|CUDA)[^()]{0,20}\))?\s?:(?:\s(?P<value>.*)|$)"
)
_TORCH = re.compile(r"(?P<version>\d\S{0,62})(?:\s{1,4}\((?P<device>\w{1,12})\))?")
_ACCELERATOR = re.compile(r"(?P<name>[^,]{2,80}),\s?(?P<memory>\d{3,7})\s?MiB")
_GPU_NAME = re.compile(
    r"\b(?:AMD|Instinct|Radeon|NVIDIA|GeForce|Tesla|RTX|GTX|Quadro|[A-Z]{1,3}\d{1,4})"
)
_SIZE = re.compile(r"(?P<number>\d{1,6}(?:\.\d{1,3})?)\s?(?P<unit>GB|GiB|MiB|MB)\b")
_CUDA_WORDS = frozenset({"true", "cuda", "gpu"})
_NO_CUDA_WORDS = frozenset({"false", "na", "cpu", "n/a"})
_MIB = {"GB": 1024, "GiB": 1024, "MiB": 1, "MB": 1}
_NOTHING = frozenset({"", "na", "n/a", "none", "not applicable", "no gpu", "<fill in>"})
_MEANT = frozenset({"pytorch accelerator"})
"""Labels behind which `N/A` says something: torch sees no device."""
_VERSION_ENDING = " version"


def _read(line: Line) -> Iterator[Found]:
    bullet = _BULLET.match(line.text)
    if bullet is None:
        return
    label = bullet["label"].replace("`", "").strip().lower()
    value = (bullet["value"] or "").strip().strip("`*").strip()
    if value.lower() not in _NOTHING or label in _MEANT:
        reader = _LABELS.get(label, _package(label))
        yield from on(line, reader(value), REPORT)


def _package(label: str) -> Callable[[str], Iterator[Fact]]:
    """Read `Accelerate version`; a label without the word names no package."""
    name = normalised(label.removesuffix(_VERSION_ENDING))
    named = label.endswith(_VERSION_ENDING) and name in PATHS

    def read(value: str) -> Iterator[Fact]:
        if not named:
            return
        if value.lower() == "not installed":
            yield absent(PATHS[name], _SOURCE, "not installed")
        else:
            yield from state_package(name, value.split(maxsplit=1)[0], _SOURCE)

    return read


def _torch(value: str) -> Iterator[Fact]:
    """Read `2.5.1+cu121 (True)`, `2.9.1+cu128 (CUDA)`, `2.4.0+cu121 (GPU)`, `2.8.0+cpu`."""
    match = _TORCH.match(value)
    if match is None or not is_version(match["version"]):
        return
    yield known("torch.version", match["version"], _SOURCE)
    yield known("live.torch_version", match["version"], _SOURCE)
    yield known("live.status", "ok", _SOURCE)
    yield from _accelerator(match["device"] or "")


def _listed_torch(value: str) -> Iterator[Fact]:
    """Read huggingface_hub's `Torch: 2.4.0`, which comes from torch's metadata."""
    yield from state_package("torch", value.split(maxsplit=1)[0], _SOURCE)


def _accelerator(value: str) -> Iterator[Fact]:
    word = value.lower()
    if word in _CUDA_WORDS or word in _NO_CUDA_WORDS:
        yield known("live.cuda_available", word in _CUDA_WORDS, _SOURCE)


def _gpu(value: str) -> Iterator[Fact]:
    """Read a name, or diffusers' `NVIDIA A100-SXM4-80GB, 81920 MiB`."""
    sized = _ACCELERATOR.match(value)
    if sized:
        yield known("gpu.memory_mib", int(sized["memory"]), _SOURCE)
    name = (sized["name"] if sized else value).strip().strip("`'\"")
    if _GPU_NAME.search(name):
        yield known("gpu.name", name[:100], _SOURCE)


def _gpu_count(value: str) -> Iterator[Fact]:
    if re.fullmatch(r"\d{1,4}", value):
        yield known("gpu.count", int(value), _SOURCE)


def _size(path: str) -> Callable[[str], Iterator[Fact]]:
    def read(value: str) -> Iterator[Fact]:
        size = _SIZE.match(value)
        if size:
            yield known(path, round(float(size["number"]) * _MIB[size["unit"]]), _SOURCE)

    return read


_LABELS: Mapping[str, Callable[[str], Iterator[Fact]]] = {
    "platform": lambda value: state_platform(value, _SOURCE),
    "python version": lambda value: state_python(value, _SOURCE),
    "pytorch version": _torch,
    "torch version": _torch,
    "torch": _listed_torch,
    "pytorch accelerator": _accelerator,
    "gpu type": _gpu,
    "cuda device(s)": _gpu,
    "accelerator": _gpu,
    "gpu number": _gpu_count,
    "gpu memory": _size("gpu.memory_mib"),
    "system ram": _size("os.memory_mib"),
}

_KEYWORDS = (
    " version: ", "version`: ", "` version", " version (", "- platform: ", "* platform: ",
    "gpu type: ", "accelerator: ", "- torch: ", "gpu number: ", "gpu memory: ", "system ram: ",
    "cuda device(s): ",
)  # fmt: skip

PARSER = LineParser(
    kind="transformers env",
    keywords=_KEYWORDS,
    read=_read,
)
