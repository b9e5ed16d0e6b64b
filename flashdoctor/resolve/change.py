"""What may move to mend an installation: every choice, the least change first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

from flashdoctor.data import lookup
from flashdoctor.engine.torch_wheels import is_index_wheel
from flashdoctor.model import versions
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.wants import PATHS, Want

Torch: TypeAlias = Literal["stays", "variant", "free"]

FLASH_ATTNS = ("flash-attn", "fa3", "fa4")
_HARDEST = ("vllm", "transformers", "fa4", "fa3", "flash-attn")
"""Of two changes of the same size the better one moves what stands further behind here."""

_TRIED = 10


class Change(NamedTuple):
    """What may move: torch not at all, in its CUDA variant alone, or freely; these packages."""

    torch: Torch
    packages: frozenset[str]


def least_first(machine: Machine, wants: Iterable[str], broken: frozenset[str]) -> list[Change]:
    """Return the choices to be tried, the least change first and at last the greatest.

    `broken` names what has to be replaced in any case.
    """
    names = [name for name in wants if name in _HARDEST and is_installed(machine, name)]
    levels = _torch_levels(machine, is_broken="torch" in broken)
    found = [
        Change(level, frozenset(names_that_move))
        for level in levels
        for size in range(len(names) + 1)
        for names_that_move in combinations(names, size)
        if broken & set(names) <= set(names_that_move)
    ]
    found.sort(key=_cost)
    return found if len(found) <= _TRIED else [*found[: _TRIED - 1], found[-1]]


def is_installed(machine: Machine, name: str) -> bool:
    """Whether a package is known to be there."""
    return machine.installed[PATHS[name]].is_known


def is_outside_tables(machine: Machine, name: str) -> bool:
    """Whether the installed release of vLLM or transformers is one that no row tells of."""
    version = machine.installed.value(PATHS[name])
    if version is None:
        return False
    if name == "vllm":
        is_release = version.replace(".post", ".").replace(".", "").isdigit()
        return not is_release or lookup.vllm_torch_pin(machine.tables, version) is None
    return name == "transformers" and lookup.transformers_release(machine.tables, version) is None


def _torch_levels(machine: Machine, *, is_broken: bool) -> tuple[Torch, ...]:
    """Return how far torch may move: a build that no index has is replaced where it must be."""
    version = machine.installed.value("torch.version")
    if version is None:
        return ("free",)
    listed = is_index_wheel(version) and lookup.torch_release(machine.tables, version) is not None
    vllm_is_unknown = is_installed(machine, "vllm") and is_outside_tables(machine, "vllm")
    if vllm_is_unknown:
        return ("stays",)
    if listed:
        return ("stays", "variant", "free")
    return ("free",) if is_broken else ("stays",)


def _cost(change: Change) -> tuple[int, int, list[int]]:
    ranks = sorted(_HARDEST.index(name) for name in change.packages)
    size = len(change.packages) + (change.torch != "stays")
    return (size, ("stays", "variant", "free").index(change.torch), [-rank for rank in ranks])


def wanted_under(machine: Machine, names: Collection[str], change: Change) -> Iterator[Want]:
    """Yield what to search for: what may not move by its very release.

    A flash-attn that stays beside a torch that stays is left alone altogether, and transformers
    wherever it stays: the rules say whether it still fits, and the table holds no patch releases.
    """
    own = machine.installed
    if change.torch == "variant":
        yield Want("torch", f"=={versions.public(own.value('torch.version', ''))}")
    elif "torch" in names:
        yield Want("torch")
    for name in names:
        if name == "torch":
            continue
        if name in change.packages or not is_installed(machine, name):
            yield Want(name)
        elif name == "vllm" or (name in FLASH_ATTNS and change.torch != "stays"):
            yield Want(name, f"=={versions.public(own.value(PATHS[name]))}")
