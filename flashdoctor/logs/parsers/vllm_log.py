"""Start-up lines of vLLM, from 0.2 (engine V0) to 0.33 (engine V1). Pure.

Workers repeat lines, and each may have its own size of the KV cache: vLLM takes the smallest, so
sizes are kept until the paste ends or the next engine starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from flashdoctor.logs.launches import clean_model
from flashdoctor.logs.parsers._vllm_backends import backend_of
from flashdoctor.logs.statements import STATED, BlockParser, read, say
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "vLLM's log"
_NUMBER = r"(-?\d[\d,]{0,14}(?:\.\d{1,9})?)"
_VERSION = r"v?(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?[\w.+-]{0,60})"

_START = regex(
    rf"vLLM API server version {_VERSION}|vLLM server version {_VERSION}, serving model"
    rf"|Initializing an? (?:V[01] )?LLM engine \({_VERSION}\) with config"
    rf"|\u2588\s+version {_VERSION}\s*$"
)
_CONFIG = regex(
    r"Initializing an? (?:V[01] )?LLM engine (?:\(\S{1,80}\) )?with config: ?(?P<all>.*)"
)
_ARGUMENTS = regex(r"(?:args: Namespace\(|non-default args: \{)(?P<all>.*)")
_FIELD = regex(
    r"(?:^|[\s,({])['\"]?(?P<key>[a-z_]{3,40})['\"]?(?:=|: )"
    r"(?:'(?P<text>[^']{1,300})'|\"(?P<quoted>[^\"]{1,300})\"|(?P<bare>[\w.:/-]{1,80}))"
)
_LOGO_MODEL = regex(r"(?:\u2588\s+model   |, serving model )(\S{2,200})\s*$")

_Row = tuple[str, str, re.Pattern[str]]
"""A keyword in lower case that stands in the line, the fact's path, and where its value stands."""

_SIZES: tuple[_Row, ...] = (
    ("kv cache size", "engine.kv_tokens", regex(rf"GPU KV cache size: {_NUMBER} tokens")),
    (" blocks: ", "engine.kv_blocks", regex(rf"# (?:GPU|cuda|CUDA) blocks: {_NUMBER},")),
    ("num_gpu_blocks is", "engine.kv_blocks", regex(rf"num_gpu_blocks is: {_NUMBER}")),
    ("kv cache memory", "engine.kv_gib",
     regex(rf"Available KV cache memory: {_NUMBER} ?GiB")),
    ("kv cache is ", "engine.kv_gib", regex(rf"reserved for KV Cache is {_NUMBER} ?GiB")),
    ("kv_cache_size=", "engine.kv_gib", regex(rf"\bkv_cache_size={_NUMBER}GiB")),
    ("maximum concurrency", "engine.max_concurrency",
     regex(rf"Maximum concurrency for [\d,]{{1,15}} tokens per request: {_NUMBER}x")),
)  # fmt: skip
_VALUES: tuple[_Row, ...] = (
    ("model weights took", "engine.weights_gib",
     regex(rf"Loading model weights took {_NUMBER} ?Gi?B")),
    ("model loading took", "engine.weights_gib",
     regex(rf"Model loading took {_NUMBER} ?Gi?B")),
    ("for peak activation", "engine.activation_gib",
     regex(rf"{_NUMBER} ?GiB for peak activation")),
    ("activation peak memory takes", "engine.activation_gib",
     regex(rf"activation peak memory takes {_NUMBER} ?GiB")),
    ("graph capturing finished", "engine.graphs_gib",
     regex(rf"Graph capturing finished in \d{{1,6}} secs?, took {_NUMBER} GiB")),
    ("max model len", "engine.max_model_len", regex(rf"Using max model len {_NUMBER}")),
    ("maximum concurrency", "engine.max_model_len",
     regex(rf"Maximum concurrency for {_NUMBER} tokens per request")),
    ("flashattention version", "engine.fa_version",
     regex(r"(?:^|\] |\s)Using FlashAttention version ([234])\b")),
    ("casting torch.", "engine.dtype",
     regex(r"Casting torch\.\w{4,16} to torch\.(\w{4,16})")),
    ("data type to store kv cache", "engine.kv_cache_dtype",
     regex(r"Using (fp8\w{0,12}) data type to store kv cache")),
    ("convertible to", "engine.quantization",
     regex(r"convertible to (\w{2,40}) during runtime")),
    ("resolved architecture", "model.type", regex(r"Resolved architecture: (\w{3,80})")),
    ("nccl==", "torch.nccl", regex(r"vLLM is using nccl==(\d+\.\d+(?:\.\d+)?)")),
    ("gpu_memory_utilization (", "engine.gpu_memory_utilization",
     regex(r"gpu_memory_utilization \((\d?\.\d{1,6})\)")),
    ("gpu_memory_utilization=", "engine.gpu_memory_utilization",
     regex(r"\bgpu_memory_utilization=(\d?\.\d{1,6}|1)\b")),
)  # fmt: skip
_STARTS = ("vllm api server version", "vllm server version", "llm engine", "  version ")
_CONFIGURES = ("  model   ", "serving model ", "with config", "args: namespace(", "default args")
_EAGER = ("cudagraph is disabled under eager mode", "enforce eager set, disabling")
_READY = ("application startup complete", "uvicorn running on", "init engine (profile, create kv")
_TOTAL = regex(rf"total_gpu_memory(?: \(|=){_NUMBER}GiB")

