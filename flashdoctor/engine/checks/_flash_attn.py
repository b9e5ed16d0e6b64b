"""What is known of the installed flash-attn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from flashdoctor.data import lookup
from flashdoctor.engine.checks._imports import imports_well
from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model import versions

Row: TypeAlias = Mapping[str, Any]

MODULES = r"flash_attn|flash_attn_2_cuda"
"""The modules of flash-attn 2 among those that are imported live."""

_BUILT_WITH_CU126 = "2.8.0"  # from this flash-attn on, its wheels for torch 2.6 took torch cu126
_ON_UBUNTU_2204 = "2.8.0"  # the first release that was built there
_GLIBC_OF_2204_BUILDS = "2.32"


def installed_version(view: View) -> str:
    """Return the version of flash-attn; skips the rule where there is none or nobody knows."""
    version = view.need("flash_attn.version")
    if version is None:
        raise MissingFactError("flash_attn.version")
    return str(version)


def loads(view: View) -> bool:
    """Whether it is proven that the extension loads with this torch, by symbols or by import."""
    missing = view.get("flash_attn.missing_symbols")
    return imports_well(view, MODULES) or (missing.is_known and not missing.value)


def release_row(view: View) -> Row | None:
    """Return the matrix row of the installed release."""
    version = view.value("flash_attn.version")
    return lookup.flash_attn_release(view.tables, version) if version else None


def is_official_name(view: View) -> bool:
    """Whether the wheel is named as the project's own wheels of that release are."""
    row = release_row(view)
    if row is None or view.value("flash_attn.wheel.cxx11_abi") is None:
        return False
    tag = "cu" + view.value("flash_attn.wheel.cuda", "").replace(".", "")
    platform = view.value("flash_attn.wheel.platform")
    return tag in row["wheel_cuda"] and platform in row.get("wheel_platforms", ())


def is_stated(view: View, path: str) -> bool:
    """Whether a fact about the extension is known, and not only guessed from its release.

    What the matrix knows of a release's wheels says nothing of one that may have been compiled.
    """
    fact = view.get(path)
    guessed = fact.source.startswith("matrix") and not view.get("flash_attn.wheel.file").is_known
    return fact.is_known and not guessed


def new_abi(view: View) -> tuple[bool, str]:
    """Return whether the extension has the new C++ ABI, and the fact that says so.

    Symbols are proof, the tag in a wheel's name is a label. Skips the rule where neither is known.
    """
    by_symbols = view.get("flash_attn.abi_by_symbols")
    if by_symbols.is_known:
        return bool(by_symbols.value), by_symbols.path
    path = "flash_attn.wheel.cxx11_abi"
    tag = view.need(path)
    if tag is None:
        raise MissingFactError(path)
    return bool(tag) or is_mislabelled(view), path


def is_mislabelled(view: View) -> bool:
    """Whether a wheel with the tag cxx11abiFALSE is known to have the new ABI all the same.

    The wheels of flash-attn 2.8 for torch 2.6 were built against cu126, and ask for new symbols
    (Dao-AILab/flash-attention issues 1717 and 1783). For torch 2.7 and newer the same follows from
    setup.py, but nobody has shown it: there the tag is believed until the symbols are read.
    """
    if view.value("flash_attn.wheel.cxx11_abi") is not False:
        return False
    is_26 = versions.minor(view.value("flash_attn.wheel.torch", "")) == "2.6"
    return is_26 and at_least(view.value("flash_attn.version", ""), _BUILT_WITH_CU126)


def glibc_needed(row: Row) -> str | None:
    """Return the glibc that the official wheels of a release are known to ask for.

    Those that were built on Ubuntu 22.04 ask for GLIBC_2.32 (runs-on in each tag's workflow;
    Dao-AILab/flash-attention issues 1708 and 1762). The workflow of 2.8.0 still names 20.04, two
    months after its runners had gone. Of earlier wheels only the ceiling is known.
    """
    if "wheel_glibc_needed" in row:
        return str(row["wheel_glibc_needed"])
    return _GLIBC_OF_2204_BUILDS if at_least(row["version"], _ON_UBUNTU_2204) else None


def at_least(version: str, floor: str) -> bool:
    """Whether a version is `floor` or newer; one that cannot be read is not."""
    found, bound = versions.order(version), versions.order(floor)
    return found is not None and bound is not None and found >= bound


def is_windows(view: View) -> bool:
    """Whether the environment or the wheel is for Windows, where the C++11 ABI has no meaning."""
    platform = view.value("flash_attn.wheel.platform") or view.value("os.platform") or ""
    return view.value("os.system") == "Windows" or platform.startswith("win")
