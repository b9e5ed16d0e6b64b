"""Versions, compute capabilities and SASS targets as the field writes them, and their order."""

from __future__ import annotations

import re
from typing import NamedTuple

from flashdoctor.model.regex import regex

_NUMBER = regex(r"\d+")
_RELEASE = regex(r"\s*v?(\d+(?:\.\d+)*)")
_DEVELOPMENT = regex(r"\d[._-]?dev\d*$")
_CAPABILITY = regex(r"\s*(?:sm_|compute_)?(\d{1,2})\.(\d)\s*")
_TARGET = regex(r"\s*(?:sm_|compute_)?(\d{2,3})([af]?)\s*")


def release(text: str) -> tuple[int, ...] | None:
    """Return the release numbers at the start of a version, without trailing zeros.

    `2.8.0a0+git` gives (2, 8): vendor builds compare as the release they call themselves, which
    PEP 440 would place before it. None where the text does not start with a number.
    """
    match = _RELEASE.match(text)
    if match is None:
        return None
    numbers = [int(part) for part in match[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def post(text: str) -> int:
    """Return the number behind `.post`, 0 where there is none."""
    match = re.search(r"\.post(\d+)", text)
    return int(match[1]) if match else 0


def order(text: str) -> tuple[tuple[int, ...], int] | None:
    """Return what versions are ordered by: release numbers, then post release."""
    numbers = release(text)
    return None if numbers is None else (numbers, post(text))


def minor(text: str) -> str | None:
    """Return `X.Y` of a version, None where it has no two numbers."""
    match = re.match(r"\s*v?(\d+)\.(\d+)", text)
    return f"{int(match[1])}.{int(match[2])}" if match else None


def major(text: str) -> int | None:
    """Return the first number of a version."""
    match = _NUMBER.match(text.strip().lstrip("v"))
    return int(match[0]) if match else None


def local_tag(text: str) -> str | None:
    """Return what stands behind `+` in a version (`cu124`, `cpu`), None where nothing does."""
    _, plus, tag = text.partition("+")
    return tag.strip() or None if plus else None


def public(text: str) -> str:
    """Return a version without its local tag."""
    return text.partition("+")[0].strip()


def is_development(text: str) -> bool:
    """Whether a version is one of PEP 440's development releases: `5.2.0.dev0`, a nightly."""
    return _DEVELOPMENT.search(public(text)) is not None


def cuda_of_tag(tag: str) -> str | None:
    """Return `12.4` for `cu124`, `13.0` for `cu130`, None for anything else."""
    match = re.fullmatch(r"cu(\d{2})(\d)", tag)
    return f"{int(match[1])}.{int(match[2])}" if match else None


class Capability(NamedTuple):
    """A compute capability such as 9.0; ordered."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @property
    def sm(self) -> str:
        """The name of its native target, `sm_90`."""
        return f"sm_{self.major}{self.minor}"


def capability(text: str) -> Capability | None:
    """Read `9.0`, `sm_90`, `90`, `compute_120`; None where it is none of these."""
    dotted = _CAPABILITY.fullmatch(text)
    if dotted:
        return Capability(int(dotted[1]), int(dotted[2]))
    match = _TARGET.fullmatch(text)
    return Capability(int(match[1][:-1]), int(match[1][-1])) if match else None


def sass_runs(target: str, on: Capability) -> bool:
    """Whether machine code built for `target` (`sm_86`, `sm_90a`, `sm_100f`) runs on `on`.

    Within one major a binary runs on the same and on later minors; `a` targets run on that very
    capability only and `f` targets within their family, here read as the same major. Source: CUDA
    C++ Programming Guide, "Binary Compatibility" and "Architecture-Specific Features".
    """
    built = capability(target)
    if built is None:
        return False
    if target.rstrip().endswith("a"):
        return built == on
    return built.major == on.major and built.minor <= on.minor


def ptx_runs(target: str, on: Capability) -> bool:
    """Whether PTX for `target` can be compiled by the driver for `on` (same or later capability).

    `a` and `f` PTX is as bound as the machine code is. Source: CUDA C++ Programming Guide.
    """
    built = capability(target)
    if built is None:
        return False
    if target.rstrip()[-1] in "af":
        return sass_runs(target, on)
    return built <= on
