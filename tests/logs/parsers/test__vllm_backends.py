from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parsers._vllm_backends import backend_of


@pytest.mark.parametrize(
    ("line", "backend"),
    [
        ("INFO 05-04 14:43:17 selector.py:33] Using XFormers backend.", "XFORMERS"),
        ("flash_attn is not found. Using xformers backend.", "XFORMERS"),
        ("Using flash_attn backend.", "FLASH_ATTN"),
        ("Using FlashAttention backend.", "FLASH_ATTN"),
        ("Using FlashAttention-2 backend.", "FLASH_ATTN"),
        ("INFO 09-21 [cuda.py:328] Using Flash Attention backend on V1 engine.", "FLASH_ATTN"),
        ("Using Flash Attention backend.", "FLASH_ATTN"),
        ("Using Flashinfer backend.", "FLASHINFER"),
        (("Using FlashInfer backend with HND KV cache layout on V1 engine by default for Blackwell "
         "(SM 10.0) GPUs."), "FLASHINFER"),
        ("Using Triton backend on V1 engine.", "TRITON_ATTN"),
        ("Using Triton Attention backend on V1 engine.", "TRITON_ATTN"),
        ("Using FlexAttention backend.", "FLEX_ATTENTION"),
        ("Using Torch SDPA backend.", "TORCH_SDPA"),
        ("Using FlashMLA backend on V1 engine.", "FLASHMLA"),
        ("Using Triton MLA backend on V1 engine.", "TRITON_MLA"),
        ("Using Cutlass MLA backend on V1 engine.", "CUTLASS_MLA"),
        ("Using FlashInfer MLA backend on V1 engine.", "FLASHINFER_MLA"),
        ("[cuda.py:1] Using AttentionBackendEnum.FLASH_ATTN backend.", "FLASH_ATTN"),
        (("[cuda.py:317] Using FLASH_ATTN attention backend out of potential backends: "
         "['FLASH_ATTN', 'FLASHINFER']."), "FLASH_ATTN"),
        ("Using TRITON_ATTN_VLLM_V1 backend.", "TRITON_ATTN"),
        ("Using FLASH_ATTN_MLA attention backend out of potential backends: ['FLASH_ATTN_MLA']",
         "FLASH_ATTN_MLA"),
    ],
)  # fmt: skip
def test_the_backend_of_any_era(line: str, backend: str) -> None:
    assert backend_of(line) == backend


@pytest.mark.parametrize(
    "line",
    [
        "Using AttentionBackendEnum.TORCH_SDPA for MMEncoderAttention.",
        "Using backend AttentionBackendEnum.FLASH_ATTN for vit attention",
        "Using 'VLLM_CUTLASS' NvFp4 MoE backend out of potential backends: ['MARLIN'].",
        "Using FLASH_ATTN MLA prefill backend.",
        "Using FlashInfer for top-p & top-k sampling.",
        "Cannot use FlashAttention-2 backend for Volta and Turing GPUs.",
        "Using the best backend.",
        "Using nccl backend",
    ],
)
def test_other_backends_are_not_attentions(line: str) -> None:
    assert backend_of(line) is None


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    found = backend_of(text)
    assert found is None or found.isupper()
