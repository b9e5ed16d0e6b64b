"""Cases of torch itself: scaled_dot_product_attention and flex_attention. Pure.

What torch takes follows its sdp_utils.cpp; what flash refuses is asked for on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.model.smoke import Case
from flashdoctor.smoke.maker import JIT_S, Maker
from flashdoctor.smoke.stack import Stack

FUSED_BY_TORCH = ("torch-flash", "cudnn", "mem-efficient", "fa3", "fa4")

_BACKENDS = (
    ("flash", "torch-flash", "SDPA, flash only"),
    ("cudnn", "cudnn", "SDPA, cuDNN only"),
    ("mem-efficient", "mem-efficient", "SDPA, efficient only"),
    ("math", "math", "SDPA, math only"),
)
_NO_KERNEL = "sdpa-no-available-kernel"
_TOO_LARGE = 288


def sdpa(on: Stack) -> Iterator[Case]:
    """Yield SDPA: first what the table of gains compares, then other shapes, then refusals."""
    default, alone = _default(on), {row[0]: _alone(on, *row) for row in _BACKENDS}
    large = {"shape": on.large, "main": True}
    yield default("d128", "default", "SDPA, default", quick=True, **large)
    for backend, _, label in _BACKENDS:
        quick = backend in {"flash", "math"}
        yield alone[backend]("d128", backend, label, quick=quick, **large)
    yield from _shapes(on, default, "default", "SDPA, default")
    yield from _shapes(on, alone["flash"], "flash", "SDPA, flash only")
    for backend, _, label in _BACKENDS[1:3]:
        yield alone[backend]("backward", backend, f"{label}, backward", direction="backward")
    yield from _refusals(on)
    yield from _newer(on)


def expected_default(on: Stack) -> tuple[str, ...]:
    """Return what SDPA may choose by itself: any fused kernel, the one that it should first."""
    return tuple(dict.fromkeys((on.sdpa_default, *FUSED_BY_TORCH)))


def _default(on: Stack) -> Maker:
    shared = {"expected": expected_default(on), "proves": ("sdpa",)}
    return Maker(on=on, api="sdpa", prefix="sdpa-default", shared=shared)


def _alone(on: Stack, backend: str, family: str, _label: str) -> Maker:
    proves = () if family == "math" else ("sdpa",)
    shared = {"expected": (family,), "proves": proves, "refusal": _refused_by_gpu(on, backend)}
    return Maker(on=on, api="sdpa", prefix=f"sdpa-{backend}", shared=shared)


def _refused_by_gpu(on: Stack, backend: str) -> str:
    """Return the cause where torch is known not to run a backend here, else an empty text."""
    old = not on.reaches(8, 0)
    if backend == "cudnn" and (old or not on.torch_at_least(2, 5)):
        return _NO_KERNEL
    return _NO_KERNEL if backend == "flash" and (old or on.is_windows) else ""


def _shapes(on: Stack, make: Maker, backend: str, label: str) -> Iterator[Case]:
    yield make("d64", backend, f"{label}, head dim 64", shape=on.small(head_dim=64))
    yield make("d256", backend, f"{label}, head dim 256", shape=on.small(head_dim=256))
    yield make("fp16", backend, f"{label}, fp16", dtype="fp16")
    yield make("full", backend, f"{label}, not causal", causal=False)
    yield make("decode", backend, f"{label}, decode", shape=on.small(q_len=1), causal=False)
    yield make("backward", backend, f"{label}, backward", direction="backward")
    lacks = "" if on.torch_at_least(2, 5) else "this torch has no enable_gqa"
    yield make("gqa", backend, f"{label}, GQA", shape=on.small(kv_heads=4), lacks=lacks)


def _refusals(on: Stack) -> Iterator[Case]:
    """Yield what flash does not take: alone it refuses, by default something else runs."""
    for backend, label in (("default", "SDPA"), ("flash", "SDPA, flash only")):
        shared = {"expected": ("torch-flash",), "main": backend == "default"}
        make = Maker(on=on, api="sdpa", prefix=f"sdpa-{backend}", shared=shared)
        yield make("mask", backend, f"{label}, with a mask", mask=True, causal=False,
                   refusal="sdpa-attn-mask-blocks-flash")  # fmt: skip
        yield make("fp32", backend, f"{label}, fp32", dtype="fp32",
                   refusal="dtype-unsupported-fp32")  # fmt: skip
        yield make(f"d{_TOO_LARGE}", backend, f"{label}, head dim {_TOO_LARGE}",
                   shape=on.small(head_dim=_TOO_LARGE), refusal="head-dim-unsupported")  # fmt: skip


def _newer(on: Stack) -> Iterator[Case]:
    """Yield torch's own way to a newer FlashAttention, activate_flash_attention_impl."""
    for family in ("fa3", "fa4"):
        lacks = on.lacks_newer(family)
        if not lacks and not on.torch_at_least(2, 10):
            lacks = "this torch cannot activate another flash attention"
        shared = {"expected": (family,), "proves": (family,), "lacks": lacks,
                  "refusal": on.refuses_newer(family), "features": ("activate",)}  # fmt: skip
        make = Maker(on=on, api="sdpa", prefix=f"sdpa-{family}", shared=shared)
        yield make("", family, f"SDPA, {family.upper()} activated", limit_s=JIT_S,
                   on_request=family == "fa4")  # fmt: skip


def flex(on: Stack) -> Iterator[Case]:
    """Yield flex_attention, compiled by Inductor to a Triton kernel."""
    lacks = "" if on.torch_at_least(2, 5) else "this torch has no flex_attention"
    make = Maker(on=on, api="flex", prefix="flex")
    yield make("d128", "default", "flex_attention", expected=("flex", "triton"),
               shape=on.large, features=("jit",), limit_s=JIT_S, lacks=lacks,
               compiles=True, alone=on.has_room, main=True)  # fmt: skip
