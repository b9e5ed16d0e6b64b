"""Versions and GPUs that a sentence mentions in passing. Pure.

Sentences also say what something needs, what was fixed when and what should be tried, so a mention
behind such words is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from flashdoctor.logs.gpu_names import find_gpus
from flashdoctor.logs.items import package_name
from flashdoctor.logs.parsers._packages import state_package
from flashdoctor.model import versions
from flashdoctor.model.regex import regex

_NAMES = (
    r"pytorch|torch|flash[-_ ]?attn(?:ention)?|flash[-_ ]attention|flashattention|vllm(?:-openai)?"
    r"|transformers|triton|xformers|flashinfer|bitsandbytes|accelerate|autoawq|auto-gptq|gptqmodel"
    r"|sgl[-_]kernel|deepspeed|numpy"
)
_PACKAGE = regex(
    rf"(?<![\w./-])(?P<name>{_NAMES})(?: version)?(?:\s?==\s?|\s?[:=@]\s?|\s+)v?"
    r"(?P<version>\d{1,4}\.\d{1,5}(?:\.\d{1,5}){0,2}(?:[.+-]?(?:post|rc|dev|a|b|cu|cpu|git)[\w.+]{0,40})?)"
    r"(?![\w.]*\w)",
    re.IGNORECASE,
)
_DRIVER = regex(
    r"\b(?:NVIDIA |GPU )?driver(?:s| version)?\s?[:=]?\s?v?(?P<version>[2-9]\d{2}"
    r"(?:\.\d{1,3}){0,2})(?![\w.]*\w)",
    re.IGNORECASE,
)
_TORCH_CUDA = regex(
    r"\btorch(?: is| was|,)?(?: a| an)?(?: build| built| compiled)?(?: for| with| against)? CUDA ?"
    r"(?P<version>1\d(?:\.\d)?)(?![\w.]*\w)",
    re.IGNORECASE,
)
_CUDA = regex(
    r"\bCUDA(?: toolkit| version)?\s?[:=]?\s?(?P<version>\d{1,2}\.\d)(?:\.\d)?(?![\w.]*\w)",
    re.IGNORECASE,
)
_PYTHON = regex(r"\bPython\s?(?P<version>3\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\w)", re.IGNORECASE)
_SYSTEM = regex(
    r"\b(?P<name>Ubuntu|Debian|CentOS|Fedora|Rocky Linux|RHEL)(?: Linux)?(?: "
    r"(?P<release>\d{1,2}(?:\.\d{1,2})?))?"
    r"(?![\w.]*\w)(?! \d)"
)
_WSL = regex(r"\b(?:in|on|under|inside|via|my|using) WSL ?2\b|\bWSL2\b", re.IGNORECASE)
_CAPABILITY = regex(r"\bcompute capability (?P<value>\d{1,2}\.\d)\b", re.IGNORECASE)
_DOCKER = regex(
    r"\b(?:in|inside|using|with|from) (?:a |the |an )?(?:\w{1,20} ){0,2}(?:docker|container)\b"
    r"|\bdocker (?:container|image)\b|^container\b",
    re.IGNORECASE,
)
_INSTEAD = regex(
    r"(?:\b(?:requires?|required|needs?|needed|install\w*|upgrad\w+|downgrad\w+|updat\w+"
    r"|mov\w+ to|switch\w*"
    r"|pin\w*|at least|minimum|min|newer|older|than|supports?|supported|supporting|compatib\w+"
    r"|built|compiled"
    r"|build|wheels?|expects?|until|since|before|after|from|not|no|below|above|prior|fixed|works?|worked"
    r"|working|try|tried|use|should|must|only|without|instead|if|for|was|until|latest|to|matrix"
    r"|up to|earlier"
    r"|also|both|different|another|other|old|new|previous|previously)\b|[<>~!]=?)(?:[^,;.]|\.(?=\S)){0,36}$",
    re.IGNORECASE,
)
_NEEDED = regex(
    r"\W{0,3}(?:needed|required|is (?:needed|required)|or (?:newer|higher|later|above|greater|up)"
    r"|\+"
    r"|support|wheels?\b|and (?:newer|later|above|up))",
    re.IGNORECASE,
)
_WINDOW = 60


def find_mentions(text: str) -> Iterator[tuple[str, Any]]:
    """Yield paths and values that a sentence mentions."""
    yield from _packages(text)
    for path, pattern in (
        ("driver.version", _DRIVER),
        ("torch.cuda", _TORCH_CUDA),
        ("python.version", _PYTHON),
        ("toolkit.version", _CUDA),
    ):
        match = pattern.search(text)
        if match and not _is_wished(text, match) and not _covered(path, text, match):
            yield path, match["version"]
    yield from _machine(text)


def _covered(path: str, text: str, match: re.Match[str]) -> bool:
    """Whether CUDA's version belongs to something that the same words say otherwise."""
    if path != "toolkit.version":
        return False
    torch = _TORCH_CUDA.search(text)
    return (
        bool(torch and torch.start() <= match.start() < torch.end()) or "nvidia-smi" in text.lower()
    )


def _packages(text: str) -> Iterator[tuple[str, Any]]:
    for match in _PACKAGE.finditer(text):
        name = package_name(match["name"].lower())
        if name and not _is_wished(text, match):
            for fact in state_package(name, match["version"], ""):
                yield fact.path, fact.value


def _machine(text: str) -> Iterator[tuple[str, Any]]:
    gpus = [gpu for gpu in find_gpus(text) if not _is_wished_before(text, gpu.start)]
    if len({gpu.name.lower() for gpu in gpus}) == 1:
        yield "gpu.name", gpus[0].name
        if gpus[0].number:
            yield "gpu.count", gpus[0].number
    capability = _CAPABILITY.search(text)
    if capability and not _is_wished(text, capability):
        value = versions.capability(capability["value"])
        yield "gpu.compute_capability", str(value)
    system = _SYSTEM.search(text)
    if system and not _is_wished(text, system):
        yield "os.distribution", " ".join(filter(None, system.groups()))
    if _WSL.search(text):
        yield "wsl.version", 2
    if _DOCKER.search(text):
        yield "container.kind", "docker"


def _is_wished(text: str, match: re.Match[str]) -> bool:
    """Whether the words around a mention say that it is asked for, or was, or is elsewhere."""
    return _is_wished_before(text, match.start()) or _NEEDED.match(text, match.end()) is not None


def _is_wished_before(text: str, start: int) -> bool:
    return _INSTEAD.search(text[max(0, start - _WINDOW) : start]) is not None
