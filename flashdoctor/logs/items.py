"""What a person states about a machine: `CUDA 12.4`, `driver 550`, `RTX 4090 x 2`. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from flashdoctor.logs.gpu_names import find_count, find_gpus
from flashdoctor.logs.parsers._packages import PATHS, normalised, state_package
from flashdoctor.logs.parsers._platform import state_gcc, state_os, state_platform
from flashdoctor.logs.values import read_value
from flashdoctor.model import versions
from flashdoctor.model.facts import Fact
from flashdoctor.model.regex import regex

Item = tuple[str, Any, int]
"""A fact's path, its value, and 1 where it is less certain than the rest of the line."""

CERTAIN, GUESSED = 0, 1

_SOURCE = ""
_VERSION = regex(r"v?(?P<version>\d{1,4}(?:\.\d{1,5}){1,3}(?:[.+-]?[A-Za-z][\w.+]{0,40})?)")
_ALIASES: Mapping[str, str] = {
    "pytorch": "torch",
    **dict.fromkeys(("flash attention", "flash-attention", "flashattention", "flash attn", "fa2",
                     "flash attention 2", "flash-attention-2", "flashattention-2"), "flash-attn"),
    **dict.fromkeys(("huggingface transformers", "hf transformers", "hugging face transformers",
                     "transformers (huggingface)"), "transformers"),
    "triton-lang": "triton",
    "openai triton": "triton",
    "vllm-openai": "vllm",
}  # fmt: skip
DISTRIBUTION = regex(
    r"(?P<name>Ubuntu|Debian(?: GNU/Linux)?|Fedora|CentOS(?: Linux| Stream)?|Rocky(?: Linux)?"
    r"|AlmaLinux"
    r"|Alma Linux|Arch(?: Linux)?|openSUSE(?: Leap| Tumbleweed)?|SLES|Amazon Linux|Red Hat"
    r"(?: Enterprise Linux)?"
    r"|RHEL|Oracle Linux|Linux Mint|Mint|Pop!_?OS|NixOS|Gentoo(?: Linux)?|Kali(?: Linux)?"
    r"|CachyOS|Manjaro)"
    r"(?:[ -](?P<release>\d{1,2}(?:\.\d{1,2}){0,2}))?(?P<lts> LTS)?(?![\w.])",
    re.IGNORECASE,
)
WINDOWS = regex(
    r"(?:Microsoft )?Windows(?: Server)?(?: (?P<release>\d{1,4}))?(?![\w.-])", re.IGNORECASE
)
WSL = regex(r"\bWSL ?(?P<version>[12])?(?![\w-])|Windows Subsystem for Linux", re.IGNORECASE)
_DRIVER = regex(r"(?<![\w.])v?(?P<version>[2-9]\d{2}(?:\.\d{1,3}){0,2})(?![\w.])")
_CUDA = regex(r"(?<![\w.])v?(?P<version>\d{1,2}\.\d{1,2})(?:\.\d{1,4})?(?![\w.])")
_CUDA_MAJOR = regex(r"(?<![\w.])(?P<version>1[0-5])(?![\w.])")
_TAG = regex(r"(?<![\w])cu(?P<tag>\d{3})(?!\w)")
CAPABILITY = regex(
    r"(?:compute[ _]capability|compute cap|CC|SM|sm_|sm)\s?[:=(]?\s?(?P<value>\d{1,2}\.\d"
    r"|\d{2,3}a?)(?![\w.])",
    re.IGNORECASE,
)
_BARE_CAPABILITY = regex(r"\(?\s*(?:sm_?)?(?P<value>\d{1,2}\.\d|\d{2,3})a?\s*\)?", re.IGNORECASE)
_PYTHON = regex(
    r"(?:CPython |Python ?|py)?v?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w])", re.IGNORECASE
)
GLIBC = regex(r"(?P<version>2\.\d{1,2})(?![\w.])")
_COMPILER = regex(r"(?P<version>\d{1,2}(?:\.\d{1,2}){0,2})(?![\w.])")
_MEMORY = regex(r"(?<![\w.])(?P<size>\d{1,6}(?:\.\d)?) ?(?P<unit>G|M)i?B", re.IGNORECASE)
_MACHINES = {
    "x86_64": "x86_64",
    "amd64": "x86_64",
    "x64": "x86_64",
    "aarch64": "aarch64",
    "arm64": "aarch64",
}
MACHINE = regex(r"\b(?P<machine>x86_64|amd64|x64|aarch64|arm64)\b", re.IGNORECASE)
_MODEL = regex(r"[\"'`]?(?P<name>[A-Za-z][\w.-]{1,60}/[\w.-]{2,100}|[A-Za-z][\w.]*-?[\w.-]{2,80})")
_NO_MODELS = regex(
    r"(?:float|bfloat|torch|cuda|nvidia|rtx|gtx|tesla|geforce|none|true|false|sm_)", re.IGNORECASE
)


