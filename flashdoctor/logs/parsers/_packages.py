"""Distributions by name, and the facts that their versions are. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from flashdoctor.logs.parsers._stated import is_version, on
from flashdoctor.logs.statements import STATED
from flashdoctor.model import versions
from flashdoctor.model.facts import Fact, absent, known
from flashdoctor.model.log import Found, Line
from flashdoctor.model.wheels import WheelName, parse_wheel_name

_DISTRIBUTIONS: Mapping[str, tuple[str, ...]] = {
    "torch": ("torch",),
    "triton": ("triton", "pytorch-triton", "triton-nightly", "triton-windows",
               "pytorch-triton-rocm"),
    "flashinfer": ("flashinfer-python", "flashinfer"),
    "flashinfer_cubin": ("flashinfer-cubin",),
    "auto_gptq": ("auto-gptq",),
    "compressed_tensors": ("compressed-tensors",),
    "nvidia_ml_py": ("nvidia-ml-py",),
    "sgl_kernel": ("sgl-kernel", "sglang-kernel"),
    "vllm_flash_attn": ("vllm-flash-attn",),
    "nvidia_cutlass_dsl": ("nvidia-cutlass-dsl",),
    "flash_attn": ("flash-attn",),
    "flash_attn_3": ("flash-attn-3", "flashattn-hopper"),
    "flash_attn_4": ("flash-attn-4", "flash-attn-cute"),
    **{name: (name,) for name in (
        "vllm", "xformers", "transformers", "kernels", "accelerate", "bitsandbytes", "autoawq",
        "gptqmodel", "exllamav2", "llmcompressor", "optimum", "numpy", "pynvml", "torchvision",
        "torchaudio", "peft", "ninja", "packaging", "psutil", "wheel", "setuptools", "ray",
    )},
}  # fmt: skip
"""Fact group -> distributions that stand for it, as `agents/packages.py` has them."""

PATHS: Mapping[str, str] = {
    distribution: f"{group}.version"
    for group, distributions in _DISTRIBUTIONS.items()
    for distribution in distributions
}
"""The path of each watched distribution's version, by its normalised name."""

_COMPANION = re.compile(r"nvidia-(cudnn|nccl)(?:-cu\d{2})?")
_COMPANION_PATHS = {"cudnn": "torch.cudnn", "nccl": "torch.nccl"}
_RUNS = re.compile(r"[-_.]+")
_LATER_GENERATIONS = (3, 4)
_MAX_COMPANIONS = 4


def normalised(name: str) -> str:
    """Return the name of a distribution as the index compares it."""
    return _RUNS.sub("-", name.strip()).lower()


def state_package(name: str, version: str, source: str) -> Iterator[Fact]:
    """Yield what the version of a distribution states; nothing for one that is not watched."""
    path = PATHS.get(normalised(name))
    text = version.strip().strip("\"'`,;()[]")
    if path is None or not is_version(text):
        return
    text = text.lstrip("v")
    if path == "flash_attn.version":
        yield from _state_flash_attn(text, source)
    else:
        yield known(path, text, source)


def _state_flash_attn(version: str, source: str) -> Iterator[Fact]:
    """Read a version, and what a build wrote behind it (`2.8.3+cu12torch2.8cxx11abiTRUE`).

    FlashAttention 3 and 4 have been installed under the first one's name as well.
    """
    major = versions.major(version)
    if major in _LATER_GENERATIONS:
        yield known(f"flash_attn_{major}.version", version, source)
        return
    yield known("flash_attn.version", versions.public(version), source)
    wheel = parse_wheel_name(f"flash_attn-{version}-py3-none-any.whl")
    for key in ("cuda", "torch", "cxx11_abi") if wheel else ():
        value = getattr(wheel, key)
        if value is not None:
            yield known(f"flash_attn.wheel.{key}", value, source)


def state_wheel(text: str, source: str) -> Iterator[Fact]:
    """Yield what a wheel's file name, path or address states."""
    wheel = parse_wheel_name(text)
    if wheel is None:
        return
    if PATHS.get(wheel.name) == "flash_attn.version" and _is_second_generation(wheel):
        yield known("flash_attn.wheel.file", wheel.file, source)
        yield known("flash_attn.version", wheel.public_version, source)
    else:
        yield from state_package(wheel.name, wheel.version, source)


def state_index(build: str, source: str) -> Iterator[Fact]:
    """Yield what the builds of PyTorch's index are: `cu124`, `cpu`, `rocm6.2`, `xpu`."""
    cuda = versions.cuda_of_tag(build)
    if cuda:
        yield known("torch.cuda", cuda, source)
        return
    yield absent("torch.cuda", source, f"the index holds {build} builds")
    yield known("torch.build", "rocm" if build.startswith("rocm") else build, source)


def _is_second_generation(wheel: WheelName) -> bool:
    return versions.major(wheel.version) not in _LATER_GENERATIONS


class Companions:
    """cuDNN and NCCL of one package list: whose CUDA major is torch's, nobody says.

    Where two versions stand side by side (`-cu12` and `-cu13`), neither is stated.
    """

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, Line]] = {}

    def add(self, name: str, version: str, line: Line) -> None:
        """Take one row of the list."""
        match = _COMPANION.fullmatch(normalised(name))
        if match and is_version(version):
            found = self._seen.setdefault(_COMPANION_PATHS[match[1]], {})
            if len(found) < _MAX_COMPANIONS:
                found.setdefault(version, line)

    def end(self, source: str, trust: int = STATED) -> Iterator[Found]:
        """Yield the versions that stand alone."""
        for path, found in self._seen.items():
            if len(found) == 1:
                [(version, line)] = found.items()
                yield from on(line, [known(path, version, source)], trust)
        self._seen = {}


class PackageTable:
    """A list with a row a package. It is over once several lines in a row are no row of it."""

    def __init__(self, source: str, patience: int) -> None:
        self.open = False
        self._source = source
        self._patience, self._left = patience, 0
        self._companions = Companions()

    def _begin(self) -> None:
        """Wait for rows: a head was read."""
        self._left, self.open = self._patience, True

    def _go_on(self) -> None:
        """Wait for as many lines as at first where a list was begun: a row was read."""
        self._left = self._patience if self.open else 0

    def _miss(self) -> None:
        """Lose patience: a line was no row."""
        self._left = max(self._left - 1, 0)
        self.open = self._left > 0

    def end(self) -> Iterable[Found]:
        """State what stands alone in the list."""
        return self._companions.end(self._source)


def watched_keywords(ending: str, names: Iterable[str] = ()) -> tuple[str, ...]:
    """Return a keyword for each name that a list often holds: the name and what follows it."""
    usual = ("torch", "attn", "vllm", "transformers", "triton", "xformers", "bitsandbytes")
    return tuple(f"{name}{ending}" for name in (*usual, *names))
