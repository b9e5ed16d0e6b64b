"""The shapes of the tables in matrices/launch: vLLM by release, as sources say it starts.

`first` and `last` are releases that were read. A row without `first` holds for every release that
was read, or for those its note names.
"""

from __future__ import annotations

from collections.abc import Mapping

from flashdoctor.data.launch_flags import (
    ENGINES,
    ENVIRONMENT,
    FLAGS,
    OPEN_SPAN,
    SPAN,
    STATEMENTS,
    optional_parts,
)
from flashdoctor.data.provenance import META, SAMPLED_META, sourced
from flashdoctor.data.shape import Field, Shape, may, need

_GRAPH_MODES = ("NONE", "PIECEWISE", "FULL_AND_PIECEWISE")
_DTYPES = ("float16", "bfloat16", "float32")
_CAPABILITIES = ("10.x", "12.x", "9.x", "other")

_SUBTRACTED = (
    "used after profiling", "used since start", "weights", "torch peak", "torch peak increase",
    "non-torch on the GPU", "non-torch increase", "consumed", "transient peak",
    "multimodal reserve", "graphs",
)  # fmt: skip
_MEMORY = {
    "default": sourced(
        {
            "setting": need("label"),
            "engine": may("text", *ENGINES),
            **SPAN,
            "value": need("any"),
        },
        ("setting", "first"),
    ),
    "budget": sourced(
        {
            "engine": need("text", *ENGINES),
            **SPAN,
            "subtracts": Field("text", many=True, words=_SUBTRACTED, filled=True),
            "counts_others": need("bool"),
            "checks_free": need("bool"),
            "graphs": need("text", "outside", "on request", "inside"),
        },
        ("engine", "first"),
    ),
    "kv_dtype": sourced(
        {
            "name": need("text"),
            "bits": may("number"),
            "head_bytes": may("int"),
            "bytes_8_heads_of_128": need("int"),
        },
        "name",
    ),
    "mla_layout": sourced(
        {"name": need("text"), "bytes_per_token": need("int"), "bytes_per_value": may("int")},
        "name",
    ),
    "runner": sourced(
        {
            **SPAN,
            "second": need("text", "never", "listed", "dense", "always"),
            "architectures": may("text", many=True),
            "estimates_graphs": need("bool"),
        },
        "first",
    ),
    "sampler": sourced(
        {
            "runner": need("text", "V0", "V1", "V2"),
            **SPAN,
            "copies": need("number"),
            "workspace_mib": may("int"),
        },
        ("runner", "first"),
    ),
    "forward": sourced(
        {
            "id": need("label"),
            "compiled": need("bool"),
            "architectures": may("text", many=True),
            "hidden": need("int"),
            "intermediate": need("int"),
        },
        "id",
    ),
    "capacity": sourced(
        {
            **SPAN,
            "hybrid": need("bool"),
            "counts": need("text", "blocks", "requests"),
            "needs": need("text", "layers", "first group", "groups"),
        },
        "first",
    ),
    "refusal": sourced(
        {
            "id": need("label"),
            **SPAN,
            "text": need("text"),
        },
        ("id", "first"),
    ),
    "layer": sourced(
        {
            "id": need("label"),
            "kind": need("label"),
            "mode": may("label"),
            **OPEN_SPAN,
            "blocks": need("text"),
        },
        "id",
    ),
    "constant": sourced(
        {
            "id": need("label"),
            "value": need("number"),
            "unit": need("text", "MiB", "bytes", "blocks", "tokens", "ratio"),
            **OPEN_SPAN,
            "text": need("text"),
        },
        "id",
    ),
    "scheduler_v0": sourced(
        {
            **SPAN,
            "least_batched_tokens": need("int"),
            "chunked_batched_tokens": need("int"),
            "max_num_seqs": need("int"),
        },
        "first",
    ),
    "scheduler_v1": sourced(
        {
            **SPAN,
            "min_memory_gib": need("int"),
            "not_names": may("text", many=True),
            "not_capabilities": may("capability", many=True),
            "serve_batched_tokens": need("int"),
            "llm_batched_tokens": need("int"),
            "max_num_seqs": need("int"),
        },
        ("first", "min_memory_gib"),
    ),
    "capture_sizes": sourced(
        {
            "engine": need("text", *ENGINES),
            **SPAN,
            "small": need("int", many=True),
            "step": need("int"),
            "step_until": may("int"),
            "then_step": may("int"),
            "max": need("int"),
            "max_on_10_x": may("int"),
            "max_is_twice_seqs": need("bool"),
        },
        ("engine", "first"),
    ),
    "optimization_level": sourced(
        {"level": need("int"), "compiles": need("bool"), "graphs": need("text", *_GRAPH_MODES)},
        "level",
    ),
    "fact": STATEMENTS,
}

