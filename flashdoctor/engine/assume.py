"""Read `--assume KEY=VALUE` into facts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from flashdoctor.errors import UsageError
from flashdoctor.model import versions
from flashdoctor.model.catalog import FACTS, SHORT_NAMES, nearest
from flashdoctor.model.facts import Fact, absent, known
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.model.wheels import parse_wheel_name

SOURCE = "--assume"
ABSENT = frozenset({"absent", "none"})
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def read_assumptions(items: Iterable[str]) -> Snapshot:
    """Return the assumed facts; every mistake is named in one `UsageError`."""
    facts: dict[str, Fact] = {}
    mistakes: list[str] = []
    for item in items:
        try:
            facts.update((fact.path, fact) for fact in _read(item))
        except ValueError as error:
            mistakes.append(str(error))
    if mistakes:
        raise UsageError("--assume: " + "; ".join(mistakes), hint="keys: " + ", ".join(SHORT_NAMES))
    return Snapshot(facts)


def _read(item: str) -> Iterator[Fact]:
    key, equals, text = item.partition("=")
    key, text = key.strip(), text.strip()
    path = SHORT_NAMES.get(key, key)
    if not equals or not key or not text:
        raise ValueError(f"{item!r} is not KEY=VALUE")
    if path not in FACTS:
        close = nearest(key)
        raise ValueError(
            f"no fact is called {key!r}" + (f", did you mean {close!r}" if close else "")
        )
    if text.lower() in ABSENT:
        yield from _read_absence(path)
        return
    yield from _SPECIAL.get(key, _plain)(path, text)


def _read_absence(path: str) -> Iterator[Fact]:
    yield absent(path, SOURCE)
    if path == "gpu.name":
        yield absent("gpu.compute_capability", SOURCE)


def _plain(path: str, text: str) -> Iterator[Fact]:
    yield known(path, parse_value(path, text), SOURCE)


def _gib(_path: str, text: str) -> Iterator[Fact]:
    yield known("gpu.memory_mib", round(_number(text) * 1024), SOURCE)


def _flash_attn(_path: str, text: str) -> Iterator[Fact]:
    """Read a version, what a build wrote behind it included, or the name of a wheel."""
    wheel = parse_wheel_name(text)
    if wheel is None and text.lower().endswith(".whl"):
        raise ValueError(f"{text!r} is not the name of a flash-attn wheel")
    if wheel is None:
        yield from _plain("flash_attn.version", versions.public(text))
        yield from _local_version(text)
    elif wheel.name == "flash-attn":
        yield known("flash_attn.wheel.file", wheel.file, SOURCE)
        yield known("flash_attn.version", wheel.public_version, SOURCE)
    elif wheel.name in _OTHER_WHEELS:
        yield known(_OTHER_WHEELS[wheel.name], wheel.public_version, SOURCE)
    else:
        raise ValueError(f"{text!r} is not the name of a flash-attn wheel")


def _local_version(text: str) -> Iterator[Fact]:
    """Read `2.8.3+cu128torch2.8`, which says as much of a build as the name of its wheel does."""
    wheel = parse_wheel_name(f"flash_attn-{text}-py3-none-any.whl")
    if wheel is not None:
        for key in ("cuda", "torch", "cxx11_abi"):
            value = getattr(wheel, key)
            if value is not None:
                yield known(f"flash_attn.wheel.{key}", value, SOURCE)


def _cuda(path: str, text: str) -> Iterator[Fact]:
    if text.lower() == "cpu":
        yield absent(path, SOURCE)
    else:
        yield from _plain(path, versions.cuda_of_tag(text) or text)


def _platform(path: str, text: str) -> Iterator[Fact]:
    """Read a platform in the ways that wheels, uname and container images write it."""
    word = re.sub(r"[^a-z0-9]+", "_", text.lower())
    plain = next((name for pattern, name in _PLATFORMS if re.fullmatch(pattern, word)), text)
    yield known(path, plain, SOURCE)


_OTHER_WHEELS: Mapping[str, str] = {
    "flash-attn-3": "flash_attn_3.version",
    "flash-attn-4": "flash_attn_4.version",
}
_PLATFORMS = (
    (r"(linux_|manylinux\w*_)?(aarch64|arm64)(_linux)?", "linux_aarch64"),
    (r"(linux_|manylinux\w*_)?(x86_64|amd64)(_linux)?|linux", "linux_x86_64"),
    (r"(win|windows)(_?64|_amd64|_x86_64)?|win32", "win_amd64"),
)
_SPECIAL: Mapping[str, Callable[[str, str], Iterator[Fact]]] = {
    "gpu_memory_gib": _gib,
    "flash_attn": _flash_attn,
    "torch_cuda": _cuda,
    "platform": _platform,
}


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a number")
    return number


def parse_value(path: str, text: str) -> Any:
    """Read a text as the kind of the fact at `path`; ValueError where it does not fit."""
    kind = FACTS[path].kind
    reader = _READERS.get(kind)
    if reader is None:
        raise ValueError(f"{path} cannot be assumed: it holds {kind}")
    try:
        return reader(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _version(text: str) -> str:
    if versions.release(text) is None:
        raise ValueError(f"{text!r} is not a version")
    return text.lstrip("vV")


def _capability(text: str) -> str:
    found = versions.capability(text)
    if found is None:
        raise ValueError(f"{text!r} is not a compute capability such as 9.0")
    return str(found)


def _bool(text: str) -> bool:
    if text.lower() not in _TRUE | _FALSE:
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() in _TRUE


def _int(text: str) -> int:
    if not re.fullmatch(r"-?\d+", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _listed(reader: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    return lambda text: [reader(part.strip()) for part in text.split(",") if part.strip()]


_READERS: Mapping[str, Callable[[str], Any]] = {
    "version": _version,
    "capability": _capability,
    "bool": _bool,
    "int": _int,
    "float": _number,
    "word": str,
    "text": str,
    "path": str,
    "versions": _listed(_version),
    "capabilities": _listed(_capability),
    "targets": _listed(str),
    "texts": _listed(str),
    "paths": _listed(str),
}
