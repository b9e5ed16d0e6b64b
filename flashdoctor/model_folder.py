"""Reads a model's folder: its config.json, the headers of its weights, what stands beside them.

Of the weights no more than the headers is read, and no code of the model is run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flashdoctor.errors import InputError, UsageError
from flashdoctor.model.llm import Model
from flashdoctor.tune.config import read_config
from flashdoctor.tune.custom_code import find_attention_by_hand
from flashdoctor.tune.model_findings import Files, model_facts
from flashdoctor.tune.packing import read_packing
from flashdoctor.tune.safetensors import (
    PREFIX,
    Header,
    Index,
    Stored,
    header_length,
    parse_header,
    parse_index,
)
from flashdoctor.tune.weights import count_weights

MAX_TEXT = 64 * 1024 * 1024
"""An index of a very large model has 10 MiB."""

MAX_CODE = 4 * 1024 * 1024
MAX_FILES = 4096

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
_MODELOPT = "hf_quant_config.json"
_TOKENIZERS = (
    "tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "vocab.txt", "spiece.model",
    "*.tiktoken", "tokenizer.model.v*", "tokenization_*.py", "*.spm",
)  # fmt: skip
_NOT_LOADED = ("consolidated", "adapter_")
"""Copies in Mistral's own format and adapters: vLLM loads neither beside model*.safetensors."""


def read_model(name: str, cache: str | None = None) -> Model:
    """Read a model by its folder, its config.json, or its name in Hugging Face's local cache.

    Nothing is downloaded. Raises `UsageError` where there is no such model here, `InputError`
    where its config cannot be understood. What is wrong with its other files is in its facts.
    """
    path = Path(name).expanduser()
    try:
        if path.is_file():
            return _read_file(path)
        folder = path if path.is_dir() else _cached(name, cache)
        folder = _snapshot(folder) or folder
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {name}: {_reason(error)}") from None
    if not (folder / CONFIG).is_file():
        raise UsageError(f"{name} has no config.json", hint="give the folder that holds one")
    return _read_folder(folder, name)


def _read_file(path: Path) -> Model:
    if path.suffix != ".json":
        raise UsageError(
            f"{path.name} is no config.json", hint="give a model's folder or its config.json"
        )
    model = read_config(_read_json(path), path.resolve().parent.name)
    return replace(model, facts=model_facts(model))


def _cached(name: str, cache: str | None) -> Path:
    """Return the folder of a model that was downloaded before, by its name `owner/model`."""
    home = cache or _cache_folder()
    folder = Path(home) / f"models--{name.strip('/').replace('/', '--')}"
    if name.count("/") == 1 and not name.startswith((".", "/")) and folder.is_dir():
        return folder
    raise UsageError(
        f"{name} is neither a folder nor a model in {home}",
        hint="download it first (`hf download NAME`), or give a folder with its config.json",
    )


def _cache_folder() -> str:
    """Return where huggingface_hub keeps models (its constants.py)."""
    if os.environ.get("HF_HUB_CACHE"):
        return os.environ["HF_HUB_CACHE"]
    home = os.environ.get("HF_HOME") or str(Path("~/.cache/huggingface").expanduser())
    return str(Path(home) / "hub")


