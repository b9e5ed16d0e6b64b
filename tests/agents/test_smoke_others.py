from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

part: Any = importlib.import_module("flashdoctor.agents.smoke_others")
measure: Any = importlib.import_module("flashdoctor.agents.smoke_measure")
NAMES = ("smoke_flash", "smoke_problem")
PARTS: Any = SimpleNamespace(
    **{name: importlib.import_module(f"flashdoctor.agents.{name}") for name in NAMES}
)

SHAPE = {"batch": 2, "q_len": 24, "kv_len": 24, "heads": 4, "kv_heads": 2, "head_dim": 16}
CASE = {
    "name": "flashinfer-prefill", "api": "flashinfer", "backend": "prefill", "shape": SHAPE,
    "dtype": "fp32", "causal": True, "mask": None, "direction": "forward", "features": ["jit"],
}  # fmt: skip


@given(st.lists(st.integers(1, 500), min_size=1, max_size=5), st.sampled_from([16, 64]))
def test_pages_hold_every_row_once(lengths: list[int], page: int) -> None:
    counts, starts, full = part.page_counts(lengths, page)
    rows = [(count - 1) * page + last for count, last in zip(counts, full, strict=True)]
    assert rows == lengths
    assert all(1 <= last <= page for last in full)
    assert starts == [sum(counts[:number]) for number in range(len(counts) + 1)]


def attend(torch: Any, q: Any, k: Any, v: Any, *, past: int | None) -> Any:
    """Return attention of one sequence; causal where `past` keys stand before the first query."""
    groups = q.shape[1] // k.shape[1]
    k, v = (tensor.repeat_interleave(groups, dim=1) for tensor in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5
    if past is not None:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(past)
        scores = scores.masked_fill(~seen, float("-inf"))
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), v)


class Decode:
    """FlashInfer's wrapper in plain torch: it reads pages by the lists that it was planned with."""

    def __init__(self, workspace: Any, layout: str) -> None:
        assert workspace.numel() >= 1 << 20
        assert layout == "NHD"
        self._torch = importlib.import_module("torch")

    def plan(self, indptr: Any, indices: Any, last: Any, *sizes: int, q_data_type: Any) -> None:
        assert sizes == (4, 2, 16, 16)
        assert {t.dtype for t in (indptr, indices, last)} == {self._torch.int32}
        assert q_data_type == self._torch.float32
        self._lists = indptr.tolist(), indices.long(), last.tolist()

    def run(self, q: Any, cache: Any) -> Any:
        indptr, indices, last = self._lists
        rows = []
        for number, query in enumerate(q):
            pages = cache[indices[indptr[number] : indptr[number + 1]]]
            length = (pages.shape[0] - 1) * pages.shape[2] + last[number]
            k, v = (pages[:, i].flatten(0, 1)[:length] for i in (0, 1))
            rows.append(attend(self._torch, query[None], k, v, past=None)[0])
        return self._torch.stack(rows)


def install(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: Any) -> ModuleType:
    module = ModuleType(name)
    for key, value in attributes.items():
        setattr(module, key, value)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def check(case: dict[str, Any], prepare: Any) -> dict[str, Any]:
    """Run a case on the CPU, hold it against the reference, return what was noted."""
    result: dict[str, Any] = {}
    bench = measure.Bench(importlib.import_module("torch"), "cpu", {"seed": 11})
    problem, call = prepare(PARTS, bench, case, result)
    compared = PARTS.smoke_problem.compare(problem, problem.run(call))
    assert compared.faults(problem) == []
    return result


def test_flashinfer_prefills_one_sequence_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")

    def prefill(q: Any, k: Any, v: Any, *, causal: bool) -> Any:
        assert causal
        return attend(torch, q, k, v, past=k.shape[0] - q.shape[0])

    install(monkeypatch, "flashinfer", __version__="0.6", single_prefill_with_kv_cache=prefill)
    assert check(CASE, part.prepare_flashinfer)["got"] == {"version": "0.6"}


def test_flashinfer_decodes_from_shuffled_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    install(monkeypatch, "flashinfer", BatchDecodeWithPagedKVCacheWrapper=Decode)
    shape = {**SHAPE, "q_len": 1, "kv_len": 300}
    case = {**CASE, "backend": "decode", "shape": shape, "causal": False}
    assert check(case, part.prepare_flashinfer)["got"] == {"version": None}


OPS = {"memory_efficient_attention": None, "flash": ("flash",) * 2, "cutlass": ("cutlass",) * 2}


@pytest.mark.parametrize("backend", list(OPS))
@pytest.mark.parametrize("kv_heads", [2, 4])
@pytest.mark.parametrize("kv_len", [24, 40])
def test_xformers_takes_groups_of_heads_and_its_own_mask(
    monkeypatch: pytest.MonkeyPatch, kv_heads: int, kv_len: int, backend: str
) -> None:
    """The calls of 0.0.35, as far as they are used; its ops are (forward, backward)."""
    torch = pytest.importorskip("torch")

    def efficient(q: Any, k: Any, v: Any, attn_bias: Any = None, *, op: Any = None) -> Any:
        assert op == OPS[backend]
        assert attn_bias == "lower triangle"
        heads = [tensor.reshape(*tensor.shape[:2], -1, tensor.shape[-1]) for tensor in (q, k, v)]
        rows = [attend(torch, *row, past=0) for row in zip(*heads, strict=True)]
        return torch.stack(rows).reshape(q.shape)

    def dispatch(inputs: Any, _needs_gradient: bool) -> Any:
        assert inputs.attn_bias == "lower triangle"
        return SimpleNamespace(NAME="fa2F@2.8.3.post2")

    fmha = SimpleNamespace(
        Inputs=lambda q, k, v, attn_bias: SimpleNamespace(q=q, k=k, v=v, attn_bias=attn_bias),
        _dispatch_fw=dispatch,
    )
    ops = install(
        monkeypatch, "xformers.ops", memory_efficient_attention=efficient, fmha=fmha,
        LowerTriangularMask=lambda: "lower triangle",
        MemoryEfficientAttentionFlashAttentionOp=OPS["flash"],
        MemoryEfficientAttentionCutlassOp=OPS["cutlass"],
    )  # fmt: skip
    install(monkeypatch, "xformers", __version__="0.0.35", ops=ops)
    shape = {**SHAPE, "kv_heads": kv_heads, "kv_len": kv_len}
    case = {**CASE, "api": "xformers", "backend": backend, "shape": shape}
    got = check(case, part.prepare_xformers)["got"]
    assert got == {"version": "0.0.35", "op": "fa2F@2.8.3.post2"}


def test_a_version_that_does_not_tell_its_op_still_runs() -> None:
    assert part.picked_op(SimpleNamespace(), SimpleNamespace(), None) is None


@pytest.mark.parametrize(
    ("api", "prepare"), [("flashinfer", "prepare_flashinfer"), ("xformers", "prepare_xformers")]
)
def test_a_package_that_is_not_there_is_missing(
    monkeypatch: pytest.MonkeyPatch, api: str, prepare: str
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, api, raising=False)
    sys.path_importer_cache.clear()
    bench = measure.Bench(SimpleNamespace(), "cuda", {"seed": 1})
    with pytest.raises(measure.MissingError, match=api):
        getattr(part, prepare)(PARTS, bench, {**CASE, "api": api}, {})
