"""FD646: quantization_config against what the tensors' names, dtypes and shapes say."""

from __future__ import annotations

from collections.abc import Mapping

from flashdoctor.engine.checks._quantization import stated
from flashdoctor.engine.view import Judgement, View, failed, passed

_PACKING, _METHOD = "model.packing", "model.quantization"
_NONE = "none"
_BEFOREHAND = frozenset({"awq", "gptq", "mxfp4", "fbgemm_fp8"})
"""Methods that cannot start from plain tensors."""

_ALIKE: Mapping[str, frozenset[str]] = {
    "awq": frozenset({"awq"}),
    "gptq": frozenset({"gptq"}),
    "bitsandbytes": frozenset({"bitsandbytes"}),
    "mxfp4": frozenset({"mxfp4", "quark"}),
    "fp8": frozenset({
        "fp8", "fbgemm_fp8", "ptpc_fp8", "compressed-tensors", "modelopt", "quark",
        "deepseek_v4_fp8",
    }),
    "modelopt": frozenset({"modelopt", "compressed-tensors", "quark"}),
    "compressed-tensors": frozenset({"compressed-tensors", "modelopt", "quark"}),
}  # fmt: skip
"""Methods under which tensors may look like this."""


def judge(view: View) -> Judgement:
    """Name the first of method, bits and group size that differs."""
    packing, method = stated(view, _PACKING), view.need(_METHOD)
    if method is None:
        return passed(_PACKING, _METHOD)
    if packing == _NONE:
        if method in _BEFOREHAND:
            return failed(_PACKING, _METHOD, detail=f"It says {method}, the tensors are plain.")
        return passed(_PACKING, _METHOD)
    if method not in _ALIKE.get(packing, frozenset({method})):
        return failed(_PACKING, _METHOD, detail=f"It says {method}, the tensors are {packing}.")
    for what in ("bits", "group"):
        said, found = view.value(f"{_METHOD}_{what}"), view.value(f"{_PACKING}_{what}")
        if said is not None and found is not None and said != found:
            return failed(
                f"{_PACKING}_{what}",
                f"{_METHOD}_{what}",
                detail=f"It says {_NAMES[what]} {said}, the shapes of the tensors say {found}.",
            )
    return passed(_PACKING, _METHOD)


_NAMES: Mapping[str, str] = {"bits": "bits", "group": "group_size"}
