"""The shape of matrices/kernels.toml: what a kernel's name tells, and what a refusal means.

A kernel row gives every name that its pattern is found in one family; the first row in the order
of the file wins. `part` says what such a kernel proves:

    attention   it computes attention: the name proves its family
    companion   it runs beside such a kernel (combine, preparation) and shares its family
    gemm        a matrix product: attention only together with a softmax, and then it is math
    softmax     the other half of math
    helper      anything else

A block row finds the line with which a program begins to say why one backend was left out. A
reason row turns a refusal into a cause of the taxonomy; `speaker` is the program that prints it.
"""

from __future__ import annotations

from flashdoctor.data.provenance import META, sourced
from flashdoctor.data.shape import Field, Shape, may, need

FAMILIES = (
    "fa2", "torch-flash", "fa3", "fa4", "cudnn", "mem-efficient", "math", "flashinfer",
    "trtllm-gen", "triton", "flex", "vllm-paged", "xformers", "cpu", "other",
)  # fmt: skip
"""Every family a kernel can belong to; `other` is what no row knows, or what its name hides."""

PARTS = ("attention", "companion", "gemm", "softmax", "helper")

SPEAKERS = (
    "torch", "flash-attn", "transformers", "vllm", "flashinfer", "xformers", "triton", "cuda",
)  # fmt: skip

_PROOF = {
    "hits": Field("text", many=True, filled=True),
    "misses": Field("text", many=True, filled=True),
}

KERNELS = Shape(
    {
        "meta": META,
        "kernel": sourced(
            {
                "family": need("text", *FAMILIES),
                "part": need("text", *PARTS),
                "pattern": need("pattern"),
                "what": need("text"),
                **_PROOF,
            },
            "pattern",
        ),
        "block": sourced(
            {
                "speaker": need("text", *SPEAKERS),
                "pattern": need("pattern"),
                "backend": need("text", *FAMILIES),
                **_PROOF,
            },
            "pattern",
        ),
        "reason": sourced(
            {
                "cause": need("label"),
                "speaker": need("text", *SPEAKERS),
                "pattern": need("pattern"),
                "text": need("text"),
                "fix": need("text"),
                "backend": may("text", *FAMILIES),
                "general": may("bool"),
                "from_capability": may("capability"),
                **_PROOF,
            },
            ("cause", "pattern"),
        ),
    }
)
