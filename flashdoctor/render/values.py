"""Facts in words: a label for a path, a short text for a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact
from flashdoctor.model.versions import capability
from flashdoctor.render.clean import clean

_HEADS: Mapping[str, str] = {
    "flash_attn": "flash-attn",
    "flash_attn_3": "flash-attn-3",
    "flash_attn_4": "flash-attn-4",
    "vllm": "vLLM",
    "gpu": "GPU",
    "os": "system",
    "nvml": "NVML",
    "wsl": "WSL",
    "toolkit": "CUDA toolkit",
    "python": "Python",
    "live": "live import:",
    "smoke": "attention",
    "env": "",
}
_WORDS: Mapping[str, str] = {
    "cuda": "CUDA",
    "cxx11": "C++11",
    "abi": "ABI",
    "sass": "machine code",
    "ptx": "PTX",
    "gpu": "GPU",
    "mig": "MIG",
    "ecc": "ECC",
    "nccl": "NCCL",
    "cudnn": "cuDNN",
    "cpu": "CPU",
    "glibcxx": "GLIBCXX",
    "arch": "architecture",
    "fa2": "FA2",
    "fa3": "FA3",
    "mib": "",
    "min": "lowest",
    "pci": "PCI",
    "uvm": "UVM",
    "shm": "shared memory",
}
_MIB_PER_GIB = 1024
_MOST_MIB = 2**60
_ITEMS = 8
_RECORDS = 3
_ABI_PATHS = ("cxx11_abi", "abi_by_symbols")


def label(path: str) -> str:
    """Return a short name for the fact at `path`: `flash-attn wheel C++11 ABI`."""
    head, _, rest = path.partition(".")
    if head == "env":
        return clean(rest.upper())
    words = [] if rest == "version" else rest.replace(".", " ").replace("_", " ").split()
    names = [_HEADS.get(head, head.replace("_", "-")), *(_WORDS.get(word, word) for word in words)]
    return clean(" ".join(dict.fromkeys(name for name in names if name)))


def value_text(path: str, value: Any, *, full: bool = False) -> str:
    """Return the value of the fact at `path` as a person would write it, units included.

    None is an absent fact. Long lists are cut unless `full`.
    """
    if value is None:
        return "not installed" if path.endswith(".version") else "none"
    if isinstance(value, bool):
        return _bool(path, value)
    if isinstance(value, list):
        return _list(value, full=full)
    if path.endswith("_mib") and isinstance(value, int | float):
        return memory(value)
    spec = FACTS.get(path)
    if spec is not None and spec.kind == "capability":
        return _capability(str(value))
    return _part(value)


def memory(mib: float) -> str:
    """Return an amount of memory given in MiB, in GiB from one GiB on."""
    if not abs(mib) < _MOST_MIB:  # not a memory, and perhaps no float
        return clean(f"{mib} MiB")
    return f"{mib:g} MiB" if mib < _MIB_PER_GIB else f"{mib / _MIB_PER_GIB:.1f} GiB"


def state_text(fact: Fact, *, full: bool = False) -> str:
    """Return a fact's value, or what is known about its not having one."""
    if fact.state == "unknown":
        return f"not known ({clean(fact.reason)})" if fact.reason else "not known"
    return value_text(fact.path, fact.value, full=full)


def _bool(path: str, value: bool) -> str:
    if path.endswith(_ABI_PATHS):
        return "new" if value else "old"
    return "yes" if value else "no"


def _capability(value: str) -> str:
    found = capability(value)
    return f"{found} ({found.sm})" if found else clean(value)


def _list(items: Sequence[Any], *, full: bool) -> str:
    if not items:
        return "empty"
    records = isinstance(items[0], dict)
    most = len(items) if full else (_RECORDS if records else _ITEMS)
    shown = ("; " if records else ", ").join(_item(item) for item in items[:most])
    left = len(items) - most
    return f"{shown} and {left} more" if left > 0 else shown


def _item(item: Any) -> str:
    if isinstance(item, dict):
        parts = (f"{key} {_part(part)}" for key, part in item.items() if part is not None)
        return clean(", ".join(parts))
    return _part(item)


def _part(value: Any) -> str:
    """Write a value inside a list; what is nested deeper than a fact ever is is only counted."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return f"{len(value)} items"
    return "..." if isinstance(value, dict) else clean(str(value))