def _snapshot(folder: Path) -> Path | None:
    """Return the newest snapshot in a folder of Hugging Face's cache, None for another folder."""
    snapshots = folder / "snapshots"
    if (folder / CONFIG).exists() or not snapshots.is_dir():
        return None
    main = folder / "refs" / "main"
    named = snapshots / main.read_text(encoding="utf-8").strip() if main.is_file() else None
    if named is not None and named.is_dir():
        return named
    found = [path for path in snapshots.iterdir() if path.is_dir()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _read_folder(folder: Path, name: str) -> Model:
    try:
        names = sorted(entry.name for entry in folder.iterdir())[: MAX_FILES * 4]
        model = read_config(_with_modelopt(folder), _display(folder, name))
        model, files = _read_weights(folder, names, model)
        files = files._replace(code_without_flash=tuple(_code(folder, names)))
    except OSError as error:
        raise InputError(f"cannot read {name}: {_reason(error)}") from None
    return replace(model, facts=model_facts(model, files))


def _display(folder: Path, name: str) -> str:
    given = name.rstrip("/")
    return given if given.count("/") == 1 and folder.name not in given else folder.resolve().name


def _with_modelopt(folder: Path) -> Mapping[str, Any]:
    """Return the config; ModelOpt states its quantization in another file, which vLLM reads."""
    body = _read_json(folder / CONFIG)
    beside = folder / _MODELOPT
    if "quantization_config" in body or not beside.is_file():
        return body
    part = _read_json(beside).get("quantization")
    return (
        {**body, "quantization_config": {"quant_method": "modelopt", **part}}
        if isinstance(part, dict)
        else body
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        body: Any = json.loads(_read_text(path, MAX_TEXT))
    except (ValueError, RecursionError):
        raise InputError(f"{path.name} is no JSON") from None
    except OSError as error:
        raise InputError(f"cannot read {path.name}: {_reason(error)}") from None
    if not isinstance(body, dict):
        raise InputError(f"{path.name} is no JSON object")
    return body


def _read_text(path: Path, most: int) -> str:
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path.name} is larger than {most >> 20} MiB")
    return data.decode("utf-8-sig", errors="replace")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


# --- weights ---


def _read_weights(folder: Path, names: list[str], model: Model) -> tuple[Model, Files]:
    index = parse_index(_read_text(folder / INDEX, MAX_TEXT)) if INDEX in names else None
    shards = _shards(names, index)
    if not shards:
        return model, Files(tokenizer=_tokenizer(folder, names))
    missing = [shard for shard in shards if shard not in names or not (folder / shard).is_file()]
    headers, damaged = _headers(folder, [shard for shard in shards if shard not in missing])
    files = Files(
        shards_missing=tuple(missing),
        shards_damaged=tuple(damaged),
        tensors_missing=() if missing or damaged else tuple(_lacking(index, headers)),
        tensors_repeated=tuple(_repeated(headers)),
        tokenizer=_has_tokenizer(folder),
    )
    if missing or damaged:
        return model, files
    tensors = {key: stored for header in headers.values() for key, stored in header.tensors.items()}
    bits = model.quantization.bits if model.quantization else None
    weights = count_weights(tensors, model.weights, model)
    return replace(model, weights=weights), files._replace(packing=read_packing(tensors, bits))


def _shards(names: list[str], index: Index | None) -> list[str]:
    if index is not None:
        return sorted(set(index.files.values()))[:MAX_FILES]
    files = [name for name in names if name.endswith(".safetensors")]
    return [name for name in files if not name.startswith(_NOT_LOADED)][:MAX_FILES]


def _headers(folder: Path, shards: list[str]) -> tuple[dict[str, Header], list[str]]:
    headers: dict[str, Header] = {}
    damaged: list[str] = []
    for shard in shards:
        try:
            headers[shard] = read_header(folder / shard)
        except InputError as error:
            damaged.append(error.message)
    return headers, damaged


def read_header(path: Path) -> Header:
    """Read the header of a safetensors file; `InputError` where it is damaged or cut off."""
    with path.open("rb") as file:
        length = header_length(file.read(PREFIX), path.name)
        data = file.read(length)
    size = path.stat().st_size
    if len(data) < length:
        raise InputError(f"{path.name} is cut off inside of its header")
    header = parse_header(data, path.name)
    if size < header.data_end:
        raise InputError(f"{path.name} is cut off: {size} of {header.data_end} bytes")
    if size > header.data_end:
        raise InputError(f"{path.name} has {size - header.data_end} bytes too many")
    return header


def _lacking(index: Index | None, headers: Mapping[str, Header]) -> Iterator[str]:
    for tensor, shard in (index.files if index else {}).items():
        if shard in headers and tensor not in headers[shard].tensors:
            yield tensor


def _repeated(headers: Mapping[str, Header]) -> Iterator[str]:
    seen: dict[str, Stored] = {}
    for shard, header in headers.items():
        yield from (f"{shard}: {pair}" for pair in header.overlaps)
        yield from (f"{shard}: {tensor}" for tensor in header.tensors if tensor in seen)
        seen.update(header.tensors)


def _tokenizer(folder: Path, names: list[str]) -> bool | None:
    """Return whether there is a tokenizer; None for a folder that holds nothing but a config."""
    weights = any(name.endswith((".bin", ".pt", ".pth")) for name in names)
    return _has_tokenizer(folder) if weights else None


def _has_tokenizer(folder: Path) -> bool:
    return any(next(folder.glob(pattern), None) is not None for pattern in _TOKENIZERS)


def _code(folder: Path, names: list[str]) -> Iterator[str]:
    """Yield file and line of attention that the model's own code computes by hand."""
    for name in names:
        if name.startswith("modeling") and name.endswith(".py"):
            with (folder / name).open("rb") as file:
                line = find_attention_by_hand(file.read(MAX_CODE).decode("utf-8", "replace"))
            if line is not None:
                yield f"{name}:{line}"
