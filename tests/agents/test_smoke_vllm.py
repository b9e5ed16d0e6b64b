from __future__ import annotations

import gc
import importlib
import logging
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

part: Any = importlib.import_module("flashdoctor.agents.smoke_vllm")
measure: Any = importlib.import_module("flashdoctor.agents.smoke_measure")
NAMES = ("smoke_config", "smoke_flash", "smoke_measure", "smoke_problem", "smoke_transformers")
PARTS: Any = SimpleNamespace(
    **{name: importlib.import_module(f"flashdoctor.agents.{name}") for name in NAMES}
)

SHAPE = {"batch": 3, "q_len": 40, "kv_len": 40, "heads": 4, "kv_heads": 2, "head_dim": 32}
CASE = {
    "name": "vllm-fa2-varlen", "api": "vllm_flash_attn", "backend": "fa2", "shape": SHAPE,
    "dtype": "fp32", "causal": True, "mask": None, "direction": "forward", "features": ["varlen"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take back at the end what the part sets in this process's environment."""
    before = dict(os.environ)
    yield
    monkeypatch.undo()
    os.environ.clear()
    os.environ.update(before)


CHOSEN = (
    "Using FLASH_ATTN attention backend out of potential backends: "
    "['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN']."
)
PASSED_OVER = (
    "Some attention backends are not valid for cuda with AttentionSelectorConfig(head_size=80, "
    "block_size=None). Reasons: {FLASHINFER: [head_size not supported, compute capability not "
    "supported], TRITON_MLA: [non-MLA not supported]}."
)
NOT_VALID = (
    "Selected backend AttentionBackendEnum.FLASHMLA is not valid for this configuration. "
    "Reason: ['head_size not supported', 'non-MLA not supported']"
)
NONE_VALID = (
    "No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576). "
    "Reasons: {FLASH_ATTN: [head_size not supported]}."
)


@pytest.mark.parametrize(
    ("line", "got"),
    [
        ("Using AttentionBackendEnum.TRITON_ATTN backend.", {"backend": "TRITON_ATTN"}),
        ("Using Flash Attention backend on V1 engine.", {"backend": "Flash Attention"}),
        ("Using FlashAttention-2 backend.", {"backend": "FlashAttention-2"}),
        ("Using XFormers backend.", {"backend": "XFormers"}),
        ("Using FlashAttention version 3", {"fa_version": 3}),
        ("Using max model len 256", {}),
    ],
)
def test_reads_backend_and_version_of_every_era(line: str, got: dict[str, Any]) -> None:
    assert part.parse_choice([line]) == got


def test_reads_the_candidates() -> None:
    candidates = ["FLASH_ATTN", "FLASHINFER", "TRITON_ATTN"]
    assert part.parse_choice([CHOSEN]) == {"backend": "FLASH_ATTN", "candidates": candidates}


@pytest.mark.parametrize(
    ("line", "rejections"),
    [
        (PASSED_OVER, {
            "FLASHINFER": ["head_size not supported", "compute capability not supported"],
            "TRITON_MLA": ["non-MLA not supported"]}),
        (NOT_VALID, {"FLASHMLA": ["head_size not supported", "non-MLA not supported"]}),
        (NONE_VALID, {"FLASH_ATTN": ["head_size not supported"]}),
    ],
)  # fmt: skip
def test_reads_why_others_were_passed_over(line: str, rejections: dict[str, list[str]]) -> None:
    assert part.parse_choice([line]) == {"rejections": rejections}


def test_the_first_choice_stands_and_rejections_add_up() -> None:
    lines = [
        "Reasons: {A_A: [x]}",
        "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN'].",
        "Using TRITON_ATTN attention backend out of potential backends: ['TRITON_ATTN'].",
        "Reasons: {B_B: [y]}",
    ]
    got = part.parse_choice(lines)
    assert got["backend"] == "FLASH_ATTN"
    assert got["rejections"] == {"A_A": ["x"], "B_B": ["y"]}


@given(st.lists(st.text(max_size=80)))
def test_any_log_is_read(lines: list[str]) -> None:
    got = part.parse_choice(lines)
    assert set(got) <= {"backend", "fa_version", "candidates", "rejections"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Using FlashAttention version 3", True),
        ("Cannot use FA version 2 is not supported due to FA2 is only supported on ...", True),
        ("Using TRITON_ATTN backend.", True),
        ("Initializing a V1 LLM engine (v0.25.1) with config: model='/x'", False),
        ("Available KV cache memory: 0.25 GiB", False),
    ],
)
def test_only_lines_about_attention_are_passed_on(line: str, told: bool) -> None:
    assert bool(part._WORTH_TELLING.search(line)) is told


@dataclass
class EngineArgs:
    """Those of a vLLM after 0.13, as far as they matter here."""

    model: str
    enforce_eager: bool = False
    dtype: str = "auto"
    gpu_memory_utilization: float = 0.9
    attention_backend: str | None = None
    attention_config: dict[str, int] | None = None


@dataclass
class OldEngineArgs:
    """Those of a vLLM that knows the environment only."""

    model: str
    enforce_eager: bool = False


def bench_with(free_gib: float, total_gib: float) -> Any:
    memory = (int(free_gib * 2**30), int(total_gib * 2**30))
    torch = SimpleNamespace(cuda=SimpleNamespace(mem_get_info=lambda: memory))
    return measure.Bench(torch, "cuda", {"seed": 1})


@pytest.mark.parametrize(
    ("free", "total", "wanted"), [(139.0, 140.0, 0.0286), (2.0, 8.0, 0.2), (23.0, 24.0, 0.1667)]
)
def test_asks_for_little_memory(free: float, total: float, wanted: float) -> None:
    assert part.share_of_memory(bench_with(free, total)) == pytest.approx(wanted, abs=1e-4)


def test_asks_as_this_vllm_is_asked() -> None:
    case = {**CASE, "backend": "TRITON_ATTN", "dtype": "bf16", "fa_version": 2}
    new = part.engine_arguments(
        SimpleNamespace(EngineArgs=EngineArgs), bench_with(9, 9), case, "/m"
    )
    assert new["attention_backend"] == "TRITON_ATTN"
    assert new["attention_config"] == {"flash_attn_version": 2}
    assert new["dtype"] == "bfloat16"
    assert new["enforce_eager"] is True
    assert "VLLM_ATTENTION_BACKEND" not in os.environ


def test_asks_an_old_vllm_by_the_environment() -> None:
    case = {**CASE, "backend": "XFORMERS", "fa_version": 2}
    library = SimpleNamespace(EngineArgs=OldEngineArgs)
    old = part.engine_arguments(library, bench_with(9, 9), case, "/m")
    assert old == {"model": "/m", "enforce_eager": True}
    assert os.environ["VLLM_ATTENTION_BACKEND"] == "XFORMERS"
    assert os.environ["VLLM_FLASH_ATTN_VERSION"] == "2"


def generated(count: int, likely: float | None) -> SimpleNamespace:
    sequence = SimpleNamespace(token_ids=list(range(count)), cumulative_logprob=likely)
    return SimpleNamespace(outputs=[sequence])


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ([generated(4, -2.5), generated(4, None)], []),
        ([generated(3, -2.5)], ["3 tokens instead of 4"]),
        ([generated(4, math.nan)], ["the probabilities of the tokens are not finite"]),
        ([], ["the engine returned nothing"]),
    ],
)
def test_tells_what_is_wrong_with_the_tokens(outputs: list[Any], words: list[str]) -> None:
    assert part.faults(outputs) == words


