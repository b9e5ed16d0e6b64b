"""Texts that a log holds, read as the kind of the fact that they are. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.regex import regex
from flashdoctor.model.versions import capability, release

_PAIR = re.compile(r"\D{0,12}(\d{1,2})\D{1,12}(\d)\D{0,6}")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?")
_SPACED_NUMBER = re.compile(r"(?<=\d)[,_'\u202f\u00a0 ](?=\d{3}(?!\d))")
_EDGES = " \t\"'`,;:<>"
_MIB_PER_GIB = 1024
_MAX_TEXT = 300
_TRUE = frozenset({"true", "yes", "1", "on", "enabled"})
_FALSE = frozenset({"false", "no", "0", "off", "disabled"})


def read_value(path: str, text: str) -> Any:
    """Read a text as the kind of the fact at `path`; ValueError where it does not fit."""
    return _READERS[FACTS[path].kind](text[:_MAX_TEXT].strip(_EDGES))


def _version(text: str) -> str:
    version = text.strip("()[] vV").rstrip(".").partition(" ")[0]
    if release(version) is None:
        raise ValueError(f"{text!r} is not a version")
    return version


def _capability(text: str) -> str:
    """Read `8.6`, `86`, `sm_86`, `(8, 6)`, `8, 6`."""
    found = capability(text.strip("()[] "))
    if found is not None:
        return str(found)
    pair = _PAIR.fullmatch(text)
    if pair is None:
        raise ValueError(f"{text!r} is not a compute capability")
    return f"{int(pair[1])}.{int(pair[2])}"


def _number(text: str) -> float:
    match = _NUMBER.match(_SPACED_NUMBER.sub("", text))
    if match is None:
        raise ValueError(f"{text!r} is not a number")
    return float(match[0])


def _bool(text: str) -> bool:
    if text.lower() not in _TRUE | _FALSE:
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() in _TRUE


def _text(text: str) -> str:
    if not text:
        raise ValueError("nothing there")
    return text


def _listed(reader: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    def read(text: str) -> list[Any]:
        parts = re.split(r"[,;\s]+", text.strip("()[]{} "))
        return [reader(part.strip(_EDGES)) for part in parts if part.strip(_EDGES)]

    return read


_READERS: Mapping[str, Callable[[str], Any]] = {
    "version": _version,
    "capability": _capability,
    "bool": _bool,
    "int": lambda text: int(_number(text)),
    "float": _number,
    "word": _text,
    "text": _text,
    "path": _text,
    "versions": _listed(_version),
    "capabilities": _listed(_capability),
    "targets": _listed(_text),
    "texts": _listed(_text),
    "paths": _listed(_text),
}


def cuda_of_number(text: str) -> str:
    """Return the version in a number of the CUDA API: 12.2 for 12020; ValueError for others."""
    number = int(_number(text))
    if not 1000 <= number < 100_000:  # noqa: PLR2004  # 1000 * major + 10 * minor
        raise ValueError(f"{text!r} is not a CUDA version number")
    return f"{number // 1000}.{number % 1000 // 10}"


def gib_of_mib(text: str) -> float:
    """Return GiB for a number of MiB."""
    return round(_number(text) / _MIB_PER_GIB, 3)


def gib_of_bytes(text: str) -> float:
    """Return GiB for a number of bytes."""
    return round(_number(text) / _MIB_PER_GIB**3, 3)


_SIZE = r"(?P<size>\d[\d.]{0,12} ?(?:[KMGT]i?B|bytes))"
_ACCOUNT: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("total", regex(rf"{_SIZE} total capacity")),
    ("total", regex(rf"total capacit?y of {_SIZE}")),
    ("free", regex(rf"{_SIZE} (?:is )?free\b")),
    ("own", regex(rf"this process has {_SIZE} memory in use")),
    ("own", regex(rf"{_SIZE} reserved in total")),
    ("own", regex(rf"{_SIZE} already allocated")),
)
_MIB_PER_UNIT: Mapping[str, float] = {
    "b": 1 / _MIB_PER_GIB**2,
    "k": 1 / _MIB_PER_GIB,
    "m": 1,
    "g": _MIB_PER_GIB,
    "t": _MIB_PER_GIB**2,
}


def gib_of_size(text: str) -> float:
    """Return GiB for `27.93 GiB`, `565.00 MiB`, `20 bytes`; ValueError where there is no unit."""
    unit = text.lower().lstrip("0123456789.+- ")[:1]
    if unit not in _MIB_PER_UNIT:
        raise ValueError(f"{text!r} is not a size with its unit")
    return round(_number(text) * _MIB_PER_UNIT[unit] / _MIB_PER_GIB, 3)


def memory_account(text: str) -> dict[str, float]:
    """Return total, free, own and others in GiB, as torch counts them when memory runs out.

    `others` is what neither is free nor belongs to the process; ValueError where the message does
    not give all three.
    """
    found: dict[str, float] = {}
    for name, pattern in _ACCOUNT:
        match = pattern.search(text) if name not in found else None
        if match:
            found[name] = gib_of_size(match["size"])
    if len(found) < len({name for name, _ in _ACCOUNT}):
        raise ValueError(f"{text!r} does not tell all of the memory")
    found["others"] = round(found["total"] - found["free"] - found["own"], 3)
    return found
