"""The official flash-attn wheels, and whether one of them fits an environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from flashdoctor.engine.checks._flash_attn import at_least, glibc_needed
from flashdoctor.engine.checks._gpus import runs_on, visible_gpus
from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model import versions
from flashdoctor.model.versions import Capability

Row: TypeAlias = Mapping[str, Any]

_RELEASES = "https://github.com/Dao-AILab/flash-attention/releases/download"
_OLDEST_GPU = Capability(8, 0)


def must_compile(view: View) -> bool:
    """Whether flash-attn is asked for, is not there, and no official wheel of it fits.

    Skips the rule where it is asked for and nobody knows whether it or torch is there. A Python
    or platform that nobody stated is taken for one that has a wheel.
    """
    if not view.requires("flash-attn") or view.need("flash_attn.version") is not None:
        return False
    return view.need("torch.minor") is not None and best_release(view) is None


def best_release(view: View) -> Row | None:
    """Return the newest release with an official wheel for this torch, Python, platform and GPU."""
    rows = [
        row for row in view.tables.compat("flash_attn")["release"] if refusal(row, view) is None
    ]
    return max(rows, key=lambda row: versions.order(row["version"]) or ((), 0), default=None)


def wheel_advice(view: View) -> dict[str, str]:
    """Return what to install instead: `advice.wheel`, an address, or `advice.flash_attn`.

    The version is for pip, whose build of it finds the wheel by itself or compiles.
    """
    try:
        row = best_release(view)
    except MissingFactError:
        return {}
    name = wheel_name(row, view) if row else None
    if row and name:
        return {"advice.wheel": wheel_address(row, name)}
    return {"advice.flash_attn": (row or _newest_on_index(view))["version"]}


def _newest_on_index(view: View) -> Row:
    rows = [row for row in view.tables.compat("flash_attn")["release"] if row["on_index"]]
    return max(rows, key=lambda row: versions.order(row["version"]) or ((), 0))


def refusal(row: Row, view: View) -> str | None:
    """Return why none of a release's official wheels fits, None where one does.

    What nobody stated about the environment is no reason, except for torch: without it the rule
    is skipped.
    """
    return next(_refusals(row, view), None)


def _refusals(row: Row, view: View) -> Iterator[str]:
    torch, python, platform = view.need("torch.minor"), view.value("python.tag"), _platform(view)
    if torch not in row["wheel_torch_minors"]:
        yield f"no wheel for torch {torch}"
    if python is not None and python not in row["wheel_pythons"]:
        yield f"no wheel for {python}"
    if platform is not None and platform not in row.get("wheel_platforms", ()):
        yield f"no wheel for {platform}"
    if _cuda_tag(row, view) is None:
        yield f"no wheel for torch {torch} with CUDA {view.value('torch.cuda')}"
    if not _abi_is_built(row, view):
        yield f"no wheel for torch {torch} with the old C++ ABI"
    if not _fits_glibc(row, view):
        own = view.value("os.glibc")
        yield f"its wheels need glibc {glibc_needed(row)}, this system has {own}"
    if not _fits_gpus(row, view):
        targets = ", ".join(row.get("wheel_sass", ()))
        yield f"its wheels carry {targets}, nothing for this GPU"


def _platform(view: View) -> str | None:
    if view.value("os.system") == "Windows":
        return "win_amd64"
    platform: str | None = view.value("os.platform", view.value("flash_attn.wheel.platform"))
    return platform


def _cuda_tag(row: Row, view: View) -> str | None:
    """Return the release's newest CUDA tag for torch's CUDA major, None where it has none."""
    major = versions.major(view.value("torch.cuda") or "")
    fitting = [
        tag
        for tag in row["wheel_cuda"]
        if (major is None or tag.startswith(f"cu{major}"))
        and not any(_is_excluded(item, tag, view) for item in row.get("excluded", ()))
    ]
    return max(fitting, default=None)


def _is_excluded(item: Any, tag: str, view: View) -> bool:
    """Whether the release's build matrix leaves out this torch, Python and CUDA."""
    if not isinstance(item, Mapping) or not item:
        return False
    found = {
        "torch": view.value("torch.minor"),
        "python": versions.minor(view.value("python.version") or ""),
        "cuda": tag,
    }
    return all(found[key] in _spellings(key, str(wanted)) for key, wanted in item.items())


def _spellings(key: str, wanted: str) -> tuple[str | None, ...]:
    if key != "cuda":
        return (versions.minor(wanted),)
    digits = "".join(wanted.split(".")[:2])
    return (f"cu{digits}", f"cu{digits[:2]}")


def _abi_is_built(row: Row, view: View) -> bool:
    """Whether the wheels for this torch exist in its ABI: 2.8 has none for an old-ABI 2.6."""
    old = view.value("torch.cxx11_abi") is False and view.value("torch.minor") == "2.6"
    return not (old and at_least(row["version"], "2.8.0"))


def _fits_glibc(row: Row, view: View) -> bool:
    own, needed = view.value("os.glibc"), glibc_needed(row)
    return own is None or needed is None or at_least(own, needed)


def _fits_gpus(row: Row, view: View) -> bool:
    try:
        gpus = visible_gpus(view)
    except MissingFactError:
        return True
    return all(
        gpu.capability < _OLDEST_GPU or runs_on(row.get("wheel_sass", ()), (), gpu.capability)
        for gpu in gpus
    )


def wheel_address(row: Row, name: str) -> str:
    """Return where the project publishes this wheel of a release."""
    return f"{_RELEASES}/v{row['version']}/{name}"


def wheel_name(row: Row, view: View) -> str | None:
    """Return the file name of the release's wheel for an environment, None where it is not known.

    The release must be one that does not refuse it.
    """
    abi, python, platform = (
        view.value("torch.cxx11_abi"),
        view.value("python.tag"),
        _platform(view),
    )
    if abi is None or python is None or platform is None or not view.get("torch.cuda").is_known:
        return None
    return (
        f"flash_attn-{row['version']}+{_cuda_tag(row, view)}torch{view.value('torch.minor')}"
        f"cxx11abi{str(abi).upper()}-{python}-{python}-{platform}.whl"
    )
