"""Lines that list things without labels: `Ubuntu 22.04, CUDA 12.4 / torch 2.4, RTX 4090`. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from flashdoctor.logs.gpu_names import find_gpus
from flashdoctor.logs.items import (
    CAPABILITY,
    CERTAIN,
    DISTRIBUTION,
    GLIBC,
    MACHINE,
    WINDOWS,
    WSL,
    Item,
    bare_capability_items,
    capability_items,
    compiler_items,
    cuda_items,
    cuda_reader,
    driver_items,
    os_items,
    package_items,
    package_name,
    plain_reader,
    python_items,
    torch_items,
)
from flashdoctor.model.regex import regex

_SPLIT = regex(
    r"\s*[,;|\u2022]\s*|\s+[/+\u2013\u2014-]\s+|(?<=[\w)])/(?=[A-Za-z])|\s+(?:and|with|on|using)\s+",
    re.IGNORECASE,
)
_PAIR = regex(
    r"(?P<label>[A-Za-z][A-Za-z0-9_. -]{0,30}?)(?: (?:version|ver\.?))?(?:\s?(?:==?|:|@)\s?|\s+"
    r"|-(?=\d))"
    r"(?P<value>v?\d[\w.+-]{0,60})"
)
_FILLER = regex(
    r"(?:\s|[()\[\]*]|\b(?:gpus?|cards?|x|single|one|two|four|eight|dual|quad|a|an|the|my|nvidia|vram"
    r"|memory|each|per|running|local|desktop|server|node|\d{1,3} ?g(?:i?b)?|\d)\b)*",
    re.IGNORECASE,
)
_SYSTEM_WORDS = regex(
    r"(?:\s|[()]|\b(?:lts|pro|home|enterprise|under|in|via|inside|64-bit|64bit|host|guest|running"
    r"|x86_64|amd64|aarch64|arm64|jammy|focal|noble|bookworm|linux|microsoft|server|\d{1,2})\b)*",
    re.IGNORECASE,
)
_DOCKER = regex(r"(?:in(?:side)? )?(?:a |the )?docker(?: container| image)?", re.IGNORECASE)
_BY_PAIR: Mapping[str, Callable[[str], Iterator[Item]]] = {
    "cuda": cuda_items, "cuda toolkit": cuda_reader("toolkit.version"),
    "nvcc": cuda_reader("toolkit.version"),
    "driver": driver_items, "nvidia driver": driver_items, "gpu driver": driver_items,
    "nvidia-driver": driver_items, "python": python_items, "gcc": compiler_items,
    "g++": compiler_items, "glibc": plain_reader("os.glibc", GLIBC), "torch": torch_items,
    "pytorch": torch_items,
    "compute capability": bare_capability_items, "cc": bare_capability_items,
}  # fmt: skip


def split_list(text: str) -> list[str]:
    """Split a line into what it lists: `Ubuntu 22.04, CUDA 12.4 / torch 2.4`."""
    return [
        part.strip(" .`*\"'") for part in _SPLIT.split(text, maxsplit=24) if part.strip(" .`*\"'")
    ]


def segment_items(text: str) -> list[Item]:
    """Read one part of a list; nothing where it says anything else besides."""
    for reader in (_pair, _gpu_segment, _system_segment):
        items = list(reader(text))
        if items:
            return items
    return []


def _pair(text: str) -> Iterator[Item]:
    pair = _PAIR.fullmatch(text)
    if pair is None:
        if capability := CAPABILITY.fullmatch(text.strip("() ")):
            yield from capability_items(capability[0])
        return
    label = pair["label"].strip().lower()
    name = package_name(label)
    if label in _BY_PAIR:
        yield from _BY_PAIR[label](pair["value"])
    elif name:
        yield from package_items(name, pair["value"])


def _gpu_segment(text: str) -> Iterator[Item]:
    rest, number, name = text, None, ""
    for mention in find_gpus(text):
        rest = rest.replace(text[mention.start : mention.end], " ")
        name, number = name or mention.name, number or mention.number
    rest = CAPABILITY.sub(" ", rest)
    if name and _FILLER.fullmatch(rest):
        yield "gpu.name", name, CERTAIN
        if number:
            yield "gpu.count", number, CERTAIN
        yield from capability_items(text)


def _system_segment(text: str) -> Iterator[Item]:
    rest = text
    for pattern in (WSL, DISTRIBUTION, WINDOWS):
        rest = pattern.sub(" ", rest)
    if (
        (rest != text and _SYSTEM_WORDS.fullmatch(rest))
        or MACHINE.fullmatch(text)
        or re.fullmatch(r"Linux (?:x86_64|aarch64|arm64)", text)
    ):
        yield from os_items(text)
    elif _DOCKER.fullmatch(text):
        yield "container.kind", "docker", CERTAIN
