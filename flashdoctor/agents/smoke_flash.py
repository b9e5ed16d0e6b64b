"""Agent part: flash-attn 2, FlashAttention-3 and FlashAttention-4 by their own functions."""

from __future__ import annotations

import contextlib

_MODULES = {
    "flash-attn": ("flash_attn",),
    "fa3": ("flash_attn_interface", "flash_attn_3.flash_attn_interface"),
    "fa4": ("flash_attn.cute",),
}
_SPLITS = 8
_PAGE_TABLES = {"flash-attn": "block_table", "fa3": "page_table", "fa4": "page_table"}
_FA4_PAGE = 128  # on Hopper a page must be as long as the kernel's tile of keys


def prepare(parts: object, bench: object, case: dict, result: dict) -> tuple:
    """Return the problem, and the call of the function that the case's features name."""
    module = import_first(bench, _MODULES[case["api"]])
    result["got"] = {"module": module.__name__, "version": version_of(module)}
    features = set(case.get("features") or ())
    if features & {"kvcache", "paged", "split-kv"}:
        return prepare_cache(parts.smoke_problem, bench, module, case)
    if "varlen" in features:
        return prepare_varlen(parts.smoke_problem, bench, module, case)
    return prepare_dense(parts.smoke_problem, bench, module, case)


def import_first(bench: object, names: tuple) -> object:
    """Import the first module that is there; the first one's absence is the error."""
    missing = None
    for name in names:
        try:
            with unguarded(bench.torch):
                return bench.import_module(name)
        except bench.MissingError as error:
            missing = missing or error
    raise missing


def version_of(module: object) -> str | None:
    """Return the version that a module states; FA4's betas state 0.0.0."""
    version = getattr(module, "__version__", None)
    return version if version != "0.0.0" else None


@contextlib.contextmanager
def unguarded(torch: object) -> object:
    """Let custom ops be registered without the guard that keeps torch.compile out of them.

    Nothing is compiled here, and at an op's first call the guard imports all of torch's compiler.
    """
    guard = getattr(torch, "_disable_dynamo", None)
    if guard is not None:
        torch._disable_dynamo = unchanged  # noqa: SLF001 - there is no public switch
    try:
        yield
    finally:
        if guard is not None:
            torch._disable_dynamo = guard  # noqa: SLF001 - see above


def unchanged(function: object = None, recursive: object = None) -> object:
    """Decorate with nothing, called with a function or to get a decorator."""
    del recursive
    return unchanged if function is None else function


def prepare_dense(problems: object, bench: object, module: object, case: dict) -> tuple:
    """Return flash_attn_func on sequences of one length."""
    function = bench.attribute(module, "flash_attn_func")
    problem = problems.dense(bench, case)

    def call(q: object, k: object, v: object) -> object:
        return output(function(q, k, v, causal=problem.causal))

    return problem, call


def prepare_varlen(problems: object, bench: object, module: object, case: dict) -> tuple:
    """Return flash_attn_varlen_func on packed sequences of several lengths."""
    function = bench.attribute(module, "flash_attn_varlen_func")
    problem = problems.packed(bench, case)
    starts = [sum(problem.lengths[:count]) for count in range(len(problem.lengths) + 1)]
    offsets = integers(bench, starts)
    longest = max(problem.lengths)
    options = {
        "cu_seqlens_q": offsets, "cu_seqlens_k": offsets, "max_seqlen_q": longest,
        "max_seqlen_k": longest, "causal": problem.causal,
    }  # fmt: skip

    def call(q: object, k: object, v: object) -> object:
        return output(function(q, k, v, **options))

    return problem, call


def prepare_cache(problems: object, bench: object, module: object, case: dict) -> tuple:
    """Return attention over a cache: contiguous, or in pages that stand in no order."""
    api, features = case["api"], set(case["features"])
    problem = problems.cached(bench, case)
    lengths = integers(bench, problem.lengths)
    options = {"causal": problem.causal}
    if "split-kv" in features:
        options["num_splits"] = _SPLITS
    if api == "fa4":  # it has no function for caches of its own
        function, options["seqused_k"] = bench.attribute(module, "flash_attn_varlen_func"), lengths
    else:
        function = bench.attribute(module, "flash_attn_with_kvcache")
        options["cache_seqlens"] = lengths
    tensors = problem.q, problem.k, problem.v
    if "paged" in features:
        rows = _FA4_PAGE if api == "fa4" else problems.PAGE
        k, v, options[_PAGE_TABLES[api]] = paged(problem, rows)
        tensors = problem.q, k, v

    def call(q: object, k: object, v: object) -> object:
        del q, k, v  # the reference goes by the cache as it is without pages
        return output(function(*tensors, **options))

    return problem, call


def paged(problem: object, rows: int) -> tuple:
    """Return the cache in pages of `rows` rows, shuffled, and the table that finds them."""
    torch = problem.bench.torch
    batch, capacity, heads, head_dim = problem.k.shape
    count = batch * capacity // rows
    order = torch.randperm(count, device=problem.bench.device)
    pages = []
    for tensor in (problem.k, problem.v):
        page = torch.empty((count, rows, heads, head_dim), dtype=tensor.dtype, device=tensor.device)
        page[order] = tensor.reshape(count, rows, heads, head_dim)
        pages.append(page)
    return (*pages, order.reshape(batch, -1).to(torch.int32))


def integers(bench: object, numbers: list) -> object:
    """Return int32 numbers on the device, as the kernels want lengths."""
    return bench.torch.tensor(numbers, dtype=bench.torch.int32, device=bench.device)


def output(returned: object) -> object:
    """Return the output; some versions give the log-sum-exp besides."""
    return returned[0] if isinstance(returned, (tuple, list)) else returned


PREPARE = {"flash-attn": prepare, "fa3": prepare, "fa4": prepare}