def test_finds_the_attention_layers_even_where_vllm_froze_them() -> None:
    attention = type("Attention", (), {"__module__": "vllm.attention.layer"})
    layer: Any = attention()
    layer.impl = type("FlashAttentionImpl", (), {"vllm_flash_attn_version": 3})()
    gc.freeze()
    got = part.attention_layers()
    assert got == {"implementation": "FlashAttentionImpl", "fa_version": 3}


def test_an_engine_is_not_started_without_a_gpu() -> None:
    result: dict[str, Any] = {"status": "ran"}
    bench = measure.Bench(SimpleNamespace(), "cpu", {"seed": 1})
    part.run_engine(PARTS, bench, {**CASE, "backend": "TRITON_ATTN"}, result)
    assert result["status"] == "cpu"
    assert result["asked"] == {"backend": "TRITON_ATTN"}


def library_that(monkeypatch: pytest.MonkeyPatch, **attributes: Any) -> None:
    library = ModuleType("vllm")
    for name, value in {"__version__": "0.25.1", "EngineArgs": EngineArgs, **attributes}.items():
        setattr(library, name, value)
    monkeypatch.setitem(sys.modules, "vllm", library)


def gpu_bench() -> Any:
    bench = bench_with(139, 140)
    cuda = bench.torch.cuda
    cuda.empty_cache = cuda.reset_peak_memory_stats = lambda: None
    return bench