_ENGINE_FIELDS: Mapping[str, str] = {
    "dtype": "engine.dtype",
    "max_seq_len": "engine.max_model_len",
    "tensor_parallel_size": "engine.tensor_parallel_size",
    "quantization": "engine.quantization",
    "kv_cache_dtype": "engine.kv_cache_dtype",
    "enforce_eager": "engine.enforce_eager",
    "model": "model.name",
}
_LAUNCH_FIELDS: Mapping[str, str] = {
    "model": "model.name",
    "model_tag": "model.name",
    "tensor_parallel_size": "launch.tensor_parallel_size",
    "gpu_memory_utilization": "launch.gpu_memory_utilization",
    "max_model_len": "launch.max_model_len",
    "quantization": "launch.quantization",
    "dtype": "launch.dtype",
    "kv_cache_dtype": "launch.kv_cache_dtype",
    "attention_backend": "launch.attention_backend",
    "enforce_eager": "engine.enforce_eager",
}
_NOTHING = frozenset({"None", "auto", "null", ""})


class _Feed:
    """One paste: what was said already, and the sizes of the engine that starts."""

    def __init__(self) -> None:
        self.open = False
        self._seen = False
        self._low: dict[str, tuple[float, Line]] = {}
        self._block_size: int | None = None

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line of a log."""
        folded = line.text.lower()
        start = _START.search(line.text) if _holds(folded, _STARTS) else None
        if start:
            yield from self._begin(start, line)
        if _holds(folded, _CONFIGURES):
            yield from self._configured(line)
        self._keep_sizes(folded, line)
        for path, text in _matches(_VALUES, folded, line.text):
            self._seen = True
            yield from read(path, text, line, SOURCE)
        yield from self._others(folded, line)

    def _others(self, folded: str, line: Line) -> Iterator[Found]:
        total = _TOTAL.search(line.text) if "total_gpu_memory" in folded else None
        if total:
            mib = round(float(total[1].replace(",", "")) * 1024)
            yield say("gpu.memory_mib", mib, line, SOURCE, STATED)
        backend = backend_of(line.text) if "backend" in folded else None
        if backend:
            self._seen = True
            yield say("engine.attention_backend", backend, line, SOURCE)
        if _holds(folded, _EAGER):
            yield say("engine.enforce_eager", True, line, SOURCE)
        if self._seen and _holds(folded, _READY):
            yield say("engine.ready", True, line, SOURCE)

    def end(self) -> Iterable[Found]:
        """Give the sizes of the last engine."""
        return self._flush()

    def _begin(self, start: re.Match[str], line: Line) -> Iterator[Found]:
        version = next(group for group in start.groups() if group)
        self._seen = True
        if "with config" in line.text:
            yield from self._flush()
        yield say("engine.name", "vllm", line, SOURCE)
        yield from read("vllm.version", version.rstrip(".,)"), line, SOURCE)

    def _configured(self, line: Line) -> Iterator[Found]:
        """Read the engine's configuration, or the arguments that it was started with."""
        logo, config = _LOGO_MODEL.search(line.text), _CONFIG.search(line.text)
        arguments = None if config else _ARGUMENTS.search(line.text)
        if logo:
            yield from _model(logo[1], line)
        if config:
            self._seen = True
            yield say("engine.name", "vllm", line, SOURCE)
            yield from _fields(config["all"], _ENGINE_FIELDS, line)
        elif arguments:
            yield from self._launched(arguments["all"], line)

    def _launched(self, text: str, line: Line) -> Iterator[Found]:
        self._seen = True
        fields = dict(_pairs(text))
        if fields.get("block_size", "").isdigit():
            self._block_size = int(fields["block_size"])
        yield say("engine.name", "vllm", line, SOURCE)
        yield say("launch.program", "vllm", line, SOURCE)
        yield from _fields(text, _LAUNCH_FIELDS, line)

    def _keep_sizes(self, folded: str, line: Line) -> None:
        for path, text in _matches(_SIZES, folded, line.text):
            self._seen = True
            value = float(text.replace(",", ""))
            held = self._low.get(path)
            if held is None or value < held[0]:
                self._low[path] = value, line

    def _flush(self) -> Iterator[Found]:
        low, self._low = self._low, {}
        if "engine.kv_tokens" not in low and "engine.kv_blocks" in low and self._block_size:
            blocks, line = low["engine.kv_blocks"]
            low["engine.kv_tokens"] = blocks * self._block_size, line
        for path, (value, line) in low.items():
            whole = path in {"engine.kv_tokens", "engine.kv_blocks"}
            yield say(path, int(value) if whole else value, line, SOURCE)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for match in _FIELD.finditer(text):
        value = match["text"] or match["quoted"] or match["bare"]
        yield match["key"], value


def _fields(text: str, paths: Mapping[str, str], line: Line) -> Iterator[Found]:
    """Yield the first value of each field; one that is left to vLLM says nothing."""
    done: set[str] = set()
    for key, value in _pairs(text):
        path = paths.get(key)
        if path is None or path in done or value in _NOTHING:
            continue
        done.add(path)
        if path == "model.name":
            yield from _model(value, line)
        else:
            yield from read(path, value.removeprefix("torch."), line, SOURCE)


def _model(text: str, line: Line) -> Iterator[Found]:
    name = clean_model(text)
    if name:
        yield say("model.name", name, line, SOURCE)


def _holds(folded: str, keywords: Iterable[str]) -> bool:
    return any(keyword in folded for keyword in keywords)


def _matches(rows: Iterable[_Row], folded: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each value in a line."""
    for keyword, path, pattern in rows:
        match = pattern.search(text) if keyword in folded else None
        if match:
            yield path, match[1]


PARSER = BlockParser(
    kind="vLLM log",
    keywords=(
        *(*_STARTS, *_CONFIGURES, *_EAGER, *_READY, "total_gpu_memory", "backend"),
        *(keyword for keyword, _, _ in (*_SIZES, *_VALUES)),
    ),
    make=_Feed,
)
