"""Which settings are worth a measurement, and what measurements say. Pure: nothing is run here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from flashdoctor.logs.lines import read_lines
from flashdoctor.logs.matcher import make_index
from flashdoctor.logs.parsers.vllm_log import PARSER
from flashdoctor.logs.scan import scan
from flashdoctor.model.trial import Compared, GpuUse, Outcome, Trial
from flashdoctor.tune.memory import MemoryPlan, Settings
from flashdoctor.tune.pins import Pin
from flashdoctor.tune.plan import Decision, Planner

DEFAULT = "defaults"
CHOSEN = "chosen"
SAME_PRECISION = "same-precision"
PEAK = "peak, GPU in use"
MOST = 9

_HIGH = 0.95
_GIB = 1 << 30
_ENTRY = "llm"
"""Trials run the LLM class, whose default batches are larger than the server's."""

_NOT_KEYWORDS = frozenset(
    {"entry", "engine", "environment", "hybrid_kv_cache", "cpu_offload_bytes", "cudagraph_mode"}
)


class _Try(NamedTuple):
    name: str
    settings: Settings
    why: str


class Planned(NamedTuple):
    """A trial, and the memory account of its settings."""

    trial: Trial
    account: MemoryPlan


def trials_of(planner: Planner, decision: Decision) -> tuple[Planned, ...]:
    """Return the engine's defaults first, then what was chosen and its neighbours; no two alike.

    What answers most comes first, as the time may not do for all. All keep the pins and the context
    that was decided on. Where an fp8 KV cache was chosen, the same settings without it come
    second. What the memory account refuses is left out, but the defaults.
    """
    found: dict[str, Planned] = {}
    for one in _tries(planner, decision):
        held = _held(planner, one.settings, decision)
        keywords = keywords_of(held, planner.request.pins)
        key = json.dumps(keywords, sort_keys=True, default=str)
        account = planner.account(held)
        if key not in found and (not found or account.fits):
            found[key] = Planned(Trial(one.name, keywords, one.why), account)
    return tuple(found.values())[:MOST]


def _held(planner: Planner, settings: Settings, decision: Decision) -> Settings:
    """Put the pins back, and the context."""
    pins = {key: value for key, value in planner.pinned.items() if key != "max_model_len"}
    held = {**pins, "max_model_len": decision.memory.max_model_len, "entry": _ENTRY}
    return replace(settings, **held)


def _tries(planner: Planner, decision: Decision) -> Iterator[_Try]:
    chosen = decision.settings
    plain = replace(
        chosen, max_num_seqs=None, max_num_batched_tokens=None, gpu_memory_utilization=None
    )
    full = planner.pinned.get("kv_cache_dtype", "auto")
    yield _Try(DEFAULT, replace(plain, kv_cache_dtype=full), "what the engine does by itself")
    if chosen.kv_cache_dtype != full:
        same = replace(chosen, kv_cache_dtype=full)
        yield _Try(SAME_PRECISION, same, "what was chosen, without the fp8 KV cache")
    yield _Try(CHOSEN, chosen, "what the account and the goal say")
    yield from _neighbours(planner, chosen)
    if chosen.kv_cache_dtype != full:
        yield _Try("defaults-fp8-kv", plain, "the dtype of the KV cache alone")