_BACKENDS = Field("text", many=True, filled=True)
_ATTENTION = {
    "engine": sourced(
        {
            "engine": need("text", *ENGINES),
            **SPAN,
            "state": need("text", "only", "default"),
        },
        "first",
    ),
    "v1_refusal": sourced(
        {"id": need("label"), **SPAN, "flags": may("label", many=True), "text": need("text")},
        "id",
    ),
    "setting": sourced(
        {
            "name": need("text"),
            "sets": need("text", "backend", "FlashAttention version"),
            **SPAN,
            "values": may("int", many=True),
        },
        ("name", "first"),
    ),
    "renamed": sourced({"name": need("text"), "now": may("text"), **SPAN}, "name"),
    "config_key": sourced(
        {
            "name": need("text"),
            **OPEN_SPAN,
            "there_by": may("version"),
            "gone_by": may("version"),
        },
        "name",
    ),
    "selection": sourced(
        {
            "engine": need("text", *ENGINES),
            **SPAN,
            "attention": need("text", "dense", "mla"),
            "backend": need("text"),
            "capability": may("capability", "10.x"),
            "not_capability": may("capability"),
            "min_capability": may("capability"),
            "dtypes": may("text", *_DTYPES, many=True),
            "head_sizes": may("int", many=True),
            "block_multiple": may("int"),
            "block_sizes": may("int", many=True),
            "fp8_kv": may("bool"),
            "sliding_window": may("bool"),
            "sinks": may("bool"),
        },
        ("engine", "attention", "first", "backend"),
    ),
    "fp8_kv": sourced(
        {
            "backend": need("text"),
            **SPAN,
            "capability": may("capability", "10.x"),
            "min_capability": may("capability"),
            "needs": may("text"),
        },
        "backend",
    ),
    "priority": sourced(
        {
            "attention": need("text", "dense", "dense, multimodal prefix", "mla"),
            "capability": need("capability", *_CAPABILITIES),
            **SPAN,
            "backends": _BACKENDS,
        },
        ("attention", "capability", "first"),
    ),
    "sparse_priority": sourced(
        {
            "kv_cache": need("text", "fp8", "bfloat16"),
            "heads": need("text", "any", "up to 16", "more"),
            **SPAN,
            "backends": _BACKENDS,
        },
        ("kv_cache", "heads", "first"),
    ),
    "limit": sourced(
        {
            "backend": need("text"),
            **SPAN,
            "min_capability": may("capability"),
            "max_capability": may("capability"),
            "majors": may("int", many=True),
            "dtypes": may("text", *_DTYPES, many=True),
            "head_multiple": may("int"),
            "min_head": may("int"),
            "max_head": may("int"),
            "head_sizes": may("int", many=True),
            "block_multiple": may("int"),
            "block_sizes": may("int", many=True),
            "kv_dtypes": need("text", many=True),
            "sinks": may("bool"),
            "widened": optional_parts(
                {
                    "kv_dtypes": may("text", many=True),
                    "max_head": may("int"),
                    "sinks": may("bool"),
                    "capability": may("capability", *_CAPABILITIES),
                    "min_capability": may("capability"),
                    "flash_version": may("int"),
                    "head_size": may("int"),
                }
            ),
        },
        ("backend", "first"),
    ),
    "flash_version": sourced(
        {"capability": need("text", *_CAPABILITIES), **SPAN, "version": need("int")},
        ("capability", "first"),
    ),
    "flash_exception": sourced(
        {"id": need("label"), **SPAN, "version": need("int"), "text": need("text")}, "id"
    ),
    "flash_support": sourced(
        {
            "version": need("int"),
            "min_capability": may("capability"),
            "majors": may("int", many=True),
        },
        "version",
    ),
    "fact": STATEMENTS,
}

_GOALS = {
    "batch": sourced(
        {
            "goal": need("text", "throughput", "latency", "long-context"),
            "tokens": Field("int", many=True, filled=True),
            "kv_share": need("number"),
            "most_seqs": need("int"),
        },
        "goal",
    ),
    "reason": STATEMENTS,
}

_QUANTIZATION = {
    "arithmetic": sourced(
        {
            "scheme": need("label"),
            **SPAN,
            "min_capability": need("capability"),
            "below": need("text"),
        },
        "scheme",
    ),
    "missing_kernel": sourced(
        {
            "scheme": need("label"),
            **SPAN,
            "from_capability": need("capability"),
            "text": need("text"),
        },
        ("scheme", "first"),
    ),
    "act_dtype": sourced(
        {
            "method": need("label"),
            **SPAN,
            "dtypes": Field("text", many=True, words=_DTYPES, filled=True),
        },
        ("method", "first"),
    ),
}

_VARIANTS = {
    "model": sourced(
        {
            "name": need("text"),
            "family": need("text"),
            "architecture": need("text"),
            "hidden": need("int"),
            "layers": need("int"),
            "vocab": need("int"),
            "kv_heads": need("int"),
            "head_dim": need("int"),
            "weights_gib": need("number"),
            "fp8": may("text"),
            "awq": may("text"),
        },
        "name",
        ("architecture", "hidden", "layers", "vocab"),
    ),
}

LAUNCH_SHAPES: Mapping[str, Shape] = {
    "flags": Shape({"meta": SAMPLED_META, **FLAGS}),
    "environment": Shape({"meta": SAMPLED_META, **ENVIRONMENT}),
    "memory": Shape({"meta": META, **_MEMORY}),
    "attention": Shape({"meta": META, **_ATTENTION}),
    "goals": Shape({"meta": META, **_GOALS}),
    "quantization": Shape({"meta": META, **_QUANTIZATION}),
    "variants": Shape({"meta": META, **_VARIANTS}),
}
"""By file name without its ending."""
