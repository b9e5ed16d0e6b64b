"""Driver branches against architectures and CUDA releases, from the tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashdoctor.data import lookup
from flashdoctor.data.tables import Tables
from flashdoctor.engine.situation import uses_windows_driver
from flashdoctor.engine.view import View
from flashdoctor.model import versions
from flashdoctor.model.versions import Capability

_ARCHITECTURE_FLOOR = "architecture floor"

_COMPAT_BRANCHES: Mapping[str, frozenset[int]] = {
    "12.0": frozenset({450, 470, 510, 515, 525}),
    "12.2": frozenset({450, 470, 525}),
    "12.4": frozenset({470, 525, 535}),
    "12.6": frozenset({470, 535, 550}),
    "12.8": frozenset({470, 535, 550, 560, 565}),
    "12.9": frozenset({535, 550, 560, 565, 570}),
    "13.0": frozenset({535, 550, 565, 570, 575}),
    "13.1": frozenset({535, 550, 570, 575, 580}),
}
"""By the first CUDA that it holds for, in order: the driver branches below its own that images of
it take with their compat libcuda (NVIDIA_REQUIRE_CUDA of nvidia/cuda 12.1.0 to 13.1.1)."""


def branch_rows(tables: Tables) -> list[dict[str, Any]]:
    """Return the rows of all driver branches, the oldest first."""
    rows: list[dict[str, Any]] = list(tables.compat("driver_cuda")["driver_branch"])
    return sorted(rows, key=lambda row: int(row["branch"]))


def first_branch_with(tables: Tables, cuda: str) -> int | None:
    """Return the first driver branch that supports this CUDA natively, None where none does."""
    wanted = versions.order(cuda)
    for row in branch_rows(tables):
        own = versions.order(row["nvidia_smi_cuda_version"])
        if wanted and own and own >= wanted:
            return int(row["branch"])
    return None


def next_branch(tables: Tables, branch: int) -> int | None:
    """Return the branch that followed. On Windows a branch spans several numbers (580 to 582)."""
    later = (int(row["branch"]) for row in branch_rows(tables) if row["branch"] > branch)
    return next(later, None)


def architecture_floor(tables: Tables, capability: Capability) -> int | None:
    """Return the first branch that can drive an architecture at all.

    That is the one whose CUDA was the first to know it. The branch that first lists a product by
    name is later for every card that was renamed or added, so it is no floor.
    """
    stated = [row for row in _gpus(tables, capability) if _is_floor(row)]
    if stated:
        return min(int(row["min_driver_branch"]) for row in stated)
    row = lookup.arch(tables, capability)
    first = row.get("first_cuda") if row else None
    oldest = branch_rows(tables)[0]["nvidia_smi_cuda_version"]
    # What is older than the oldest branch in the tables was known to branches before it.
    return first_branch_with(tables, first) if first and not is_below(first, oldest) else None


def listed_floor(tables: Tables, capability: Capability) -> int | None:
    """Return the first branch that lists any GPU of an architecture by name."""
    listed = (row.get("min_driver_branch") for row in _gpus(tables, capability))
    return min((int(branch) for branch in listed if branch), default=None)


def _gpus(tables: Tables, capability: Capability) -> list[dict[str, Any]]:
    text = str(capability)
    return [row for row in tables.compat("gpus")["gpu"] if row["compute_capability"] == text]


def _is_floor(row: dict[str, Any]) -> bool:
    return row.get("min_driver_basis") == _ARCHITECTURE_FLOOR and "min_driver_branch" in row


def cuda_floor(view: View, cuda: str) -> str | None:
    """Return the lowest driver for any release of this CUDA's major, on this system."""
    major = versions.major(cuda)
    row = lookup.cuda_floor(view.tables, major) if major else None
    if row is None:
        return None
    return str(row["min_windows" if uses_windows_driver(view) else "min_linux"])


def kernel_driver(view: View) -> str | None:
    """Return the version that the kernel side runs; skips the rule where it is unknown."""
    stated = view.value("driver.module_version", view.value("driver.version"))
    return str(stated) if stated else view.need("driver.module_version")


def is_below(version: str, floor: str) -> bool:
    """Whether a driver version is lower than a floor; False where either cannot be read.

    A bare branch (`525`) is no release: its latest one is meant.
    """
    own, wanted = versions.order(version), versions.order(floor)
    if own is None or wanted is None:
        return False
    return own[0] < wanted[0][:1] if len(own[0]) == 1 else own < wanted


def takes_forward_compat(view: View, cuda: str) -> bool:
    """Whether NVIDIA supports a compat libcuda of this CUDA on this GPU and kernel driver.

    That is so on data-centre GPUs only, and on the branches that the CUDA images name.
    """
    if view.value("gpu.segment") != "datacenter":
        return False
    wanted = versions.order(cuda)
    known = [text for text in _COMPAT_BRANCHES if versions.major(text) == versions.major(cuda)]
    older = [text for text in known if wanted and (versions.order(text) or wanted) <= wanted]
    return bool(older) and view.value("driver.branch") in _COMPAT_BRANCHES[older[-1]]


def is_of_lower_major(own: str, wanted: str) -> bool:
    """Whether a driver's highest CUDA is of a lower major than a build's; False where unknown.

    Within a major any driver of it runs the build, so this alone tells without a driver's version.
    """
    pair = versions.release(own), versions.release(wanted)
    return pair[0] is not None and pair[1] is not None and pair[0][0] < pair[1][0]