def _neighbours(planner: Planner, chosen: Settings) -> Iterator[_Try]:
    """Yield settings a step away from what was chosen.

    More requests at once than CUDA graphs cover come late, as they measured slower.
    """
    seqs, tokens = chosen.max_num_seqs or 256, chosen.max_num_batched_tokens or 2048
    for size, word in ((tokens * 2, "twice"), (max(tokens // 2, seqs), "half")):
        changed = replace(chosen, max_num_batched_tokens=size)
        yield _Try(f"step-{size}", changed, f"{word} the tokens of a step")
    for count, word in ((max(seqs // 2, 1), "half"), (seqs * 2, "twice")):
        size = max(tokens, count)
        changed = replace(chosen, max_num_seqs=count, max_num_batched_tokens=size)
        yield _Try(f"requests-{count}", changed, f"{word} the requests at once")
    share = planner.account(chosen).settings.gpu_memory_utilization or _HIGH
    if share < _HIGH and not planner.request.gpu.used_bytes:
        more = replace(chosen, gpu_memory_utilization=_HIGH)
        yield _Try("more-memory", more, f"a larger KV cache: {_HIGH} of the GPU")


def keywords_of(settings: Settings, pins: Mapping[str, Pin] | None = None) -> dict[str, Any]:
    """Return settings, and pins that are no setting, as keywords of `vllm.LLM`.

    What is left to the engine is left out.
    """
    plain = Settings()
    found: dict[str, Any] = {}
    for name, pin in (pins or {}).items():
        keyword, value = name.replace("-", "_"), _value(pin)
        if keyword not in _FIELDS and "." not in name:
            found[keyword] = value
    for name in _FIELDS - _NOT_KEYWORDS:
        value = getattr(settings, name)
        if value != getattr(plain, name):
            found[name] = list(value) if isinstance(value, tuple) else value
    if not settings.hybrid_kv_cache:
        found["disable_hybrid_kv_cache_manager"] = True
    if settings.cpu_offload_bytes:
        found["cpu_offload_gb"] = settings.cpu_offload_bytes / _GIB
    return dict(sorted(found.items()))


_FIELDS = frozenset(field.name for field in fields(Settings))


def _value(pin: Pin) -> Any:
    """Return a pin's value as JSON reads it, else as it is written; a switch is true or false."""
    if pin.value is None:
        return pin.is_on
    try:
        return json.loads(pin.value)
    except (ValueError, RecursionError):
        return pin.value


def read_engine(log: str) -> dict[str, Any]:
    """Return what an engine's log says of itself, by fact path: `engine.kv_tokens`, ..."""
    reading = scan(
        read_lines([log.encode("utf-8", "replace")]), index=make_index(()), parsers=[PARSER]
    )
    return {fact.path: fact.value for fact in reading.snapshot if fact.is_known}


def same_precision(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Return the trials whose KV cache has the dtype that it has in the engine's defaults."""
    base = next((item for item in outcomes if item.trial.name == DEFAULT), None)
    if base is None:
        return ()
    dtype = base.trial.settings.get("kv_cache_dtype")
    return tuple(item for item in outcomes if item.trial.settings.get("kv_cache_dtype") == dtype)


def best_of(outcomes: Sequence[Outcome]) -> Outcome | None:
    """Return the trial with the most output tokens a second, None where nothing ran."""
    ran = [outcome for outcome in outcomes if outcome.ran and outcome.output_tps]
    return max(ran, key=lambda outcome: outcome.output_tps or 0.0, default=None)


def gain_of(outcome: Outcome, outcomes: Iterable[Outcome]) -> float | None:
    """Return how many times as fast as the engine's defaults a trial was."""
    base = next((o.output_tps for o in outcomes if o.ran and o.trial.name == DEFAULT), None)
    return outcome.output_tps / base if base and outcome.ran and outcome.output_tps else None


def compare(
    plan: MemoryPlan, engine: Mapping[str, Any], use: GpuUse | None = None
) -> tuple[Compared, ...]:
    """Return each figure that the engine logged, and the GPU's memory in use, beside the account's.

    The peak is what the GPU had in use at the most, less what it had before.
    """
    predicted = {
        "weights": ("engine.weights_gib", plan.weights_bytes / _GIB),
        "activations": ("engine.activation_gib", plan.activation_bytes / _GIB),
        "KV cache": ("engine.kv_gib", plan.kv_bytes / _GIB),
        "KV tokens": ("engine.kv_tokens", float(plan.kv_tokens)),
        "CUDA graphs": ("engine.graphs_gib", plan.graphs_bytes / _GIB),
    }
    found = [
        Compared(name, value, float(engine[path]), "the engine's log")
        for name, (path, value) in predicted.items()
        if isinstance(engine.get(path), (int, float))
    ]
    if use is not None and use.rise_gib > 0:
        said = f"NVML every {use.every_ms} ms, less what was in use before"
        found.append(Compared(PEAK, plan.peak_bytes / _GIB, round(use.rise_gib, 3), said))
    return tuple(found)
