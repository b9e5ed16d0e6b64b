"""Kernel names short enough for a line: what tells one from another, without template arguments."""

from __future__ import annotations

from collections.abc import Mapping

from flashdoctor.model.regex import regex
from flashdoctor.render.clean import clean
from flashdoctor.render.layout import cells

_CUDNN = regex(r"cudnn_generated_\w*?((?:sdpa|fmha)_sm\d+\w*?_[fb]prop)")
_FLASH_CLASS = regex(r"(?:\w+::)*FlashAttn[A-Za-z]+Sm\d+")
_CUTE_CLASS = regex(r"(kernel_cutlass)\w*?(FlashAttention[A-Za-z]+Sm\d+)")
_HEAD = regex(r"(?:\(anonymous namespace\)|[^<(\s])+")
_LONGEST = 60
_DOTS = "..."

FAMILY_WORDS: Mapping[str, str] = {
    "fa2": "FA2",
    "torch-flash": "torch's flash kernel",
    "fa3": "FA3",
    "fa4": "FA4",
    "cudnn": "cuDNN's kernel",
    "mem-efficient": "the memory-efficient kernel",
    "math": "math",
    "flashinfer": "FlashInfer's kernel",
    "trtllm-gen": "TensorRT-LLM's kernel",
    "triton": "a Triton kernel",
    "flex": "flex_attention's kernel",
    "vllm-paged": "vLLM's paged kernel",
    "xformers": "xformers' kernel",
}
"""A family as it is called in a sentence."""


def short_name(name: str, width: int = _LONGEST) -> str:
    """Return what a kernel is known by, cut to `width`: `flash::flash_fwd_kernel`."""
    plain = clean(name, 2000).removeprefix("void ")
    for pattern in (_CUDNN, _CUTE_CLASS):
        match = pattern.search(plain)
        if match:
            first = match[1] if pattern is _CUTE_CLASS else "cudnn"
            return clip(f"{first}{_DOTS}{match[match.lastindex or 0]}", width)
    inside = _FLASH_CLASS.search(plain)
    head = inside or _HEAD.match(plain)
    return clip(head[0] if head else plain, width)


def clip(text: str, width: int) -> str:
    """Return `text` in at most `width` columns, its end replaced by dots where it is too long."""
    if cells(text) <= width:
        return text
    head = text[: max(width - len(_DOTS), 0)]
    while cells(head) + len(_DOTS) > max(width, len(_DOTS)):
        head = head[:-1]
    return head + _DOTS[:width]


def family_words(family: str | None) -> str:
    """Return a family's name in a sentence; one that nobody knows as it is."""
    return FAMILY_WORDS.get(family or "", clean(family or "no kernel", 40))
