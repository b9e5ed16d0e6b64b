"""Flags that do not go together, or not with the GPU. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flashdoctor.data.folklore import claim_named
from flashdoctor.model.lint import LintFinding
from flashdoctor.model.versions import Capability, capability
from flashdoctor.tune import lint_allocator, lint_pairs
from flashdoctor.tune.argv import Given
from flashdoctor.tune.flags import Row
from flashdoctor.tune.kinds import DISAGREE, EXCLUSIVE, NO_COMMAND
from flashdoctor.tune.lint_findings import Context, make, source_of, text_of
from flashdoctor.tune.lint_folklore import about_claim
from flashdoctor.tune.lint_values import number_of, text_value
from flashdoctor.tune.words import Word

_SERVE_SINCE = "0.5.2"
_CHUNKED_BY_DEFAULT = "0.8.0"
_CHUNKED_EXISTS = "0.4.1"
_LONG = 32768
_BATCH = "max-num-batched-tokens"
_AMPERE = Capability(8, 0)


def rule_findings(context: Context) -> Iterator[LintFinding]:
    """Yield where the flags of a launch contradict one another."""
    if context.command.program == "serve" and not context.table.release.reached(_SERVE_SINCE):
        model = context.parsed.words[0] if context.parsed.words else "MODEL"
        yield make(
            NO_COMMAND,
            Word("vllm serve", context.command.line),
            f"vLLM {context.version} has no `vllm serve`, which came in {_SERVE_SINCE}",
            flag="vllm serve",
            replacement=f"python -m vllm.entrypoints.openai.api_server --model {model}",
        )
    yield from _exclusive(context)
    requirements = {row["id"]: row for row in context.rows("flags", "requirement")}
    for name, judge in _REQUIREMENTS.items():
        if name in requirements:
            yield from judge(context, requirements[name])
    yield from _awq_at_load(context)


def _exclusive(context: Context) -> Iterator[LintFinding]:
    for row in context.rows("flags", "exclusive"):
        head, _, key = row["key"].partition(".")
        flag = context.parsed.last(row["flag"])
        others = [given for given in context.parsed.given if given.flag and given.flag.name == head]
        other = next((given for given in others if key and _sets(given, key)), None)
        if flag is not None and other is not None:
            text = text_of(flag)
            yield make(
                EXCLUSIVE,
                flag.written,
                f"{text} and --{row['key']} exclude each other",
                flag=text,
                advice="Leave one of them out.",
                sources=source_of(row),
            )


def _sets(given: Given, key: str) -> bool:
    if given.key:
        return given.key.partition(".")[0] == key
    return any(f'"{key}"' in value for value in given.values)


def _batch_holds_context(context: Context, row: Row) -> Iterator[LintFinding]:
    batch, length = context.parsed.last(_BATCH), context.parsed.last("max-model-len")
    tokens, context_length = number_of(batch), number_of(length)
    if batch is None or tokens is None or context_length is None or tokens >= context_length:
        return
    if _is_chunked(context, context_length):
        return
    yield make(
        DISAGREE,
        batch.written,
        f"--max-num-batched-tokens {tokens:g} is below --max-model-len {context_length:g}"
        " without chunked prefill",
        flag=text_of(batch),
        replacement=f"--max-num-batched-tokens {context_length:g}",
        advice=f"Raise --max-num-batched-tokens to {context_length:g}, shorten --max-model-len, or"
        " turn chunked prefill on.",
        sources=source_of(row),
    )


def _is_chunked(context: Context, length: float) -> bool:
    """Whether prompts are cut into chunks; True where the release decides by what is not here."""
    release = context.table.release
    chunked = context.parsed.last("enable-chunked-prefill")
    if chunked is not None:
        said = text_value(chunked)
        return not chunked.negative and (said is None or said.lower() != "false")
    if not release.reached(_CHUNKED_EXISTS):
        return False
    return release.reached(_CHUNKED_BY_DEFAULT) or length > _LONG


def _gpus_on_node(context: Context, row: Row) -> Iterator[LintFinding]:
    have = context.facts.value("gpu.count")
    sizes = [context.parsed.last(f"{name}-parallel-size") for name in ("tensor", "pipeline")]
    spread = ("nnodes", "data-parallel-size", "headless", "distributed-executor-backend")
    if not isinstance(have, int) or any(context.parsed.last(name) for name in spread):
        return
    wanted = 1
    for size in sizes:
        number = number_of(size)
        wanted *= int(number) if number else 1
    place = next((size for size in sizes if size is not None), None)
    if place is not None and wanted > have:
        yield make(
            DISAGREE, place.written,
            f"this needs {wanted} GPUs, and there {'is' if have == 1 else 'are'} {have}",
            flag=text_of(place), replacement=f"--tensor-parallel-size {have}",
            sources=source_of(row),
        )  # fmt: skip


def _bfloat16(context: Context, row: Row) -> Iterator[LintFinding]:
    dtype = context.parsed.last("dtype")
    have = _capability(context)
    if dtype is None or have is None or text_value(dtype) != "bfloat16" or have >= _AMPERE:
        return
    yield make(
        DISAGREE, dtype.values[0],
        f"bfloat16 needs compute capability 8.0, and this GPU has {have}",
        flag="--dtype", replacement="--dtype half", sources=source_of(row),
    )  # fmt: skip


def _capability(context: Context) -> Capability | None:
    text = context.facts.value("gpu.compute_capability")
    return capability(text) if isinstance(text, str) else None


def _capture_sizes(context: Context, row: Row) -> Iterator[LintFinding]:
    most = context.parsed.last("max-cudagraph-capture-size")
    sizes = context.parsed.last("cudagraph-capture-sizes")
    top = number_of(most)
    listed = [int(value) for value in sizes.values if value.isdigit()] if sizes else []
    if most is not None and top is not None and listed and top != max(listed):
        yield make(
            DISAGREE, most.written,
            f"--max-cudagraph-capture-size {top:g} is not the largest of the sizes, {max(listed)}",
            flag=text_of(most), replacement=f"--max-cudagraph-capture-size {max(listed)}",
            sources=source_of(row),
        )  # fmt: skip


def _kv_dtype(context: Context, row: Row) -> Iterator[LintFinding]:
    cache, dtype = (context.parsed.last(name) for name in ("kv-cache-dtype", "dtype"))
    stored, computed = text_value(cache), text_value(dtype)
    plain = {"half": "float16"}.get(computed, computed)
    if cache is not None and {stored, plain} == {"float16", "bfloat16"}:
        yield make(
            DISAGREE, cache.written,
            f"--kv-cache-dtype {stored} is not the model's dtype, {plain}",
            flag=text_of(cache), replacement="--kv-cache-dtype auto", sources=source_of(row),
        )  # fmt: skip


def _awq_at_load(context: Context) -> Iterator[LintFinding]:
    given = context.parsed.last("quantization")
    method = text_value(given)
    models = " ".join([*context.parsed.words, *(text_value(context.parsed.last("model")) or "",)])
    if given is None or method != "awq" or "awq" in models.lower() or "/" not in models:
        return
    claim = claim_named(context.tables, "awq-at-load")
    if claim is not None:
        title = "--quantization awq does not quantize a model"
        advice = "Take a checkpoint that is quantized already."
        yield about_claim(claim, given.written, text_of(given), title, advice)


_REQUIREMENTS: dict[str, Callable[[Context, Row], Iterator[LintFinding]]] = {
    "batch-holds-the-sequences": lint_pairs.batch_holds_sequences,
    "batch-holds-the-context": _batch_holds_context,
    "gpus-on-the-node": _gpus_on_node,
    "bfloat16-needs-ampere": _bfloat16,
    "capture-sizes-agree": _capture_sizes,
    "kv-dtype-is-the-models": _kv_dtype,
    "all-reduce-needs-whole-segments": lint_allocator.custom_all_reduce,
    "connector-needs-fixed-segments": lint_allocator.kv_connector,
    "sleep-needs-whole-segments": lint_allocator.sleep_mode,
    "tools-need-a-parser": lint_pairs.one_needs_another,
    "output-log-needs-request-log": lint_pairs.one_needs_another,
}
