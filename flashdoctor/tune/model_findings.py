"""What a model's files say, as facts under `model.*`; the rules FD641 and following judge them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flashdoctor.model.facts import Fact, known, known_or_absent
from flashdoctor.model.llm import Model
from flashdoctor.tune.packing import Packing
from flashdoctor.tune.quantization import scheme_of
from flashdoctor.tune.weights import GIB

CONFIG = "config.json"
HEADERS = "safetensors headers"
FOLDER = "model folder"

_MOST_NAMED = 20


class Files(NamedTuple):
    """What was found beside a config.json. None: there was nothing to look at.

    `packing` is None where not all headers could be read.
    """

    packing: Packing | None = None
    shards_missing: tuple[str, ...] = ()
    shards_damaged: tuple[str, ...] = ()
    tensors_missing: tuple[str, ...] = ()
    tensors_repeated: tuple[str, ...] = ()
    tokenizer: bool | None = None
    code_without_flash: tuple[str, ...] = ()


def model_facts(model: Model, files: Files | None = None) -> tuple[Fact, ...]:
    """Return what is known of a model; without `files`, what its config alone says."""
    return (*_config_facts(model), *(_file_facts(files) if files else ()))


def _config_facts(model: Model) -> Iterator[Fact]:
    quantization = model.quantization
    yield known("model.name", model.name, CONFIG)
    yield known_or_absent("model.type", model.model_type or None, CONFIG)
    yield known_or_absent("model.architecture", model.architecture or None, CONFIG)
    yield known_or_absent("model.dtype", model.dtype, CONFIG)
    yield known("model.heads", model.heads, CONFIG)
    yield known("model.kv_heads", model.kv_heads, CONFIG)
    yield known_or_absent("model.head_dim", kernel_head_dim(model), CONFIG)
    yield known_or_absent("model.max_positions", model.max_positions, CONFIG)
    yield known_or_absent(
        "model.quantization", quantization.method if quantization else None, CONFIG
    )
    yield known_or_absent(
        "model.quantization_scheme", scheme_of(quantization) if quantization else None, CONFIG
    )
    yield known_or_absent(
        "model.quantization_bits", quantization.bits if quantization else None, CONFIG
    )
    yield known_or_absent(
        "model.quantization_group", quantization.group_size if quantization else None, CONFIG
    )
    source = model.weights.source
    yield known("model.weights_gib", round(model.weights.total_bytes / GIB, 3), source)
    yield known("model.weights_exact", model.weights.exact, source)
    yield known("model.custom_code", model.custom_code, CONFIG)


def kernel_head_dim(model: Model) -> int | None:
    """Return the widest head that a kernel gets; None with MLA, whose kernels are their own."""
    if model.mla is not None or not model.heads:
        return None
    return max(model.head_dim, *(layer.head_dim or 0 for layer in model.layers))


def _file_facts(files: Files) -> Iterator[Fact]:
    yield _names("model.shards_missing", files.shards_missing, "model.safetensors.index.json")
    yield _names("model.shards_damaged", files.shards_damaged, HEADERS)
    yield _names("model.tensors_missing", files.tensors_missing, "model.safetensors.index.json")
    yield _names("model.tensors_repeated", files.tensors_repeated, HEADERS)
    if files.packing is not None:
        yield known("model.packing", files.packing.method, HEADERS)
        yield known_or_absent("model.packing_bits", files.packing.bits, HEADERS)
        yield known_or_absent("model.packing_group", files.packing.group_size, HEADERS)
    if files.tokenizer is not None:
        yield known("model.tokenizer", files.tokenizer, FOLDER)
    yield _names("model.code_without_flash", files.code_without_flash, FOLDER)


def _names(path: str, names: Iterable[str], source: str) -> Fact:
    listed = sorted(set(names))
    over = len(listed) - _MOST_NAMED
    shown = [*listed[:_MOST_NAMED], *([f"and {over} more"] if over > 0 else [])]
    return known_or_absent(path, shown or None, source)
