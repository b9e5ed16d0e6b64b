from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.errors import UsageError
from flashdoctor.model.tuning import Attention
from flashdoctor.model.versions import Capability
from flashdoctor.tune.attention import choose, takes_fp8_kv
from flashdoctor.tune.need import Need

TABLES = load_tables()
CAPABILITIES = [(7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 0)]
VERSIONS = ["0.6.0", "0.6.6", "0.7.3", "0.8.5", "0.9.2", "0.10.2", "0.11.0", "0.11.2", "0.16.0",
            "0.20.2", "0.25.1", "0.27.1", "0.33.0"]  # fmt: skip


def need(cc: str, **changed: Any) -> Need:
    major, minor = map(int, cc.split("."))
    dtype = "float16" if major < 8 else "bfloat16"
    plain: dict[str, Any] = {"dtype": dtype, "head_size": 128, "v_head_size": 128}
    return Need(capability=Capability(major, minor), **{**plain, **changed})


MLA = {"mla": True, "head_size": 576, "v_head_size": 512, "full_head_size": 192}


@pytest.mark.parametrize(
    ("version", "cc", "asked", "backend", "flash"),
    [
        # Recorded starts of vLLM 0.25.1 on an H200: "Using ... attention backend".
        ("0.25.1", "9.0", {}, "FLASH_ATTN", 3),
        ("0.25.1", "9.0", {"head_size": 256, "v_head_size": 256}, "FLASH_ATTN", 3),
        ("0.25.1", "9.0", {"kv_dtype": "fp8"}, "FLASH_ATTN", 3),
        ("0.25.1", "9.0", MLA, "FLASH_ATTN_MLA", 3),
        # V0.
        ("0.6.3", "7.5", {}, "XFORMERS", None),
        ("0.6.3", "8.0", {}, "FLASH_ATTN", 2),
        ("0.6.3", "8.0", {"sliding_window": True}, "XFORMERS", None),
        ("0.6.3", "8.0", {"kv_dtype": "fp8"}, "XFORMERS", None),
        ("0.6.3", "8.0", {"head_size": 112}, "XFORMERS", None),
        ("0.6.3", "9.0", {}, "FLASH_ATTN", 2),
        ("0.6.3", "9.0", MLA, "FLASH_ATTN", 2),
        ("0.7.3", "9.0", {}, "FLASH_ATTN", 3),
        ("0.7.3", "9.0", MLA, "TRITON_MLA", None),
        # V1 with V0 behind it.
        ("0.8.5", "7.5", {}, "XFORMERS", None),
        ("0.8.5", "8.0", {}, "FLASH_ATTN_VLLM_V1", 2),
        ("0.8.5", "8.0", {"kv_dtype": "fp8"}, "XFORMERS", None),
        ("0.8.5", "9.0", MLA, "FLASHMLA", None),
        ("0.8.5", "8.0", MLA, "TRITON_MLA", None),
        ("0.10.1.1", "7.5", {}, "XFORMERS", None),
        ("0.10.2", "7.5", {}, "FLEX_ATTENTION", None),
        ("0.10.2", "10.0", {}, "FLASHINFER", None),
        ("0.10.2", "10.0", {"head_size": 96}, "FLASH_ATTN", 2),
        ("0.10.2", "8.0", {"sinks": True}, "TRITON_ATTN", None),
        ("0.10.2", "9.0", {"sinks": True}, "FLASH_ATTN", 3),
        ("0.10.2", "10.0", MLA, "CUTLASS_MLA", None),
        ("0.10.2", "10.0", {**MLA, "block_size": 64}, "FLASHINFER_MLA", None),
        ("0.11.0", "8.9", {"kv_dtype": "fp8"}, "TRITON_ATTN", None),
        # Lists.
        ("0.11.2", "7.5", {}, "FLASHINFER", None),
        ("0.23.0", "7.5", {}, "FLASHINFER", None),
        ("0.25.1", "7.5", {}, "TRITON_ATTN", None),
        ("0.25.1", "7.5", {"head_size": 80}, "TRITON_ATTN", None),
        ("0.25.1", "8.9", {}, "FLASH_ATTN", 2),
        ("0.25.1", "8.9", {"kv_dtype": "fp8"}, "FLASHINFER", None),
        ("0.25.1", "8.9", {"kv_dtype": "fp8", "head_size": 96}, "TRITON_ATTN", None),
        ("0.25.1", "9.0", {"dtype": "float32"}, "TRITON_ATTN", None),
        ("0.25.1", "8.0", {"block_size": 8}, None, None),
        ("0.25.1", "12.0", {}, "FLASH_ATTN", 2),
        ("0.25.1", "12.0", {"sinks": True}, "TRITON_ATTN", None),
        ("0.25.1", "12.0", MLA, "TRITON_MLA", None),
        ("0.25.1", "10.0", {}, "FLASHINFER", None),
        ("0.25.1", "10.0", {"head_size": 96, "v_head_size": 96}, "FLASH_ATTN", 4),
        ("0.16.0", "10.0", {"head_size": 96, "v_head_size": 96}, "FLASH_ATTN", 2),
        ("0.25.1", "10.0", {"head_size": 160, "v_head_size": 160}, "FLASH_ATTN", 2),
        ("0.14.1", "10.0", MLA, "CUTLASS_MLA", None),
        ("0.25.1", "10.0", MLA, "FLASHINFER_MLA", None),
        ("0.20.2", "12.0", MLA, "TRITON_MLA", None),
        ("0.33.0", "9.0", {"multimodal_prefix": True}, "TRITON_FLASH_ATTN", None),
        ("0.33.0", "8.9", {"multimodal_prefix": True}, "FLASH_ATTN", 2),
        ("0.25.1", "9.0", {"head_size": 512, "v_head_size": 512}, "FLASH_ATTN", 4),
        ("0.16.0", "9.0", {"head_size": 512, "v_head_size": 512}, "TRITON_ATTN", None),
        ("0.25.1", "9.0", {"alibi": True}, "FLASH_ATTN", 2),
        # What the user or the build says.
        ("0.25.1", "9.0", {"bundled": frozenset({2})}, "FLASH_ATTN", 2),
        ("0.25.1", "9.0", {"backend": "FLASHINFER"}, "FLASHINFER", None),
        ("0.25.1", "9.0", {"flash_version": 2}, "FLASH_ATTN", 2),
        ("0.25.1", "10.0", {"backend": "FLASH_ATTN", "flash_version": 3}, "FLASH_ATTN", 4),
        ("0.25.1", "9.0", {"backend": "XFORMERS"}, "XFORMERS", None),
        ("0.25.1", "7.5", {"backend": "FLASH_ATTN"}, None, None),
        # Where nothing was read.
        ("0.5.4", "9.0", {}, None, None),
    ],
)
def test_what_the_engine_would_choose(
    version: str, cc: str, asked: Any, backend: str | None, flash: int | None
) -> None:
    found = choose(TABLES, version, need(cc, **asked))
    assert (found.backend, found.fa_version) == (backend, flash), found