def test_a_backend_that_vllm_refuses_comes_back_with_its_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(**_arguments: Any) -> None:
        logging.getLogger("vllm.platforms").debug("Cannot use FlashAttention here")
        text = "Selected backend FLASHMLA is not valid for this configuration. Reason: ['dtype']"
        raise ValueError(text)

    library_that(monkeypatch, LLM=refuse)
    result: dict[str, Any] = {"status": "ran"}
    with pytest.raises(ValueError, match="FLASHMLA"):
        part.run_engine(
            PARTS, gpu_bench(), {**CASE, "backend": "FLASHMLA", "dtype": "bf16"}, result
        )
    assert result["got"] == {"version": "0.25.1", "rejections": {"FLASHMLA": ["dtype"]}}
    assert result["messages"] == ["Cannot use FlashAttention here"]
    assert result["last"] is True
    assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"


def test_an_engine_that_runs_is_profiled(monkeypatch: pytest.MonkeyPatch) -> None:
    class Engine:
        def __init__(self, *, model: str, **_arguments: Any) -> None:
            log = logging.getLogger("vllm.platforms.cuda")
            log.info(
                "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN']."
            )
            log.debug("Reasons: {TRITON_MLA: [non-MLA not supported]}")
            assert (part.os.path.join(model, "config.json")).endswith("config.json")

        def generate(self, prompts: list[Any], _sampling: Any, *, use_tqdm: bool) -> list[Any]:
            assert not use_tqdm
            return [generated(4, -1.0) for _ in prompts]

    library_that(monkeypatch, LLM=Engine, SamplingParams=lambda **_options: None)
    monkeypatch.setattr(part, "random_prompts", lambda _bench, _case: [{"prompt_token_ids": [3]}])
    monkeypatch.setattr(
        PARTS.smoke_measure, "profile", lambda _bench, call: (call() or ["kernel"], "ok")
    )
    bench = gpu_bench()
    bench.profiler = "ok"
    bench.torch.cuda.max_memory_allocated = lambda: 3 << 20
    result: dict[str, Any] = {"status": "ran"}
    part.run_engine(PARTS, bench, {**CASE, "backend": "", "dtype": "bf16"}, result)
    assert result["status"] == "ran"
    assert result["kernels"] == ["kernel"]
    assert result["peak_mib"] == 3.0
    assert result["got"]["backend"] == "FLASH_ATTN"
    assert result["got"]["rejections"] == {"TRITON_MLA": ["non-MLA not supported"]}
    assert logging.getLogger("vllm").handlers == []