def os_items(text: str) -> Iterator[Item]:
    """Read the name of a system; one that names Windows and a Linux is about WSL."""
    linux, windows, wsl = DISTRIBUTION.search(text), WINDOWS.search(text), WSL.search(text)
    if wsl:
        yield "wsl.version", int(wsl["version"] or 2), CERTAIN
    elif linux and windows:
        yield "wsl.version", 2, GUESSED
    if linux:
        name = linux["name"] + (f" {linux['release']}" if linux["release"] else "")
        yield "os.distribution", name, CERTAIN
    elif windows and not wsl:
        yield "os.system", "Windows", CERTAIN
    elif re.match(r"\s*(?:GNU/)?Linux\b", text, re.IGNORECASE):
        yield "os.system", "Linux", CERTAIN
    machine = MACHINE.search(text)
    if machine:
        word = _MACHINES[machine["machine"].lower()]
        is_windows = windows and not linux and not wsl
        platform = (
            {"x86_64": "win_amd64", "aarch64": "win_arm64"}[word] if is_windows else f"linux_{word}"
        )
        yield "os.platform", platform, CERTAIN


def _certain(facts: Iterable[Fact]) -> Iterator[Item]:
    return ((fact.path, fact.value, CERTAIN) for fact in facts)


def system_items(text: str) -> Iterator[Item]:
    """Read what stands behind the label `OS`, as `collect_env` has it too."""
    platform = list(_certain(state_platform(text, _SOURCE)))
    if platform:
        yield from platform
        return
    named = list(_certain(state_os(text, _SOURCE)))
    yield from named or os_items(text)
    if not WSL.search(text) and DISTRIBUTION.search(text) and WINDOWS.search(text):
        yield "wsl.version", 2, GUESSED


def gpu_items(text: str) -> Iterator[Item]:
    """Read what a label says to be a GPU: its name, how many, its compute capability."""
    mentions = list(find_gpus(text, labelled=True))
    names = {mention.name.lower() for mention in mentions}
    if mentions:
        yield "gpu.name", mentions[0].name, CERTAIN
    number = mentions[0].number if len(names) == 1 else None
    if number is None and not mentions:
        number = find_count(text)
    if number:
        yield "gpu.count", number, CERTAIN
    yield from capability_items(text)


def capability_items(text: str) -> Iterator[Item]:
    """Read `compute capability 8.6`, `(sm_86)`, `CC 8.6`."""
    match = CAPABILITY.search(text)
    value = versions.capability(match["value"].rstrip("a")) if match else None
    if value is not None:
        yield "gpu.compute_capability", str(value), CERTAIN


def bare_capability_items(text: str) -> Iterator[Item]:
    """Read what stands behind the label `compute capability`."""
    match = _BARE_CAPABILITY.match(text)
    value = versions.capability(match["value"]) if match else None
    if value is None and (pair := re.match(r"\(?\s*(\d{1,2}),\s?(\d)\s*\)?", text)):
        value = versions.Capability(int(pair[1]), int(pair[2]))
    if value is not None:
        yield "gpu.compute_capability", str(value), CERTAIN


def driver_items(text: str) -> Iterator[Item]:
    """Read a driver's version; a number that small is the CUDA that it supports."""
    match = _DRIVER.search(text)
    cuda = None if match else _CUDA.match(text)
    if match:
        yield "driver.version", match["version"], CERTAIN
    elif cuda:
        yield "driver.cuda", cuda["version"], CERTAIN


