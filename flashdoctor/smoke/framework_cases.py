"""Cases of the frameworks: transformers' attention implementations, vLLM's kernels and engine."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.model.smoke import Case
from flashdoctor.smoke.maker import JIT_S, Maker
from flashdoctor.smoke.package_cases import NEEDS_AMPERE
from flashdoctor.smoke.stack import Stack
from flashdoctor.smoke.torch_cases import expected_default

_IMPORT_S = 120.0
_PTX_S = 300.0
"""vLLM's FA2 has machine code for 8.x alone: elsewhere the driver compiles it, once for 92 s on an
H200."""
_ENGINE_S = 600.0
_BY_VLLM = ("fa2", "fa3", "fa4", "flashinfer", "trtllm-gen", "triton", "vllm-paged", "flex")

_ENGINE_BACKENDS = (
    ("triton", "TRITON_ATTN", ("triton", "vllm-paged")),
    ("flashinfer", "FLASHINFER", ("flashinfer", "trtllm-gen", "fa2", "fa3", "cudnn")),
    ("flex", "FLEX_ATTENTION", ("flex", "triton")),
)


def vllm_kernels(on: Stack) -> Iterator[Case]:
    """Yield vLLM's bundled FlashAttention copies: a varlen prefill and a paged decode each."""
    for family in ("fa2", "fa3", "fa4"):
        refusal = on.refuses_newer(family) or ("" if on.reaches(8, 0) else NEEDS_AMPERE)
        compiles = family == "fa4" or (family == "fa2" and on.reaches(9, 0))
        shared = {"expected": (family,), "proves": ("vllm",), "refusal": refusal,
                  "lacks": on.lacks_bundled(family), "compiles": compiles,
                  "limit_s": _PTX_S if family == "fa2" else JIT_S}  # fmt: skip
        make = Maker(on=on, api="vllm_flash_attn", prefix=f"vllm-{family}", shared=shared)
        label = f"vLLM's {family.upper()}"
        yield make("varlen", family, f"{label}, varlen", features=("varlen",), main=True)
        yield make("paged", family, f"{label}, paged decode", features=("paged",),
                   shape=on.small(q_len=1, kv_heads=4))  # fmt: skip


def vllm_engine(on: Stack) -> Iterator[Case]:
    """Yield a whole engine over a two-layer model with dummy weights; only by its name."""
    shared = {"proves": ("vllm",), "shape": on.small(kv_heads=4), "limit_s": _ENGINE_S,
              "lacks": on.lacks("vllm", "vLLM"), "on_request": True}  # fmt: skip
    make = Maker(on=on, api="vllm", prefix="vllm", shared=shared)
    first = "fa3" if on.is_hopper else "fa2"
    expected = tuple(dict.fromkeys((first, *_BY_VLLM)))
    yield make("", "", "vLLM engine", expected=expected, main=True)
    for name, backend, families in _ENGINE_BACKENDS:
        yield make(name, backend, f"vLLM engine, {backend}", expected=families)


def transformers(on: Stack) -> Iterator[Case]:
    """Yield a two-layer model by each attn_implementation.

    flash_attention_2 to _4 are asked for even where their package is not installed: what happens
    then is what the user wants to know.
    """
    shared = {"shape": on.small(kv_heads=4), "limit_s": _IMPORT_S, "main": True,
              "proves": ("transformers",),
              "lacks": on.lacks("transformers", "transformers")}  # fmt: skip
    make = Maker(on=on, api="transformers", prefix="transformers", shared=shared)
    label = "transformers, {}".format
    yield make("eager", "eager", label("eager"), expected=("math",), proves=())
    yield make("sdpa", "sdpa", label("sdpa"), expected=expected_default(on))
    yield make("fa2", "flash_attention_2", label("flash_attention_2"), expected=("fa2",),
               proves=("transformers", "flash-attn"),
               refusal="" if on.reaches(8, 0) else NEEDS_AMPERE)  # fmt: skip
    yield make("fa3", "flash_attention_3", label("flash_attention_3"), expected=("fa3",),
               proves=("transformers", "fa3"), refusal=on.refuses_newer("fa3"))  # fmt: skip
    yield make("fa4", "flash_attention_4", label("flash_attention_4"), expected=("fa4",),
               proves=("transformers", "fa4"), refusal=on.refuses_newer("fa4"),
               compiles=True, limit_s=JIT_S)  # fmt: skip
    yield make("flex", "flex_attention", label("flex_attention"), expected=("flex", "triton"),
               compiles=True, limit_s=JIT_S)  # fmt: skip
    yield from _hub(on, make)


def _hub(on: Stack, make: Maker) -> Iterator[Case]:
    """Yield kernels of the Hub, which may be fetched: only by their names."""
    lacks = on.lacks("transformers", "transformers") or on.lacks("kernels", "kernels")
    for name, family in (("fa2", "flash-attn2"), ("fa3", "vllm-flash-attn3")):
        implementation = f"kernels-community/{family}"
        yield make(f"hub-{name}", implementation, f"transformers, {implementation}",
                   expected=(name,), on_request=True, lacks=lacks,
                   refusal=on.refuses_newer(name))  # fmt: skip
