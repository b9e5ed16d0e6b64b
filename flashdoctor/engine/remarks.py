"""One sentence on a matched line: its numbers beside those of this stack. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from flashdoctor.engine.checks._symbols import readable
from flashdoctor.engine.when import ordering_key
from flashdoctor.model.snapshot import Snapshot

_Remark: TypeAlias = Callable[[Snapshot, Snapshot], str | None]


def remark(line: Snapshot, facts: Snapshot) -> str:
    """Return what the facts of a line mean beside the facts of the whole paste, if anything."""
    return " ".join(sentence for sentence in _remarks(line, facts) if sentence)


def _remarks(line: Snapshot, facts: Snapshot) -> Iterator[str | None]:
    for make in _REMARKS:
        yield make(line, facts)


def _capability(line: Snapshot, facts: Snapshot) -> str | None:
    needed = line.value("log.capability_required")
    found = line.value("log.capability_found") or facts.value("gpu.compute_capability")
    keys = ordering_key("capability", needed), ordering_key("capability", found)
    if needed is None or found is None or None in keys:
        return None
    if keys[0] <= keys[1]:
        return (
            f"The message asks for compute capability {needed} or newer and this GPU has {found}:"
            " the build does not know this GPU."
        )
    return f"It needs compute capability {needed}, and this GPU has {found}."


def _cuda(line: Snapshot, facts: Snapshot) -> str | None:
    found, needed = line.value("log.cuda_found"), line.value("log.cuda_required")
    torch = facts.value("torch.cuda")
    if found is None or (needed is None and torch is None):
        return None
    if needed is not None:
        return f"It needs CUDA {needed} and found {found}."
    return f"The message names CUDA {found}; torch is built for {torch}."


def _memory(line: Snapshot, _facts: Snapshot) -> str | None:
    wanted, free = line.value("log.memory_wanted_gib"), line.value("log.memory_free_gib")
    if wanted is None or free is None:
        return None
    return f"{wanted:g} GiB were asked for, {free:g} GiB were free."


def _tokens(line: Snapshot, _facts: Snapshot) -> str | None:
    wanted, possible = line.value("log.tokens_wanted"), line.value("log.tokens_possible")
    if wanted is None or possible is None:
        return None
    return f"{wanted:,} tokens were asked for, {possible:,} fit."


def _version(line: Snapshot, _facts: Snapshot) -> str | None:
    needed, found = line.value("log.version_required"), line.value("log.version_found")
    if needed is None or found is None:
        return None
    package = line.value("log.package")
    return f"{package or 'It'} {'has to be' if package else 'needs'} {needed} and is {found}."


def _symbol(line: Snapshot, _facts: Snapshot) -> str | None:
    symbol = line.value("log.symbol")
    name = readable(symbol) if symbol else None
    if not symbol or name == symbol:
        return None
    owner = line.value("log.symbol_owner", "other")
    string = {"new": ", with the new std::string", "old": ", with the old std::string"}
    abi = string.get(line.value("log.symbol_abi", "none"), "")
    return f"The missing symbol is {name}{'' if owner == 'other' else f' of {owner}'}{abi}."


_REMARKS: tuple[_Remark, ...] = (_symbol, _capability, _cuda, _version, _memory, _tokens)
