"""The flags of a decision, each with its reason, and what was left to the engine."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.model.tuning import Choice
from flashdoctor.tune import spans
from flashdoctor.tune.pins import Pin
from flashdoctor.tune.plan import Decision, Planner

GIB = 1 << 30

WSL_PIN = "VLLM_WSL2_ENABLE_PIN_MEMORY"
WSL_RUNNER = "VLLM_USE_V2_MODEL_RUNNER"


def chosen_flags(planner: Planner, decision: Decision) -> tuple[Choice, ...]:
    """Return the flags of the command, pins in their places."""
    request = planner.request
    found = {choice.name: choice for choice in _chosen(planner, decision)}
    for name, pin in request.pins.items():
        found.pop(f"--{name}", None)
        found.pop(f"--no-{name}", None)
        found[pin.text] = _pinned(planner, pin)
    return tuple(found.values())


def _pinned(planner: Planner, pin: Pin) -> Choice:
    return planner.reasons.choice(pin.text, pin.value, "pinned")


def _chosen(planner: Planner, decision: Decision) -> Iterator[Choice]:
    yield from _parallel(planner, decision)
    yield from _length(planner, decision)
    yield from _sequences(planner, decision)
    yield from _tokens(planner, decision)
    yield from _precision(planner, decision)
    yield from _share(planner, decision)
    yield from _switches(planner, decision)


def _parallel(planner: Planner, decision: Decision) -> Iterator[Choice]:
    size, copies = decision.settings.tensor_parallel_size, decision.data_parallel
    reason = {"latency": "tensor-parallel-latency", "long-context": "tensor-parallel-context"}
    if size > 1:
        why = reason.get(planner.request.goal, "tensor-parallel-needed")
        yield planner.reasons.choice("--tensor-parallel-size", size, why)
    if copies > 1:
        why = "data-parallel-experts" if planner.request.model.moe else "data-parallel"
        yield planner.reasons.choice("--data-parallel-size", copies, why)


def _length(planner: Planner, decision: Decision) -> Iterator[Choice]:
    request, length = planner.request, decision.memory.max_model_len
    reason = "context-of-the-model"
    if request.asked_len:
        reason = "context-asked-for"
    elif decision.shortened:
        reason = "context-that-fits"
    tokens, limit = f"{decision.memory.kv_tokens:,}", f"{request.model.max_positions or 0:,}"
    yield planner.reasons.choice("--max-model-len", length, reason, tokens=tokens, limit=limit)


def _sequences(planner: Planner, decision: Decision) -> Iterator[Choice]:
    request = planner.request
    seqs = decision.settings.max_num_seqs
    tokens = planner.request_tokens(decision.settings)
    held = planner.requests_held(decision.settings)
    most = int(planner.reasons.batch(request.goal)["most_seqs"])
    reason = "seqs-graphs" if request.goal == "throughput" else f"seqs-{request.goal}"
    if seqs is None:
        return
    if seqs == planner.pinned.get("max_num_batched_tokens"):
        reason = "seqs-step"
    elif seqs < planner.most_seqs(most, decision.settings):
        reason = "seqs-cache"
    words = {"requests": f"{held:,}", "tokens": f"{tokens:,}"}
    yield planner.reasons.choice("--max-num-seqs", seqs, reason, **words)


def _tokens(planner: Planner, decision: Decision) -> Iterator[Choice]:
    goal, size = planner.request.goal, decision.settings.max_num_batched_tokens
    if size is None:
        return
    largest = int(planner.reasons.batch(goal)["tokens"][0])
    share = 0
    reason = f"tokens-{goal}"
    if goal == "throughput" and size < largest:
        reason = "tokens-small"
        share = planner.share_of_cache(decision.settings, largest)
    yield planner.reasons.choice("--max-num-batched-tokens", size, reason, share=share)


def _precision(planner: Planner, decision: Decision) -> Iterator[Choice]:
    settings, gpu = decision.settings, planner.request.gpu
    if settings.dtype == "half" and planner.needs_half():
        name = gpu.name or (gpu.capability.sm if gpu.capability else "the GPU")
        yield planner.reasons.choice("--dtype", "half", "half", gpu=name)
    if settings.kv_cache_dtype == "fp8":
        yield planner.reasons.choice("--kv-cache-dtype", "fp8", "fp8-kv")


def _share(planner: Planner, decision: Decision) -> Iterator[Choice]:
    share = decision.settings.gpu_memory_utilization
    if share is not None and decision.for_graphs:
        graphs = f"{decision.memory.graphs_bytes / GIB:.1f}"
        name = "--gpu-memory-utilization"
        yield planner.reasons.choice(name, share, "room-for-graphs", graphs=graphs)
    elif share is not None:
        used = f"{planner.request.gpu.used_bytes / GIB:.1f}"
        yield planner.reasons.choice("--gpu-memory-utilization", share, "less-memory", used=used)


def _switches(planner: Planner, decision: Decision) -> Iterator[Choice]:
    request, flags = planner.request, planner.request.flags.flags
    if decision.memory.engine == "V0":
        if decision.settings.enable_chunked_prefill:
            yield planner.reasons.choice("--enable-chunked-prefill", None, "chunked-v0")
        if "enable-prefix-caching" in flags and not request.model.sliding_window:
            yield planner.reasons.choice("--enable-prefix-caching", None, "prefix-v0")
    if request.goal == "latency" and "performance-mode" in flags:
        yield planner.reasons.choice("--performance-mode", "interactivity", "interactivity")


def chosen_variables(planner: Planner) -> tuple[Choice, ...]:
    """Return the environment variables that the launch needs: in WSL 2, for its pinned memory."""
    at = spans.order(planner.request.version)
    if planner.request.wsl != 2 or not spans.order("0.22.0") <= at < spans.order("0.30.0"):  # noqa: PLR2004 - WSL's own numbering
        return ()
    if at >= spans.order("0.24.0"):
        return (planner.reasons.choice(WSL_PIN, "1", "wsl-pin"),)
    return (planner.reasons.choice(WSL_RUNNER, "0", "wsl-runner"),)


def kept_settings(planner: Planner, decision: Decision) -> tuple[Choice, ...]:
    """Return what was weighed and left to the engine, with the value that then holds."""
    taken = {choice.name for choice in chosen_flags(planner, decision)}
    plan = decision.memory.settings
    flags = planner.request.flags.flags
    model = planner.request.model
    quantization = model.quantization.method if model.quantization else "none"
    v1 = decision.memory.engine == "V1"
    weighed = [
        ("gpu-memory-utilization", plan.gpu_memory_utilization, "left-utilization"),
        ("enable-chunked-prefill", "on" if v1 else None, "left-chunked"),
        ("enable-prefix-caching", "on" if v1 else None, "left-prefix"),
        ("kv-cache-dtype", plan.kv_cache_dtype, "left-kv-dtype"),
        ("block-size", decision.memory.block_size, "left-block"),
        ("quantization", quantization, "left-quantization"),
        ("dtype", model.dtype or "auto", "left-dtype"),
        ("enforce-eager", "off", "left-eager"),
        ("cudagraph-capture-sizes", "auto", "left-graph-sizes"),
    ]
    kept = [
        planner.reasons.choice(f"--{name}", value, reason)
        for name, value, reason in weighed
        if value is not None and name in flags and not {f"--{name}", f"--no-{name}"} & taken
    ]
    alloc = planner.reasons.choice("PYTORCH_CUDA_ALLOC_CONF", None, "left-alloc-conf")
    return (*kept, alloc)
