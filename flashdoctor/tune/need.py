"""What a model asks of attention, and how rows speak of GPUs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flashdoctor.model.llm import Model
from flashdoctor.model.versions import Capability, capability
from flashdoctor.tune.spans import Row

AMPERE = Capability(8, 0)
_PREFIX_MODELS = frozenset({"gemma3", "molmo2", "paligemma"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a model and its settings ask of a backend. `head_size` of MLA is the latent's, 576.

    `full_head_size` is the head of an MLA model where a release runs it as any other.
    `bundled` holds the FlashAttention versions of the build, None where the build is not known;
    `flash_version` and `backend` are what the user asks for.
    """

    capability: Capability
    dtype: str
    head_size: int
    v_head_size: int
    heads: int = 1
    mla: bool = False
    full_head_size: int | None = None
    sparse: bool = False
    multimodal_prefix: bool = False
    kv_dtype: str = "auto"
    block_size: int | None = None
    sliding_window: bool = False
    sinks: bool = False
    alibi: bool = False
    backend: str | None = None
    flash_version: int | None = None
    bundled: frozenset[int] | None = None

    @property
    def fp8_kv(self) -> bool:
        """Whether the KV cache is one of the fp8 kinds."""
        return self.kv_dtype.startswith("fp8")


def need_of(  # noqa: PLR0913 - one setting is one parameter
    model: Model,
    gpu: Capability,
    *,
    dtype: str,
    kv_dtype: str = "auto",
    tensor_parallel: int = 1,
    block_size: int | None = None,
    backend: str | None = None,
    flash_version: int | None = None,
    bundled: frozenset[int] | None = None,
) -> Need:
    """Return what this model asks of an attention backend."""
    mla = model.mla if model.mla and model.mla.compressed else None
    return Need(
        capability=gpu,
        dtype=dtype,
        head_size=mla.kv_lora_rank + mla.qk_rope if mla else model.head_dim,
        v_head_size=mla.kv_lora_rank if mla else model.v_head_dim,
        heads=max(1, model.heads // tensor_parallel),
        mla=mla is not None,
        full_head_size=mla.qk_nope + mla.qk_rope if mla else None,
        sparse=mla is not None and mla.indexer_head_dim is not None,
        multimodal_prefix=model.vision and model.model_type in _PREFIX_MODELS,
        kv_dtype=kv_dtype,
        block_size=block_size,
        sliding_window=any(layer.kind == "sliding" for layer in model.layers),
        sinks=model.sinks,
        alibi=model.alibi,
        backend=_plain_name(backend),
        flash_version=flash_version,
        bundled=bundled,
    )


def _plain_name(backend: str | None) -> str | None:
    return None if backend is None or backend.lower() == "auto" else backend.upper()


def is_about(row: Row, rows: Iterable[Row], gpu: Capability) -> bool:
    """Whether a row speaks of this GPU: by its capability, by its major, else as `other`."""
    named = {str(each["capability"]) for each in rows}
    wanted = next((w for w in (str(gpu), f"{gpu.major}.x") if w in named), "other")
    return bool(row["capability"] == wanted)


def is_outside(row: Row, gpu: Capability) -> bool:
    """Whether a GPU is outside of a row's `capability`, `min_capability`, `majors`, ..."""
    lowest, highest = row.get("min_capability"), row.get("max_capability")
    return (
        ("capability" in row and not _matches(str(row["capability"]), gpu))
        or ("not_capability" in row and _matches(str(row["not_capability"]), gpu))
        or (lowest is not None and gpu < (capability(lowest) or gpu))
        or (highest is not None and gpu > (capability(highest) or gpu))
        or ("majors" in row and gpu.major not in row["majors"])
    )


def _matches(text: str, gpu: Capability) -> bool:
    return text in {str(gpu), f"{gpu.major}.x"}
