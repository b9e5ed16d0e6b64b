"""Whether a model's own code computes attention by hand. It is read as text and never run."""

from __future__ import annotations

from flashdoctor.model.regex import regex

_FUSED = regex(
    r"flash_attn|scaled_dot_product_attention|ALL_ATTENTION_FUNCTIONS|_flash_attention_forward"
    r"|memory_efficient_attention|flex_attention|AttentionInterface"
)
_SCORES = regex(
    r"(?:torch\.)?(?:matmul|bmm|einsum|baddbmm)\(.{0,120}?\b\w*(?:q|query)\w*\b.{0,120}?"
    r"\b\w*(?:k|key)\w*\b"
)
_SOFTMAX = regex(r"\bsoftmax\(|\bSoftmax\(")
_NEAR = 40
"""Lines between the scores and their softmax."""


def find_attention_by_hand(code: str) -> int | None:
    """Return the line of a softmax over scores where no fused attention is called anywhere.

    None where there is no attention, or where a fused kernel is at least one way through it.
    """
    if _FUSED.search(code):
        return None
    scores = -_NEAR
    for number, line in enumerate(code.splitlines(), start=1):
        text = line.partition("#")[0][:2000]
        if _SCORES.search(text):
            scores = number
        if _SOFTMAX.search(text) and number - scores < _NEAR:
            return number
    return None
