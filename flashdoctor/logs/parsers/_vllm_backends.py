"""The lines in which vLLM says which attention backend it took, by era. Pure.

0.2 to 0.5: `Using XFormers backend.`; 0.7 to 0.11: `Using Flash Attention backend on V1 engine.`;
0.12: `Using AttentionBackendEnum.FLASH_ATTN backend.`; later `Using FLASH_ATTN attention backend
out of potential backends: [...]`. Backends of vision encoders, of MLA's prefill, of MoE, of GEMMs
and of samplers are others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from flashdoctor.model.regex import regex

_NAMED = regex(
    r"(?:^|\] |\s)Using (?:AttentionBackendEnum\.)?(?P<enum>[A-Z][A-Z0-9_]{2,40}) "
    r"(?:attention )?backend\b"
    r"(?! for )"
)
_WORDED = regex(
    r"(?:^|\] |\s)Using (?P<words>[A-Z][\w-]{1,24}(?: (?!backend\b)[A-Za-z-]{2,12}){0,3})"
    r" backend(?P<rest>.{0,80})",
    re.IGNORECASE,
)
_WORDS: Mapping[str, str] = {
    "flash attention": "FLASH_ATTN",
    "flashattention": "FLASH_ATTN",
    "flashattention-2": "FLASH_ATTN",
    "flash_attn": "FLASH_ATTN",
    "flash-attn": "FLASH_ATTN",
    "flashattn": "FLASH_ATTN",
    "xformers": "XFORMERS",
    "flashinfer": "FLASHINFER",
    "triton": "TRITON_ATTN",
    "triton attention": "TRITON_ATTN",
    "torch sdpa": "TORCH_SDPA",
    "torch sdpa attention": "TORCH_SDPA",
    "flexattention": "FLEX_ATTENTION",
    "flex attention": "FLEX_ATTENTION",
    "tree attention": "TREE_ATTN",
    "flashmla": "FLASHMLA",
    "flashmla sparse": "FLASHMLA_SPARSE",
    "sparse mla": "FLASHMLA_SPARSE",
    "triton mla": "TRITON_MLA",
    "cutlass mla": "CUTLASS_MLA",
    "cutlass_mla": "CUTLASS_MLA",
    "flashinfer mla": "FLASHINFER_MLA",
    "flashattn mla": "FLASH_ATTN_MLA",
    "flashattention mla": "FLASH_ATTN_MLA",
    "rocmflashattention": "ROCM_FLASH",
    "blocksparse attention": "BLOCK_SPARSE_FLASH_ATTN",
    "blocksparseflashattention": "BLOCK_SPARSE_FLASH_ATTN",
    "dual chunk flash attention": "DUAL_CHUNK_FLASH_ATTN",
    "dualchunkflashattention": "DUAL_CHUNK_FLASH_ATTN",
}
_OTHERS = regex(
    r"\b(?:MoE|MLA prefill|sampl|GEMM|linear|vision|vit |encoder|all2all|mm|multimodal)\b",
    re.IGNORECASE,
)


def backend_of(text: str) -> str | None:
    """Return the backend as vLLM's list names it (`FLASH_ATTN`), None where the line names none."""
    if _OTHERS.search(text):
        return None
    named = _NAMED.search(text)
    if named:
        return named["enum"].removesuffix("_VLLM_V1")
    worded = _WORDED.search(text)
    return _WORDS.get(worded["words"].lower()) if worded else None
