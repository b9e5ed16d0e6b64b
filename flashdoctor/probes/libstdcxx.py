"""The C++ runtime of the system: the newest symbol version that its libstdc++ offers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.probes.library_search import find_libraries
from flashdoctor.probes.tree import outside, resolved

if TYPE_CHECKING:
    import mmap

PATHS = ("os.glibcxx",)

_SONAME = "libstdc++.so.6"


def read_libstdcxx(root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Read the highest GLIBCXX version of the system's libstdc++.

    LD_LIBRARY_PATH is left out: what stands there (a conda environment's, say) is not the system's.
    """
    apart = {key: value for key, value in environ.items() if key != "LD_LIBRARY_PATH"}
    found = find_libraries(root, apart, _SONAME)
    if not found:
        return [absent("os.glibcxx", f"loader search path for {_SONAME}")]
    source = outside(root, found[0].path)
    named = parse_file_name(resolved(found[0].path).name)
    return [known("os.glibcxx", named, source) if named else _look_inside(found[0].path, source)]


def _look_inside(path: Path, source: str) -> Fact:
    import mmap  # noqa: PLC0415 - the file's name says it as a rule

    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            version = parse_glibcxx(data)
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        return unknown("os.glibcxx", f"cannot be read: {error}", source)
    if version is None:
        return unknown("os.glibcxx", "it names no GLIBCXX version", source)
    return known("os.glibcxx", version, source)


def parse_file_name(name: str) -> str | None:
    """Return `3.4.30` for `libstdc++.so.6.0.30`; None for a name that does not say it.

    The two numbers have gone up together since GCC 3.4. Source: the libstdc++ manual, "ABI Policy
    and Guidelines".
    """
    match = re.fullmatch(r"libstdc\+\+\.so\.6\.0\.(\d{1,3})", name)
    return f"3.4.{match[1]}" if match else None


def parse_glibcxx(data: bytes | mmap.mmap) -> str | None:
    """Return the highest `3.4.N` among the GLIBCXX names in a library's bytes."""
    numbers = {int(part or b"0") for part in re.findall(rb"GLIBCXX_3\.4(?:\.(\d{1,3}))?\0", data)}
    return f"3.4.{max(numbers)}" if numbers else None
