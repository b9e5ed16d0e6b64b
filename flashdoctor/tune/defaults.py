"""The settings that vLLM fills in itself: which engine and runner, and its scheduler's sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from flashdoctor.errors import MatrixError
from flashdoctor.model.llm import KEEPS_KV, KEEPS_STATE
from flashdoctor.model.versions import Capability, capability
from flashdoctor.tune import spans
from flashdoctor.tune.memory_types import GIB

if TYPE_CHECKING:
    from flashdoctor.data.tables import Tables
    from flashdoctor.model.llm import Model
    from flashdoctor.tune.memory_types import Gpu, Settings

_AMPERE = Capability(8, 0)
_DEFAULT_LENGTH = 2048
"""What vLLM takes where a config has no length."""
_MIN_V0_CHUNKED = 32768


class Case(NamedTuple):
    """A model on a GPU with one release: `settings` has no None left that memory depends on."""

    model: Model
    gpu: Gpu
    settings: Settings
    version: str
    engine: str
    runner: str
    tables: Tables

    def rows(self, section: str) -> list[spans.Row]:
        """Return the rows of one section of matrices/launch/memory.toml."""
        rows: list[spans.Row] = self.tables.table("launch/memory")[section]
        return rows

    def row(self, section: str, **wanted: Any) -> spans.Row | None:
        """Return the row for the release among those with these values."""
        fitting = [
            row
            for row in self.rows(section)
            if all(row.get(key, value) == value for key, value in wanted.items())
        ]
        return spans.row_at(fitting, self.version)

    def constant(self, name: str) -> float:
        """Return a constant of the release; its rows are `name`, `name-early` and `name-later`."""
        names = {name, f"{name}-early", f"{name}-later"}
        row = spans.row_at(
            [row for row in self.rows("constant") if row["id"] in names], self.version
        )
        if row is None:
            raise MatrixError(f"launch/memory.toml has no constant {name!r}")
        return float(row["value"])


def fill(model: Model, gpu: Gpu, settings: Settings, version: str, tables: Tables) -> Case:
    """Return the case that vLLM makes of these settings; `UsageError` where there is no version."""
    engine = _engine(gpu, settings, version, tables)
    case = Case(model, gpu, settings, version, engine, engine, tables)
    case = case._replace(runner=_runner(case))
    for step in (_common, _scheduler, _graphs):
        case = case._replace(settings=step(case))
    return case


def _engine(gpu: Gpu, settings: Settings, version: str, tables: Tables) -> str:
    row = spans.row_at(tables.table("launch/attention")["engine"], version)
    usual = str(row["engine"]) if row else "V1"
    if row is None or row["state"] == "only":
        return usual
    asked = settings.engine or {"0": "V0", "1": "V1"}.get(settings.variable("VLLM_USE_V1") or "")
    if asked or usual == "V0":
        return asked or usual
    refusals = spans.rows_at(tables.table("launch/attention")["v1_refusal"], version)
    return "V0" if {row["id"] for row in refusals} & _reasons(gpu, settings) else "V1"


def _reasons(gpu: Gpu, settings: Settings) -> set[str]:
    """Return what the first releases of V1 refuse, by the ids of attention.toml."""
    found = set()
    if gpu.capability and gpu.capability < _AMPERE:
        found.add("capability")
    if settings.kv_cache_dtype.startswith("fp8") and gpu.capability != Capability(9, 0):
        found.add("fp8-kv-cache")
    if settings.dtype in {"float", "float32"}:
        found.add("dtype")
    return found


def _runner(case: Case) -> str:
    if case.engine == "V0":
        return "V0"
    forced = case.settings.variable("VLLM_USE_V2_MODEL_RUNNER")
    if forced in {"0", "1"} and spans.order(case.version) >= spans.order("0.12.0"):
        return "V2" if forced == "1" else "V1"
    row = case.row("runner") or {"second": "never"}
    return "V2" if _second(case.model, row) else "V1"


def _second(model: Model, row: spans.Row) -> bool:
    if row["second"] in {"never", "always"}:
        return bool(row["second"] == "always")
    state = any(layer.kind in KEEPS_STATE for layer in model.layers)
    if row["second"] == "dense" and model.moe is None and not state:
        return True
    listed = model.architecture in row.get("architectures", ())
    quantized = row["first"] == "0.22.1" and model.quantization is not None
    return listed and not quantized


def _common(case: Case) -> Settings:
    given = case.settings
    usage = given.gpu_memory_utilization
    return replace(
        given,
        max_model_len=given.max_model_len or case.model.max_positions or _DEFAULT_LENGTH,
        gpu_memory_utilization=_default(case, "gpu-memory-utilization") if usage is None else usage,
        dtype=_dtype(case),
        enable_chunked_prefill=_chunked(case),
        enable_prefix_caching=_prefix(case),
        async_scheduling=_asynchronous(case),
    )


def _default(case: Case, setting: str) -> Any:
    row = case.row("default", setting=setting, engine=case.engine)
    return None if row is None else row["value"]


def _dtype(case: Case) -> str:
    """Return the dtype that the engine computes in; bfloat16 needs compute capability 8.0."""
    asked = {"half": "float16", "float": "float32", "auto": None}
    given = asked.get(case.settings.dtype or "auto", case.settings.dtype)
    dtype = given or case.model.dtype or "bfloat16"
    if given is None and dtype == "float32":
        dtype = "bfloat16"
    old = case.gpu.capability is not None and case.gpu.capability < _AMPERE
    return "float16" if given is None and dtype == "bfloat16" and old else dtype


def _chunked(case: Case) -> bool:
    if case.settings.enable_chunked_prefill is not None:
        return case.settings.enable_chunked_prefill
    if case.engine == "V1":
        return case.model.task == "generate"
    length = case.settings.max_model_len or case.model.max_positions or _DEFAULT_LENGTH
    plain = not case.model.vision and case.model.sliding_window is None
    known = spans.order(case.version) >= spans.order("0.5.3.post1")
    return known and plain and length > _MIN_V0_CHUNKED


def _prefix(case: Case) -> bool:
    if case.settings.enable_prefix_caching is not None:
        return case.settings.enable_prefix_caching
    if case.engine == "V0":
        return False
    kinds = {layer.kind for layer in case.model.layers}
    if not kinds & KEEPS_STATE:
        return True
    return bool(kinds & KEEPS_KV) and bool(_default(case, "hybrid-prefix-caching"))


def _asynchronous(case: Case) -> bool:
    if case.settings.async_scheduling is not None:
        return case.settings.async_scheduling
    return case.engine == "V1" and spans.order(case.version) >= spans.order("0.14.0")


def _scheduler(case: Case) -> Settings:
    given = case.settings
    tokens, seqs = _sizes(case)
    length = given.max_model_len or _DEFAULT_LENGTH
    if not given.enable_chunked_prefill:
        tokens = max(tokens, length)
    seqs = given.max_num_seqs or seqs
    if case.engine == "V1":
        tokens = min(tokens, seqs * length)
    tokens = given.max_num_batched_tokens or tokens
    if given.max_num_seqs is None and case.engine == "V1":
        seqs = min(seqs, tokens)
    return replace(given, max_num_batched_tokens=tokens, max_num_seqs=seqs)


def _sizes(case: Case) -> tuple[int, int]:
    """Return max-num-batched-tokens and max-num-seqs before they are fitted to each other."""
    if case.engine == "V0":
        row = case.row("scheduler_v0") or {}
        chunked = case.settings.enable_chunked_prefill
        key = "chunked_batched_tokens" if chunked else "least_batched_tokens"
        return int(row[key]), int(row["max_num_seqs"])
    row = _tier(case)
    key = "llm_batched_tokens" if case.settings.entry == "llm" else "serve_batched_tokens"
    return int(row[key]), int(row["max_num_seqs"])


def _tier(case: Case) -> spans.Row:
    """Return the largest tier of the release that takes the GPU."""
    nearest = case.row("scheduler_v1") or {}
    at = case.version if spans.holds(nearest, case.version) else str(nearest["last"])
    tiers = spans.rows_at(case.rows("scheduler_v1"), at)
    fitting = [row for row in tiers if _takes(row, case.gpu)]
    return max(fitting, key=lambda row: int(row["min_memory_gib"]))


def _takes(row: spans.Row, gpu: Gpu) -> bool:
    name = (gpu.name or "").lower()
    excluded = [capability(text) for text in row.get("not_capabilities", ())]
    return (
        gpu.total_bytes >= row["min_memory_gib"] * GIB
        and not any(word in name for word in row.get("not_names", ()))
        and (gpu.capability is None or gpu.capability not in excluded)
    )


def _graphs(case: Case) -> Settings:
    given = case.settings
    if given.enforce_eager:
        return replace(given, cudagraph_mode="NONE")
    usual = "FULL" if case.engine == "V0" else _default(case, "cudagraph-mode")
    return replace(given, cudagraph_mode=(given.cudagraph_mode or usual).upper())
