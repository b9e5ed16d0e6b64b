"""Agent part: FlashInfer's and xformers' own attention calls."""

from __future__ import annotations

_PAGE = 16
_WORKSPACE = 128 << 20
_OPS = {
    "cutlass": "MemoryEfficientAttentionCutlassOp",
    "flash": "MemoryEfficientAttentionFlashAttentionOp",
}


def prepare_flashinfer(parts: object, bench: object, case: dict, result: dict) -> tuple:
    """Return the problem, and the call that `backend` names: `prefill` or `decode`."""
    module = bench.import_module("flashinfer")
    result["got"] = {"version": getattr(module, "__version__", None)}
    prepare = prepare_decode if case["backend"] == "decode" else prepare_prefill
    return prepare(parts, bench, module, case)


def prepare_prefill(parts: object, bench: object, module: object, case: dict) -> tuple:
    """Return single_prefill_with_kv_cache, one sequence after the other."""
    function = bench.attribute(module, "single_prefill_with_kv_cache")
    problem = parts.smoke_problem.dense(bench, case)

    def call(q: object, k: object, v: object) -> object:
        sequences = zip(q, k, v)  # noqa: B905 - Python 3.8
        return bench.torch.stack([function(*each, causal=problem.causal) for each in sequences])

    return problem, call


def prepare_decode(parts: object, bench: object, module: object, case: dict) -> tuple:
    """Return the batch decode wrapper over a cache in shuffled pages."""
    kind = bench.attribute(module, "BatchDecodeWithPagedKVCacheWrapper")
    problem = parts.smoke_problem.cached(bench, case)
    torch, shape = bench.torch, problem.shape
    k, v, table = parts.smoke_flash.paged(problem, _PAGE)
    cache = torch.stack((k, v), dim=1)
    wrapper = kind(torch.zeros(_WORKSPACE, dtype=torch.uint8, device=bench.device), "NHD")
    plan = getattr(wrapper, "plan", None) or wrapper.begin_forward
    heads = (shape.heads, shape.kv_heads, shape.head_dim)
    plan(*page_lists(parts, bench, problem, table), *heads, _PAGE, q_data_type=problem.q.dtype)
    decode = getattr(wrapper, "run", None) or wrapper.forward

    def call(q: object, k: object, v: object) -> object:
        del k, v  # they stand in the pages
        return decode(q[:, 0], cache)[:, None]

    return problem, call


def page_lists(parts: object, bench: object, problem: object, table: object) -> tuple:
    """Return FlashInfer's indptr, indices, and how full each last page is, as int32."""
    counts, starts, full = page_counts(problem.lengths, _PAGE)
    rows = [table[number, :count] for number, count in enumerate(counts)]
    integers = parts.smoke_flash.integers
    return integers(bench, starts), bench.torch.cat(rows), integers(bench, full)


def page_counts(lengths: list, page: int) -> tuple:
    """Return (pages, offsets of the first page, rows in the last page) of sequences."""
    counts = [-(-length // page) for length in lengths]
    starts = [sum(counts[:number]) for number in range(len(counts) + 1)]
    full = [length - (count - 1) * page for length, count in zip(lengths, counts)]  # noqa: B905 - Python 3.8
    return counts, starts, full


def prepare_xformers(parts: object, bench: object, case: dict, result: dict) -> tuple:
    """Return memory_efficient_attention; `backend` may name an op (`cutlass`, `flash`)."""
    module = bench.import_module("xformers")
    ops = bench.import_module("xformers" + ".ops")
    attend = bench.attribute(ops, "memory_efficient_attention")
    problem = parts.smoke_problem.dense(bench, case)
    problem.last_row = False  # its causal mask begins at the first query and the first key
    bias = ops.LowerTriangularMask() if problem.causal else None
    op = bench.attribute(ops, _OPS[case["backend"]]) if case["backend"] in _OPS else None
    result["got"] = {
        "version": getattr(module, "__version__", None),
        "op": picked_op(ops, problem, bias),
    }

    def call(q: object, k: object, v: object) -> object:
        return attend(*in_groups(q, k, v), attn_bias=bias, op=op).reshape(q.shape)

    return problem, call


def in_groups(q: object, k: object, v: object) -> tuple:
    """Return the inputs with a dimension more, for its groups, where keys have fewer heads."""
    heads = k.shape[2]
    if q.shape[2] == heads:
        return q, k, v
    q = q.reshape(*q.shape[:2], heads, -1, q.shape[3])
    each = q.shape[3]
    return (q, *(tensor.unsqueeze(3).expand(-1, -1, -1, each, -1) for tensor in (k, v)))


def picked_op(ops: object, problem: object, bias: object) -> str | None:
    """Return the name of the op that xformers picks; None where this version does not tell."""
    try:
        inputs = ops.fmha.Inputs(*in_groups(problem.q, problem.k, problem.v), attn_bias=bias)
        return str(ops.fmha._dispatch_fw(inputs, False).NAME)  # noqa: SLF001 - it has no public way
    except Exception:
        return None


PREPARE = {"flashinfer": prepare_flashinfer, "xformers": prepare_xformers}
