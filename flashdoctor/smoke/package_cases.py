"""Cases of the packages beside torch: flash-attn 2, 3 and 4, xformers, FlashInfer. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.model.smoke import Case
from flashdoctor.smoke.maker import JIT_S, Maker
from flashdoctor.smoke.stack import Stack

NEEDS_AMPERE = "flash-attn-needs-ampere"
_TOO_LARGE = 288


def flash_attn(on: Stack) -> Iterator[Case]:
    """Yield flash-attn 2."""
    shared = {"expected": ("fa2",), "lacks": on.lacks("flash_attn", "flash-attn")}
    own = {"proves": ("flash-attn",), "refusal": "" if on.reaches(8, 0) else NEEDS_AMPERE}
    make = Maker(on=on, api="flash-attn", prefix="flash-attn", shared={**shared, **own})
    func = "flash_attn_func"
    yield make("d128", "default", func, shape=on.large, main=True, quick=True)
    yield make("d64", "default", f"{func}, head dim 64", shape=on.small(head_dim=64))
    yield make("d256", "default", f"{func}, head dim 256", shape=on.small(head_dim=256))
    yield make("fp16", "default", f"{func}, fp16", dtype="fp16")
    yield make("gqa", "default", f"{func}, GQA", shape=on.small(kv_heads=4))
    yield make("full", "default", f"{func}, not causal", causal=False)
    yield make("backward", "default", f"{func}, backward", direction="backward")
    yield make("varlen", "default", "flash_attn_varlen_func", features=("varlen",), main=True)
    yield make("kvcache", "default", "flash_attn_with_kvcache", main=True,
               shape=on.small(q_len=1), features=("kvcache", "paged", "split-kv"))  # fmt: skip
    refusing = Maker(on=on, api="flash-attn", prefix="flash-attn", shared=shared)
    yield refusing(
        "fp32", "default", f"{func}, fp32", dtype="fp32", refusal="dtype-unsupported-fp32"
    )
    yield refusing(f"d{_TOO_LARGE}", "default", f"{func}, head dim {_TOO_LARGE}",
                   shape=on.small(head_dim=_TOO_LARGE), refusal="head-dim-unsupported")  # fmt: skip


def flash_attn_3(on: Stack) -> Iterator[Case]:
    """Yield FlashAttention-3."""
    make = _newer(on, "fa3")
    func = "FA3 flash_attn_func"
    yield make("d128", "default", func, shape=on.large, main=True, quick=True)
    yield make("gqa", "default", f"{func}, GQA", shape=on.small(kv_heads=4))
    yield make("backward", "default", f"{func}, backward", direction="backward")
    yield make("varlen", "default", "FA3 flash_attn_varlen_func", features=("varlen",))
    yield make("kvcache", "default", "FA3 flash_attn_with_kvcache",
               shape=on.small(q_len=1), features=("kvcache", "paged", "split-kv"))  # fmt: skip


def flash_attn_4(on: Stack) -> Iterator[Case]:
    """Yield FlashAttention-4, which compiles each kernel for seconds when it is first called."""
    make = _newer(on, "fa4")
    func = "FA4 flash_attn_func"
    yield make("d128", "default", func, shape=on.large, main=True, limit_s=JIT_S,
               compiles=True, alone=on.has_room)  # fmt: skip
    yield make("varlen", "default", "FA4 flash_attn_varlen_func", features=("varlen",),
               on_request=True, limit_s=JIT_S)  # fmt: skip
    yield make("backward", "default", f"{func}, backward", direction="backward",
               on_request=True, limit_s=JIT_S)  # fmt: skip


def _newer(on: Stack, family: str) -> Maker:
    shared = {"expected": (family,), "proves": (family,), "lacks": on.lacks_newer(family),
              "refusal": on.refuses_newer(family)}  # fmt: skip
    return Maker(on=on, api=family, prefix=family, shared=shared)


def xformers(on: Stack) -> Iterator[Case]:
    """Yield xformers' memory_efficient_attention, by what it chooses and by two of its operators.

    Most of these kernels are others' by now: flash-attn's where that is installed, else torch's.
    """
    shared = {"lacks": on.lacks("xformers", "xformers")}
    make = Maker(on=on, api="xformers", prefix="xformers", shared=shared)
    without = on.lacks("flash_attn", "flash-attn")
    flash = ("torch-flash", "fa2") if without else ("fa2", "torch-flash")
    first = ("fa3",) if on.is_hopper and not on.lacks_newer("fa3") else flash[:1]
    first = first if on.reaches(8, 0) else ("mem-efficient",)
    families = (*first, *flash, "fa3", "mem-efficient", "xformers", "triton")
    yield make("d128", "memory_efficient_attention", "via xformers", main=True,
               expected=tuple(dict.fromkeys(families)))  # fmt: skip
    yield make("flash", "flash", "xformers, flash op", expected=flash,
               refusal="" if on.reaches(8, 0) else NEEDS_AMPERE)  # fmt: skip
    yield make("cutlass", "cutlass", "xformers, CUTLASS op",
               expected=("mem-efficient", "xformers"))  # fmt: skip


def flashinfer(on: Stack) -> Iterator[Case]:
    """Yield FlashInfer's prefill and decode, which may be built when they are first called."""
    shared = {"expected": ("flashinfer", "trtllm-gen", "fa2", "fa3", "cudnn"), "limit_s": JIT_S,
              "lacks": on.lacks("flashinfer", "FlashInfer"), "features": ("jit",),
              "compiles": True}  # fmt: skip
    make = Maker(on=on, api="flashinfer", prefix="flashinfer", shared=shared)
    yield make("prefill", "prefill", "FlashInfer, prefill", main=True)
    yield make("decode", "decode", "FlashInfer, decode", shape=on.small(q_len=1), causal=False)
