"""Weights whose quantised blocks or groups do not divide among the GPUs, in vLLM's own words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flashdoctor.tune import spans

if TYPE_CHECKING:
    from flashdoctor.model.llm import Model, Quantization
    from flashdoctor.tune.defaults import Case

EXPERTS = "experts-not-in-blocks"
_DOWN = "down_proj"
_WHOLE_PARTS = ("mlp", "experts", "*")
_GROUPED = frozenset({"awq", "gptq"})


class Split(NamedTuple):
    """A size of a rank that must be a multiple of `unit`; `refusal` is the id of the words."""

    refusal: str
    size: int
    unit: int


def refused(case: Case) -> str | None:
    """Return what stops the start where quantised weights would be cut inside of a block."""
    settings = case.settings
    ranks = settings.tensor_parallel_size
    wide = case.model.moe is not None and settings.enable_expert_parallel
    for split in splits(case.model, ranks, experts_too=not wide):
        row = next(iter(_rows(case, split.refusal)), None)
        if row is not None and split.size % split.unit:
            return str(row["text"]).format(size=split.size, unit=split.unit)
    return None


def splits(model: Model, ranks: int, *, experts_too: bool = True) -> Iterator[Split]:
    """Yield what must divide when so many ranks share the quantised layers."""
    quantization = model.quantization
    if quantization is None or ranks == 1:
        return
    if quantization.method == "bitsandbytes":
        yield Split("bitsandbytes-not-divided", 1, 2)
        return
    if not _is_quantised(quantization):
        return
    rows = _block_rows(quantization)
    if model.moe is not None and rows and experts_too:
        yield Split(EXPERTS, model.moe.intermediate // ranks, rows)
    if model.moe is not None and not model.moe.dense:
        return
    if rows:
        yield Split("mlp-not-in-blocks", model.intermediate // ranks, rows)
    elif quantization.method in _GROUPED and (quantization.group_size or 0) > 0:
        yield Split("mlp-not-in-groups", model.intermediate // ranks, quantization.group_size or 1)


def _rows(case: Case, name: str) -> list[spans.Row]:
    rows = [row for row in case.rows("refusal") if row["id"] == name]
    return spans.rows_at(rows, case.version)


def _block_rows(quantization: Quantization) -> int:
    """Return the outputs of a block of the method fp8, 0 where it has none."""
    block = quantization.details.get("weight_block_size")
    if quantization.method != "fp8" or not isinstance(block, list) or not block:
        return 0
    return block[0] if isinstance(block[0], int) and block[0] > 0 else 0


def _is_quantised(quantization: Quantization) -> bool:
    """Whether the MLP is: a config may leave it, or its second half, as it is."""
    left = quantization.details.get("modules_to_not_convert") or ()
    names = [str(name) for name in left] if isinstance(left, (list, tuple)) else []
    return not any(_DOWN in name or name.endswith(_WHOLE_PARTS) for name in names)