@pytest.mark.parametrize(
    ("version", "cc", "runs"),
    [
        ("0.25.1", "9.0", True),
        ("0.25.1", "8.0", True),  # FLASHINFER
        ("0.25.1", "7.5", False),  # Triton, which has no e4m3 there
        ("0.11.0", "8.0", False),
        ("0.10.2", "8.9", False),  # FLASH_ATTN takes it with FA3 only
        ("0.10.2", "9.0", True),
        ("0.10.2", "10.0", True),
        ("0.8.5", "8.0", True),  # V0
        ("0.5.4", "9.0", False),  # not read, so never proposed
    ],
)
def test_where_an_fp8_cache_runs(version: str, cc: str, *, runs: bool) -> None:
    assert takes_fp8_kv(TABLES, version, need(cc)) is runs


def test_the_reason_names_what_stood_before_and_the_flash_attention() -> None:
    found = choose(TABLES, "0.25.1", need("8.9", kv_dtype="fp8"))
    assert found.why == (
        "the first on sm_89 without an objection, after FLASH_ATTN (kv_cache_dtype not supported)"
    )
    assert found.objections == (("FLASH_ATTN", "kv_cache_dtype not supported"),)
    assert "flashinfer.py" in found.source
    assert choose(TABLES, "0.25.1", need("9.0")).why == (
        "vLLM's first choice on sm_90; FA3, which is made for sm_90"
    )
    without = choose(TABLES, "0.25.1", need("9.0", bundled=frozenset({2})))
    assert without.why.endswith("FA2, as FA3 is not to be had here")


def test_a_forced_backend_that_objects_is_refused_in_vllms_words() -> None:
    found = choose(TABLES, "0.25.1", need("7.5", backend="FLASH_ATTN", dtype="float32"))
    assert found.refused
    assert found.why == (
        "Selected backend FLASH_ATTN is not valid for this configuration: "
        "compute capability not supported, dtype not supported"
    )
    left = choose(TABLES, "0.25.1", need("9.0", kv_dtype="nvfp4"))
    assert left.refused
    assert left.why.startswith("No valid attention backend found for cuda. FLASH_ATTN: kv_cache")


def test_json_is_the_contract() -> None:
    body = choose(TABLES, "0.25.1", need("9.0")).to_json()
    assert {"backend": "FLASH_ATTN", "fa_version": 3}.items() <= body.items()
    assert Attention(None, None, "w", "s", (("A", "b"),)).to_json()["rejected"] == [
        {"backend": "A", "why": "b"}
    ]


@given(
    st.sampled_from(VERSIONS),
    st.sampled_from(CAPABILITIES),
    st.sampled_from([64, 72, 96, 128, 256]),
    st.sampled_from(["auto", "fp8"]),
    st.booleans(),
)
def test_every_gpu_and_release_has_an_answer_that_holds(
    version: str, cc: tuple[int, int], head: int, kv: str, mla: bool
) -> None:
    more = MLA if mla else {"head_size": head, "v_head_size": head}
    found = choose(TABLES, version, need(f"{cc[0]}.{cc[1]}", kv_dtype=kv, **more))
    assert found.why
    assert (found.backend is None) == found.refused
    if found.fa_version is not None:
        assert found.backend is not None
        assert found.backend.startswith("FLASH_ATTN")
        assert cc >= (8, 0)
    if found.fa_version == 3:
        assert cc[0] == 9
    assert found.backend not in dict(found.objections)


def test_what_is_no_version_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="not a version"):
        choose(TABLES, "newest", need("9.0"))
