"""Start-up lines of sglang, 0.2 to 0.5. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from flashdoctor.logs.launches import clean_model
from flashdoctor.logs.statements import REPORT, BlockParser, read, say
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "sglang's log"
_NUMBER = r"(-?\d[\d,]{0,14}(?:\.\d{1,4})?)"

_ARGUMENTS = regex(r"server_args=ServerArgs\((?P<all>.*)")
_FIELD = regex(
    r"(?:^|[\s,(])(?P<key>[a-z_]{3,40})=(?:'(?P<text>[^']{1,300})'|(?P<bare>[\w./:-]{1,80}))"
)
_PATHS: Mapping[str, str] = {
    "model_path": "model.name",
    "tp_size": "launch.tensor_parallel_size",
    "mem_fraction_static": "launch.gpu_memory_utilization",
    "context_length": "launch.max_model_len",
    "quantization": "launch.quantization",
    "dtype": "launch.dtype",
    "kv_cache_dtype": "launch.kv_cache_dtype",
    "attention_backend": "launch.attention_backend",
}
_NOTHING = frozenset({"None", "auto"})
_LINES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("engine.attention_backend", regex(
        r"(?<!Multimodal )[Aa]ttention backend not (?:set|explicitly specified)\. Use "
        r"(\w{2,30}) backend")),
    ("engine.kv_tokens", regex(rf"(?<!Virtual)KV Cache is allocated\. #tokens: {_NUMBER}")),
    ("engine.kv_tokens", regex(rf"(?:^|\s)max_total_num_tokens={_NUMBER}, ")),
    ("engine.weights_gib", regex(
        rf"Load weight end\..{{0,160}}? mem usage={_NUMBER} GB")),
    ("engine.dtype", regex(r"Load weight end\. .{0,80}?dtype=torch\.(\w{4,16})")),
    ("model.type", regex(r"Load weight end\. .{0,80}?type=(\w{3,80}),")),
    ("engine.graphs_gib", regex(
        rf"Capture cuda graph end\..{{0,80}}? mem usage={_NUMBER} GB")),
    ("engine.max_model_len", regex(rf"\bcontext_len={_NUMBER}(?:,|\s|$)")),
    ("engine.kv_cache_dtype", regex(r"Using KV cache dtype: torch\.(\w{4,20})")),
)  # fmt: skip
_READY = regex(r"The server is fired up and ready to roll")
_SIZES = regex(rf"KV Cache is allocated\..{{0,60}}K size: {_NUMBER} GB, V size: {_NUMBER} GB")


class _Feed:
    """Every fact once: each worker repeats the lines."""

    def __init__(self) -> None:
        self.open = False
        self._said: set[str] = set()

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line of a log."""
        for found in _read_line(line):
            if found.fact.path not in self._said:
                self._said.add(found.fact.path)
                yield found

    def end(self) -> Iterable[Found]:
        """Give nothing: no line is waited for."""
        return ()


def _read_line(line: Line) -> Iterator[Found]:
    text = line.text
    arguments = _ARGUMENTS.search(text)
    if arguments:
        yield say("engine.name", "sglang", line, SOURCE)
        yield say("launch.program", "sglang", line, SOURCE)
        yield from _fields(arguments["all"], line)
        return
    facts = [found for path, pattern in _LINES if (match := pattern.search(text))
             for found in read(path, match[1], line, SOURCE, REPORT)]  # fmt: skip
    if sizes := _SIZES.search(text):
        total = sum(float(size.replace(",", "")) for size in sizes.groups())
        facts.append(say("engine.kv_gib", round(total, 2), line, SOURCE))
    if _READY.search(text):
        facts.append(say("engine.ready", True, line, SOURCE))
    if facts:
        yield say("engine.name", "sglang", line, SOURCE)
    yield from facts


def _fields(text: str, line: Line) -> Iterator[Found]:
    for match in _FIELD.finditer(text):
        path, value = _PATHS.get(match["key"]), match["text"] or match["bare"]
        if path is None or value in _NOTHING:
            continue
        if path == "model.name":
            name = clean_model(value)
            if name:
                yield say(path, name, line, SOURCE)
        else:
            yield from read(path, value, line, SOURCE, REPORT)


PARSER = BlockParser(
    kind="sglang log",
    keywords=(
        "server_args=", "attention backend not", "kv cache is allocated", "max_total_num_tokens=",
        "load weight end", "capture cuda graph end", "kv cache dtype", "fired up and ready",
    ),
    make=_Feed,
)  # fmt: skip
