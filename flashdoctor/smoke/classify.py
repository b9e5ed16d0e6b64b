"""Kernel names to families, refusals to causes, by matrices/kernels.toml. Pure.

A profile is a list of kernel names, longest time first. Names and messages come from programs that
we do not control: any text is taken, none is trusted, and only its first characters are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.data.tables import Tables
from flashdoctor.model.versions import Capability, capability

OTHER = "other"
MATH = "math"

_NAME_LENGTH = 4096
_LINE_LENGTH = 2048
_LINES = 4096
_KEPT_LENGTH = 300
_QUOTES = " '\""
_Pattern: TypeAlias = re.Pattern[str]
_MAP = re.compile(
    r"(?<![A-Za-z0-9_])([A-Z][A-Z0-9_]*)(?:: | is not valid[a-z .]{0,40}\.+ Reason: )\[([^\[\]]*)\]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel as its name tells it: whose it is, which part it plays, and in our words."""

    name: str
    family: str
    part: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a backend refused.

    `cause` is a label of the taxonomy. `backend` is the family (or vLLM's name of the backend) that
    refused, None where the message does not say. `general` marks a message that only says that
    something refused. `message` is the line it was read from.
    """

    cause: str
    text: str
    fix: str
    speaker: str
    message: str
    backend: str | None = None
    general: bool = False


class _Refusals(NamedTuple):
    blocks: tuple[tuple[_Pattern, Mapping[str, Any]], ...]
    rows: tuple[tuple[_Pattern, Mapping[str, Any]], ...]


def identify(tables: Tables, name: str) -> Kernel:
    """Return what is known of a kernel by its name; one that no row knows is an `other` helper."""
    wanted = name[:_NAME_LENGTH].strip()
    for pattern, row in tables.derived("kernel patterns", _kernel_rows):
        if pattern.search(wanted):
            return Kernel(name=name, family=row["family"], part=row["part"], what=row["what"])
    return Kernel(name=name, family=OTHER, part="helper", what="")


def classify(tables: Tables, name: str) -> str:
    """Return the family of one kernel, one of data.kernels.FAMILIES."""
    return identify(tables, name).family


def attention_kernels(tables: Tables, names: Iterable[str]) -> tuple[Kernel, ...]:
    """Return the kernels of a profile that take part in its attention, each name once.

    Where none of them is a fused kernel these are the matrix products and softmaxes, if both are
    there; a profile with only one of the two holds no attention that could be told.
    """
    kernels = [identify(tables, name) for name in dict.fromkeys(names)]
    fused = tuple(kernel for kernel in kernels if kernel.part in ("attention", "companion"))
    if fused:
        return fused
    parts = tuple(kernel for kernel in kernels if kernel.part in ("gemm", "softmax"))
    return parts if len({kernel.part for kernel in parts}) > 1 else ()


def attention_family(tables: Tables, names: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Return the family of a whole profile, and the names of its attention kernels.

    The first attention kernel of a known family decides, then a companion of one (its main kernel
    may be missing from the profile), then attention of an unknown one. `math` is a matrix product
    and a softmax without any fused kernel, `other` is everything else.
    """
    kernels = attention_kernels(tables, names)
    return _decide(kernels), tuple(kernel.name for kernel in kernels)


def fused_families(tables: Tables, names: Iterable[str]) -> tuple[str, ...]:
    """Return every family with a fused attention kernel in a profile, first seen first."""
    kernels = attention_kernels(tables, names)
    return tuple(dict.fromkeys(kernel.family for kernel in kernels if kernel.part == "attention"))


def _decide(kernels: tuple[Kernel, ...]) -> str:
    if kernels and kernels[0].family == MATH:
        return MATH
    known = [kernel for kernel in kernels if kernel.family != OTHER]
    main = [kernel for kernel in known if kernel.part == "attention"] or known
    return main[0].family if main else OTHER


def reasons(
    tables: Tables, messages: Iterable[str], *, gpu: Capability | None = None
) -> tuple[Reason, ...]:
    """Return the causes that messages give, in their order, those that only sum up last.

    Messages are warnings, errors and log lines; each line is read alone, but a line such as "Flash
    attention kernel not used because:" says which backend the next ones speak of. That a backend
    was switched off is no cause. `gpu` tells apart sentences that mean different things on old and
    new GPUs.
    """
    refusals = tables.derived("refusal patterns", _refusal_rows)
    found: dict[tuple[str, ...], Reason] = {}
    block: Mapping[str, Any] = {}
    for line in _lines(messages):
        block = _row_of(line, refusals.blocks, None) or block
        for text, backend in _units(line):
            row = _row_of(text, refusals.rows, gpu)
            if row is not None:
                reason = _reason(row, text, backend or _refused(row, block))
                item = text if backend else ""
                found.setdefault((reason.text, reason.backend or "", item), reason)
    return tuple(sorted(found.values(), key=lambda reason: reason.general))


def _lines(messages: Iterable[str]) -> Iterator[str]:
    lines = (line for message in messages for line in message.splitlines())
    for line in islice(lines, _LINES):
        yield line[:_LINE_LENGTH]


def _units(line: str) -> Iterator[tuple[str, str | None]]:
    """Yield a line, and each `BACKEND: reason` of the map of rejections that vLLM puts in one."""
    yield line, None
    if "Reason" in line:
        for match in _MAP.finditer(line):
            for item in match[2].split(", "):
                yield f"{match[1]}: {item.strip(_QUOTES)}", match[1]


def _row_of(
    text: str, rows: tuple[tuple[_Pattern, Mapping[str, Any]], ...], gpu: Capability | None
) -> Mapping[str, Any] | None:
    return next((row for pattern, row in rows if _holds(row, gpu) and pattern.search(text)), None)


def _holds(row: Mapping[str, Any], gpu: Capability | None) -> bool:
    least = capability(row.get("from_capability", ""))
    return least is None or (gpu is not None and gpu >= least)


def _refused(row: Mapping[str, Any], block: Mapping[str, Any]) -> str | None:
    """Return the backend that refused: the row's own, or that of the block it stands in."""
    own: str | None = row.get("backend")
    if own or row.get("general") or row["speaker"] != block.get("speaker"):
        return own
    backend: str = block["backend"]
    return backend


def _reason(row: Mapping[str, Any], text: str, backend: str | None) -> Reason:
    return Reason(
        cause=row["cause"],
        text=row["text"],
        fix=row["fix"],
        speaker=row["speaker"],
        message=text.strip()[:_KEPT_LENGTH],
        backend=backend,
        general=row.get("general", False),
    )


def _kernel_rows(tables: Tables) -> tuple[tuple[_Pattern, Mapping[str, Any]], ...]:
    return _compiled(tables, "kernel")


def _refusal_rows(tables: Tables) -> _Refusals:
    return _Refusals(_compiled(tables, "block"), _compiled(tables, "reason"))


def _compiled(tables: Tables, section: str) -> tuple[tuple[_Pattern, Mapping[str, Any]], ...]:
    rows = tables.table("kernels")[section]
    return tuple((re.compile(row["pattern"]), row) for row in rows)
