"""Names of kernels and refusals, recorded ones and those that each row of the table cites."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.data.kernels import FAMILIES
from flashdoctor.data.tables import Tables, load_tables
from flashdoctor.model.versions import Capability, capability
from flashdoctor.smoke.classify import (
    attention_family,
    attention_kernels,
    classify,
    fused_families,
    identify,
    reasons,
)

DATA = Path(__file__).parents[1] / "data" / "kernels"
RECORDED = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in DATA.glob("*.json")}
TABLES = load_tables()
KERNELS: list[dict[str, Any]] = list(TABLES.table("kernels")["kernel"])
BLOCKS: list[dict[str, Any]] = list(TABLES.table("kernels")["block"])
REASONS: list[dict[str, Any]] = list(TABLES.table("kernels")["reason"])

TORCH_FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64> >"
FA2 = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64> >(flash::Flash_fwd_params)"
FA2_COMBINE = "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64> >"
CUDNN = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_kernel0_0"
GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_nn"
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>"
LOG_SOFTMAX = SOFTMAX.replace("10, false", "10, true")
SAGE = "void qk_int_sv_f8_attn_kernel<128u, 64u, 32u, 64u, 128u, (DataType)1>"
COPY = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >"


@pytest.fixture(scope="module")
def tables() -> Tables:
    return TABLES


def recorded_names() -> list[Any]:
    return [
        pytest.param(family, name, id=f"{program}-{number}")
        for program, record in RECORDED.items()
        for number, (family, name) in enumerate(record["names"])
    ]


def recorded_cases(key: str) -> list[Any]:
    return [
        pytest.param(program, case, id=f"{program}-{case['tag']}")
        for program, record in RECORDED.items()
        for case in record["cases"]
        if key in case
    ]


def label(row: dict[str, Any]) -> str:
    return f"{row.get('family') or row.get('cause') or row['backend']}: {row['pattern'][:40]}"


def test_every_program_was_recorded() -> None:
    counts = {program: len(record["cases"]) for program, record in RECORDED.items()}
    assert counts == {"torch_2.11_h200": 58, "flash_attn_2.8.3_h200": 16, "vllm_0.25.1_h200": 7}


@pytest.mark.parametrize(("family", "name"), recorded_names())
def test_recorded_names(tables: Tables, family: str, name: str) -> None:
    assert classify(tables, name) == family


@pytest.mark.parametrize(("program", "case"), recorded_cases("family"))
def test_recorded_profiles(tables: Tables, program: str, case: dict[str, Any]) -> None:
    names = [RECORDED[program]["names"][number][1] for number in case["kernels"]]
    family, attention = attention_family(tables, names)
    assert family == case["family"]
    assert attention
    assert set(attention) <= set(names)
    assert fused_families(tables, names) == (() if family == "math" else (family,))


def test_the_order_of_a_profile_does_not_matter_to_one_family(tables: Tables) -> None:
    for record in RECORDED.values():
        for case in (case for case in record["cases"] if "family" in case):
            names = [record["names"][number][1] for number in case["kernels"]]
            assert attention_family(tables, names[::-1])[0] == case["family"]


@pytest.mark.parametrize(("program", "case"), recorded_cases("messages"))
def test_recorded_refusals(tables: Tables, program: str, case: dict[str, Any]) -> None:
    found = reasons(tables, case["messages"])
    tag = case["tag"]
    if "mask" in tag:
        cause = "sdpa-attn-mask-blocks-flash"
    elif "float32" in tag:
        cause = "dtype-unsupported-fp32"
    else:
        assert "d288" in tag
        cause = "head-dim-unsupported"
    assert [item.cause for item in found if not item.general] == [cause]
    if program.startswith("torch"):
        assert found[0].backend == ("cudnn" if "CUDNN" in tag else "torch-flash")
        assert found[-1].cause == "sdpa-no-available-kernel"


@pytest.mark.parametrize("row", KERNELS, ids=label)
def test_kernel_hits_get_this_family_through_the_whole_table(
    tables: Tables, row: dict[str, Any]
) -> None:
    for name in row["hits"]:
        found = identify(tables, name)
        got = (found.family, found.part, found.what)
        assert got == (row["family"], row["part"], row["what"]), name


@pytest.mark.parametrize("row", KERNELS, ids=label)
def test_kernel_misses_get_another_row(tables: Tables, row: dict[str, Any]) -> None:
    for name in row["misses"]:
        found = identify(tables, name)
        assert found.what != row["what"], name
        if row["family"] != "other" and row["part"] == "attention":
            assert (found.family, found.part) != (row["family"], row["part"]), name


def test_every_family_has_a_row() -> None:
    assert {row["family"] for row in KERNELS} == set(FAMILIES)


def test_no_two_rows_say_the_same() -> None:
    said = [row["what"] for row in KERNELS]
    assert len(set(said)) == len(said)


@pytest.mark.parametrize(
    ("names", "family", "attention"),
    [
        ([], "other", ()),
        ([COPY], "other", ()),
        ([GEMM, COPY], "other", ()),
        ([SOFTMAX], "other", ()),
        ([GEMM, LOG_SOFTMAX], "other", ()),
        ([GEMM, COPY, SOFTMAX], "math", (GEMM, SOFTMAX)),
        ([GEMM, SOFTMAX, FA2], "fa2", (FA2,)),
        ([GEMM, SOFTMAX, SAGE], "other", (SAGE,)),
        ([SAGE, FA2], "fa2", (SAGE, FA2)),
        ([FA2_COMBINE, FA2, FA2], "fa2", (FA2_COMBINE, FA2)),
        ([FA2_COMBINE], "fa2", (FA2_COMBINE,)),
        ([CUDNN, FA2], "cudnn", (CUDNN, FA2)),
        ([FA2, CUDNN], "fa2", (FA2, CUDNN)),
        ([FA2_COMBINE, CUDNN], "cudnn", (FA2_COMBINE, CUDNN)),
    ],
)
def test_a_profile(
    tables: Tables, names: list[str], family: str, attention: tuple[str, ...]
) -> None:
    assert attention_family(tables, names) == (family, attention)


def test_all_families_are_told(tables: Tables) -> None:
    assert fused_families(tables, [CUDNN, GEMM, SAGE, FA2, CUDNN]) == ("cudnn", "other", "fa2")
    assert fused_families(tables, [GEMM, SOFTMAX]) == ()


def test_flash_is_not_one_thing(tables: Tables) -> None:
    found = [classify(tables, name) for name in (FA2, TORCH_FLASH, CUDNN)]
    assert found == ["fa2", "torch-flash", "cudnn"]


def test_a_namespace_that_only_ends_alike_is_another(tables: Tables) -> None:
    for prefix in ("pytorch_", "my_", "other::"):
        assert classify(tables, FA2.replace("void flash::", f"void {prefix}flash::")) != "fa2"
    assert classify(tables, "_ZN6xflash16flash_fwd_kernelIfEvT_") != "fa2"


def test_the_name_stays_as_it_was_given(tables: Tables) -> None:
    [kernel] = attention_kernels(tables, [f"  {FA2}\n"])
    assert kernel.name == f"  {FA2}\n"
    assert kernel.part == "attention"
    assert kernel.what.startswith("FlashAttention-2")


@pytest.mark.parametrize("row", REASONS, ids=label)
def test_reason_hits_get_this_cause_through_the_whole_table(
    tables: Tables, row: dict[str, Any]
) -> None:
    gpu = capability(row.get("from_capability", ""))
    for message in row["hits"]:
        found = reasons(tables, [message], gpu=gpu)
        whole = [item for item in found if item.message == message.strip()[:300]]
        assert [(item.cause, item.text, item.fix) for item in whole] == [
            (row["cause"], row["text"], row["fix"])
        ], message


@pytest.mark.parametrize("row", REASONS, ids=label)
def test_reason_misses_get_another_text(tables: Tables, row: dict[str, Any]) -> None:
    gpu = capability(row.get("from_capability", ""))
    for message in row["misses"]:
        found = reasons(tables, [message], gpu=gpu)
        assert row["text"] not in [item.text for item in found] or any(
            item.cause != row["cause"] for item in found
        ), message


@pytest.mark.parametrize("row", BLOCKS, ids=label)
def test_block_hits_name_their_backend(tables: Tables, row: dict[str, Any]) -> None:
    speech = {
        "torch": "Expected query, key and value to all be of dtype: {Half}. Got",
        "xformers": "dtype=torch.float32 (supported: {torch.float16})",
    }[row["speaker"]]
    for line in row["hits"]:
        assert reasons(tables, [line, speech])[0].backend == row["backend"], line
    for line in row["misses"]:
        assert reasons(tables, [line, speech])[0].backend != row["backend"], line


@pytest.mark.parametrize("backend", ["Flash", "cuDNN", "CuDNN", "Memory Efficient"])
def test_a_backend_that_is_switched_off_is_no_cause(tables: Tables, backend: str) -> None:
    said = f"{backend} attention has been runtime disabled."
    assert reasons(tables, [said]) == ()


def test_a_whole_block_as_it_is_printed(tables: Tables) -> None:
    said = (
        "t.py:14: UserWarning: Memory efficient kernel not used because: (Triggered)\n"
        "  torch.nn.functional.scaled_dot_product_attention(\n"
        "t.py:14: UserWarning: All fused kernels requires query, key and value to be "
        "4 dimensional, but got Query dim: 3, Key dim: 3, Value dim: 3 instead. (Triggered)\n"
        "t.py:14: UserWarning: Flash attention kernel not used because: (Triggered)\n"
        "t.py:14: UserWarning: All fused kernels requires query, key and value to be "
        "4 dimensional, but got Query dim: 3, Key dim: 3, Value dim: 3 instead. (Triggered)\n"
        "RuntimeError: No available kernel. Aborting execution.\n"
    )
    found = reasons(tables, [said])
    assert [item.backend for item in found] == ["mem-efficient", "torch-flash", None]
    assert {item.cause for item in found} == {"sdpa-no-available-kernel"}
    assert [item.general for item in found] == [False, False, True]


def test_what_only_sums_up_comes_last(tables: Tables) -> None:
    said = ["No available kernel. Aborting execution.", "cuDNN SDPA is not deterministic."]
    assert [item.general for item in reasons(tables, said)] == [False, True]


def test_the_same_reason_is_told_once(tables: Tables) -> None:
    said = ["FlashAttention only support fp16 and bf16 data type"] * 3
    assert len(reasons(tables, said)) == 1


def test_the_map_of_vllm(tables: Tables) -> None:
    said = (
        "(Worker_TP0 pid=7) ValueError: No valid attention backend found for cuda with "
        "AttentionSelectorConfig(head_size=80, dtype=torch.bfloat16). Reasons: {FLASH_ATTN: "
        "[head_size not supported, kv_cache_dtype not supported], FLASHINFER: [ImportError], "
        "TRITON_ATTN: [attention sinks not supported]}."
    )
    told = [(item.backend, item.cause) for item in reasons(tables, [said])]
    assert told == [
        ("FLASH_ATTN", "head-dim-unsupported"),
        ("FLASH_ATTN", "fp8-kv-cache-unsupported"),
        ("FLASHINFER", "attention-backend-unsupported-on-gpu"),
        ("TRITON_ATTN", "attention-backend-unsupported-on-gpu"),
        (None, "attention-backend-unsupported-on-gpu"),
    ]


def test_a_forced_backend_of_vllm(tables: Tables) -> None:
    said = (
        "ValueError: Selected backend AttentionBackendEnum.CUTLASS_MLA is not valid for this "
        "configuration. Reason: ['kv_cache_dtype not supported', 'sparse not supported']"
    )
    told = [(item.backend, item.cause) for item in reasons(tables, [said])]
    assert told == [
        (None, "attention-backend-invalid-choice"),
        ("CUTLASS_MLA", "fp8-kv-cache-unsupported"),
        ("CUTLASS_MLA", "attention-backend-unsupported-on-gpu"),
    ]


def test_xformers_says_it_of_each_operator(tables: Tables) -> None:
    said = (
        "NotImplementedError: No operator found for `memory_efficient_attention_forward` with"
        " inputs:\n"
        "`fa2F@2.5.7` is not supported because:\n"
        "    dtype=torch.float32 (supported: {torch.bfloat16, torch.float16})\n"
        "`cutlassF-pt` is not supported because:\n"
        "    max(query.shape[-1], value.shape[-1]) > 65536\n"
    )
    told = [(item.backend, item.cause) for item in reasons(tables, [said])]
    assert told == [
        ("fa2", "dtype-unsupported-fp32"),
        ("mem-efficient", "head-dim-unsupported"),
        (None, "attention-backend-unsupported-on-gpu"),
    ]


@pytest.mark.parametrize(
    ("gpu", "cause"),
    [
        (None, "flash-attn-needs-ampere"),
        (Capability(7, 5), "flash-attn-needs-ampere"),
        (Capability(10, 0), "flash-attn-arch-not-built"),
        (Capability(12, 0), "flash-attn-arch-not-built"),
    ],
)
def test_one_sentence_means_two_things(tables: Tables, gpu: Capability | None, cause: str) -> None:
    said = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
    assert [item.cause for item in reasons(tables, [said], gpu=gpu)] == [cause]


PIECES = sorted(
    {piece for row in KERNELS for name in row["hits"] for piece in (name[:12], name[:40], name)}
    | {piece for row in REASONS for text in row["hits"] for piece in (text[:20], text)}
    | {"flash::", "_ZN5flash", "void ", "FLASH_ATTN: [", "], ", "Reasons: {", "<", " ", "\n"}
)
ANY_TEXT = st.one_of(
    st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
)


@given(ANY_TEXT)
@settings(deadline=None)
def test_any_name_has_a_family(name: str) -> None:
    assert classify(TABLES, name) in FAMILIES
    family, attention = attention_family(TABLES, [name, GEMM])
    assert family in FAMILIES
    assert set(attention) <= {name, GEMM}


@given(st.lists(ANY_TEXT, max_size=5))
@settings(deadline=None)
def test_any_message_is_taken(said: list[str]) -> None:
    found = reasons(TABLES, said, gpu=Capability(9, 0))
    assert {item.cause for item in found} <= {row["cause"] for row in REASONS}
    assert all(len(item.message) <= 300 and "\n" not in item.message for item in found)


@pytest.mark.parametrize(
    "repeat",
    [
        lambda piece, size: piece * (size // len(piece) + 1),
        lambda piece, size: piece + piece[-1] * size,
        lambda piece, size: piece + "a" * size + "(",
        lambda piece, size: piece + "1" * size + "(",
        lambda piece, size: piece + "_" * size + "(",
        lambda piece, size: piece + " " * size + "(",
    ],
    ids=["again", "last", "letters", "digits", "dashes", "spaces"],
)
def test_long_and_hostile_text_takes_no_long_time(repeat: Callable[[str, int], str]) -> None:
    texts = [repeat(piece, 100_000) for piece in PIECES if len(piece) <= 40][::4]
    start = time.process_time()
    for text in texts:
        classify(TABLES, text)
        reasons(TABLES, [text])
    assert time.process_time() - start < 0.1 * len(texts)
