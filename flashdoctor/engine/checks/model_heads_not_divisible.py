"""FD652: heads among ranks of tensor parallelism."""

from __future__ import annotations

from flashdoctor.engine.checks._quantization import stated
from flashdoctor.engine.view import Judgement, View, failed, passed

_HEADS, _RANKS = "model.heads", "launch.tensor_parallel_size"
_MOST = 64


def judge(view: View) -> Judgement:
    """Divide, and name the sizes that would do."""
    heads, ranks = view.need(_HEADS), stated(view, _RANKS)
    if not heads or not ranks or heads % ranks == 0:
        return passed(_HEADS, _RANKS)
    sizes = [str(size) for size in range(1, min(heads, _MOST) + 1) if heads % size == 0]
    return failed(
        _HEADS,
        _RANKS,
        detail=f"{heads} heads do not divide by {ranks}.",
        values={"advice.sizes": ", ".join(sizes)},
    )