def attend(torch: Any, q: Any, k: Any, v: Any) -> Any:
    """Return causal attention of one sequence, the mask aligned at the last key."""
    groups = q.shape[1] // k.shape[1]
    k, v = (tensor.repeat_interleave(groups, dim=1) for tensor in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(k.shape[0] - q.shape[0])
    weights = scores.masked_fill(~seen, float("-inf")).softmax(-1)
    return torch.einsum("hqk,khd->qhd", weights, v)


def flash_attn_varlen_func(
    q: Any,
    k: Any,
    v: Any,
    *,
    max_seqlen_q: int,
    cu_seqlens_q: Any,
    max_seqlen_k: int,
    cu_seqlens_k: Any = None,
    seqused_k: Any = None,
    causal: bool,
    block_table: Any = None,
    fa_version: int,
) -> Any:
    """Do in plain torch what vLLM's function of that name does, from the layout it is given."""
    torch = importlib.import_module("torch")
    assert causal
    assert fa_version in {2, 3, 4}
    parts = []
    starts = cu_seqlens_q.tolist()
    assert max_seqlen_q == max(b - a for a, b in pairwise(starts))
    for number, (begin, end) in enumerate(pairwise(starts)):
        if block_table is None:
            first, last = cu_seqlens_k.tolist()[number : number + 2]
            keys, values = k[first:last], v[first:last]
        else:
            pages = block_table[number].long()
            length = int(seqused_k[number])
            assert length <= max_seqlen_k
            keys, values = (t[pages].flatten(0, 1)[:length] for t in (k, v))
        parts.append(attend(torch, q[begin:end], keys, values))
    return torch.cat(parts)


def bundle(monkeypatch: pytest.MonkeyPatch, **attributes: Any) -> None:
    module = ModuleType("vllm.vllm_flash_attn")
    for name, value in {"flash_attn_varlen_func": flash_attn_varlen_func, **attributes}.items():
        setattr(module, name, value)
    library_that(monkeypatch, vllm_flash_attn=module)
    monkeypatch.setitem(sys.modules, "vllm.vllm_flash_attn", module)


@pytest.mark.parametrize("backend", ["fa2", "fa4"])
@pytest.mark.parametrize(("feature", "q_len"), [("varlen", 40), ("paged", 1), ("paged", 5)])
def test_hands_over_sequences_and_pages_as_vllm_takes_them(
    monkeypatch: pytest.MonkeyPatch, backend: str, feature: str, q_len: int
) -> None:
    torch = pytest.importorskip("torch")
    bundle(monkeypatch)
    bench = measure.Bench(torch, "cpu", {"seed": 5})
    shape = {**SHAPE, "q_len": q_len, "kv_len": max(q_len, 300 if feature == "paged" else 40)}
    case = {**CASE, "backend": backend, "shape": shape, "features": [feature]}
    result: dict[str, Any] = {}
    problem, call = part.prepare_bundled(PARTS, bench, case, result)
    compared = PARTS.smoke_problem.compare(problem, problem.run(call))
    assert compared.faults(problem) == []
    assert len(set(problem.lengths)) > 1
    assert result["got"] == {"fa_version": int(backend[-1])}


def test_a_version_that_this_gpu_does_not_have_is_refused_in_vllms_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundle(
        monkeypatch,
        is_fa_version_supported=lambda version: version == 2,
        fa_version_unsupported_reason=lambda version: f"FA{version} is only supported on 9.x",
    )
    bench = measure.Bench(SimpleNamespace(), "cuda", {"seed": 1})
    with pytest.raises(NotImplementedError, match=r"FA3 is only supported on 9\.x"):
        part.prepare_bundled(PARTS, bench, {**CASE, "backend": "fa3"}, {})


def test_an_old_vllm_has_flash_attn_2_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle(monkeypatch, flash_attn_varlen_func=lambda q, k, v: (q, k, v))
    bench = measure.Bench(SimpleNamespace(), "cuda", {"seed": 1})
    with pytest.raises(measure.MissingError, match="flash-attn 2 alone"):
        part.prepare_bundled(PARTS, bench, {**CASE, "backend": "fa3"}, {})


def test_a_vllm_without_its_copy_is_missing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    library_that(monkeypatch, __path__=[])
    bench = measure.Bench(SimpleNamespace(), "cuda", {"seed": 1})
    with pytest.raises(measure.MissingError):
        part.prepare_bundled(PARTS, bench, CASE, {})


def test_no_case_follows_an_engine_in_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    smoke: Any = importlib.import_module("flashdoctor.agents.smoke")
    bench = measure.Bench(SimpleNamespace(), "cpu", {"seed": 1})
    monkeypatch.setattr(smoke, "start_torch", lambda *_: (bench, {}))
    monkeypatch.setattr(smoke, "run_case", lambda *_: {"status": "ran", "last": True})
    live = SimpleNamespace(crash_quietly=lambda: None)
    parts = SimpleNamespace(live=live, smoke_measure=measure)
    events: list[dict[str, Any]] = []
    smoke.main(parts, {"cases": [CASE, CASE]}, events.append)
    assert [event["event"] for event in events] == ["start", "begin", "result"]