def cuda_items(text: str) -> Iterator[Item]:
    """Read a CUDA version that might be the toolkit's, torch's or the driver's."""
    match = _CUDA.search(text)
    if match is None or versions.major(match["version"]) not in range(8, 16):
        return
    if re.search(r"nvidia-smi|driver", text, re.IGNORECASE):
        yield "driver.cuda", match["version"], CERTAIN
    elif re.search(r"torch", text, re.IGNORECASE):
        yield "torch.cuda", match["version"], CERTAIN
    elif re.search(r"nvcc|toolkit|/usr/local/cuda", text, re.IGNORECASE):
        yield "toolkit.version", match["version"], CERTAIN
    else:
        yield "toolkit.version", match["version"], GUESSED


def _tagged_cuda(text: str) -> str | None:
    """Return the CUDA of a wheel's tag: 12.1 for `cu121`."""
    tag = _TAG.search(text)
    return versions.cuda_of_tag(f"cu{tag['tag']}") if tag else None


def cuda_reader(path: str) -> Callable[[str], Iterator[Item]]:
    """Make a reader of a CUDA version (`12.4`, `12`, `cu124`) for the fact at `path`."""

    def read(text: str) -> Iterator[Item]:
        match = _CUDA.search(text) or _CUDA_MAJOR.match(text)
        cuda = match["version"] if match else _tagged_cuda(text)
        if cuda and versions.major(cuda) in range(8, 16):
            yield path, cuda, CERTAIN

    return read


def python_items(text: str) -> Iterator[Item]:
    """Read a version of Python."""
    match = _PYTHON.match(text)
    if match:
        yield "python.version", match["version"], CERTAIN


def torch_items(text: str) -> Iterator[Item]:
    """Read `2.4.0+cu121`, `2.4.0 (CUDA 12.1)`, `nightly cu128`."""
    match = _VERSION.match(text)
    if match:
        yield "torch.version", match["version"], CERTAIN
    named = re.search(r"CUDA ?(\d{1,2}\.\d)", text, re.IGNORECASE)
    cuda = named[1] if named else _tagged_cuda(text)
    if cuda:
        yield "torch.cuda", cuda, CERTAIN


def package_items(name: str, text: str) -> Iterator[Item]:
    """Read the version of a package that is watched; nothing for others."""
    match = _VERSION.match(text)
    for fact in state_package(name, match["version"], _SOURCE) if match else ():
        yield fact.path, fact.value, CERTAIN


def plain_reader(path: str, pattern: re.Pattern[str]) -> Callable[[str], Iterator[Item]]:
    """Make a reader that takes the group `version` of a pattern."""

    def read(text: str) -> Iterator[Item]:
        match = pattern.search(text)
        if match:
            yield path, match["version"], CERTAIN

    return read


def compiler_items(text: str) -> Iterator[Item]:
    """Read the version of gcc; the kernel's own compiler, `gcc version 12.3.0`, is another."""
    bare = _COMPILER.match(text)
    if bare:
        yield "os.compiler", f"gcc {bare['version']}", CERTAIN
        yield "os.compiler_version", bare["version"], CERTAIN
    elif not text.startswith("gcc version"):
        yield from _certain(state_gcc(text, _SOURCE))


def memory_items(text: str) -> Iterator[Item]:
    """Read the memory of one GPU."""
    match = _MEMORY.search(text)
    if match:
        scale = 1024 if match["unit"].upper() == "G" else 1
        yield "gpu.memory_mib", round(float(match["size"]) * scale), CERTAIN


def model_items(text: str) -> Iterator[Item]:
    """Read the name of a model: it holds a slash or a number."""
    match = _MODEL.match(text)
    name = match["name"].rstrip(".") if match else ""
    if name and re.search(r"[\d/]", name) and not _NO_MODELS.match(name):
        yield "model.name", name, CERTAIN


def value_reader(path: str) -> Callable[[str], Iterator[Item]]:
    """Make a reader of the first word as the kind of the fact at `path`."""

    def read(text: str) -> Iterator[Item]:
        try:
            yield path, read_value(path, text.split(" ", maxsplit=1)[0]), CERTAIN
        except (ValueError, OverflowError):
            return

    return read


def package_name(label: str) -> str | None:
    """Return the distribution that a label means, None where it means none that is watched."""
    plain = label.removesuffix(" version").removesuffix(" ver").strip()
    name = _ALIASES.get(plain, normalised(plain))
    return name if name in PATHS else None
