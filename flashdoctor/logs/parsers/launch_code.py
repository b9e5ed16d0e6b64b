"""Python that loads a model: the arguments of `LLM(...)`, `from_pretrained(...)` and others. Pure.

Only a literal counts: `attn_implementation=impl` in a library's frame says nothing.
Texts of errors that advise an argument are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from flashdoctor.logs.launches import clean_model
from flashdoctor.logs.statements import STATED, BlockParser, say
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "Python code"
_MAX_LINES = 60
_MAX_FLAGS = 40

_CALL = regex(
    r"(?<![\w.])(?P<name>(?:\w{1,40}\.){0,4}(?:LLM|AsyncEngineArgs|EngineArgs|AsyncLLM|from_pretrained"
    r"|from_config|pipeline|Engine|SentenceTransformer|from_engine_args|SFTConfig|BitsAndBytesConfig))"
    r"\((?P<rest>.{0,2000})"
)
_PROGRAMS: Mapping[str, str] = {
    "LLM": "vllm",
    "AsyncEngineArgs": "vllm",
    "EngineArgs": "vllm",
    "AsyncLLM": "vllm",
    "Engine": "sglang",
    "from_pretrained": "transformers",
    "from_config": "transformers",
    "pipeline": "transformers",
    "SentenceTransformer": "transformers",
}
_TAKES_MODEL = frozenset({"LLM", "from_pretrained", "SentenceTransformer", "pipeline"})
_NOT_A_MODEL = regex(r"Tokenizer|Processor|Config|Peft|Dataset")
_LITERAL = (
    r"(?:[\"'](?P<text>[^\"'\n]{1,200})[\"']|(?P<bare>torch\.\w{1,20}|\d[\d_.e-]{0,12}|True|False))"
)
_KEYWORD = regex(rf"(?<![\w.])[\"']?(?P<key>[a-z_]\w{{1,40}})[\"']?\s?(?:=(?!=)|:)\s?{_LITERAL}")
_FIRST = regex(r"^\s*[\"'](?P<model>[^\"'\n]{2,200})[\"']\s*(?:,|\)|$)")
_TASK = regex(r"[a-z]+(?:-[a-z0-9]+){1,4}")
_ATTENTION = regex(
    r"(?:^|[\s,({\"'`.])_?attn_implementation[\"']?\s?(?:=(?!=)|:)\s?[\"'](?P<value>[\w./@-]{2,60})[\"']"
    r"|^\s*(?:- )?attn_implementation: (?P<plain>[\w./@-]{2,60})\s*$"
    r"|\buse_flash_attention_2\s?=\s?True|\buse_flash_attn\s?=\s?True"
)
_ADVICE = regex(
    r"(?:Error|Warning|Exception)\b[:(]|\b(?:please|example|try|instead|meanwhile|should|specify|set(?:ting)?"
    r"|pass(?:ing)?|supports?|got|must|deprecated|available|not supported|only|either|default"
    r"|to use|if you|you can|argument)\b",
    re.IGNORECASE,
)
_GOES_ON = regex(
    r"^\s*(?:>>> ?|\.\.\. ?)?\s*(?:[A-Za-z_]\w{0,60}\s?(?:=(?!=)|,)|[\"'{}\[\]()#*]"
    r"|[A-Za-z_][\w.]{0,80}\(|$)"
)


def _number(text: str) -> int | None:
    digits = text.replace("_", "")
    return int(digits) if digits.isdigit() else None


def _fraction(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d?\.?\d{1,6}", text) else None


def _word(text: str) -> str | None:
    return text.removeprefix("torch.") if re.fullmatch(r"[A-Za-z][\w.+-]{0,60}", text) else None


def _bits(text: str) -> str | None:
    return "bitsandbytes" if text == "True" else None


_KEYS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "tensor_parallel_size": ("launch.tensor_parallel_size", _number),
    "tp_size": ("launch.tensor_parallel_size", _number),
    "gpu_memory_utilization": ("launch.gpu_memory_utilization", _fraction),
    "mem_fraction_static": ("launch.gpu_memory_utilization", _fraction),
    "max_model_len": ("launch.max_model_len", _number),
    "max_seq_len": ("launch.max_model_len", _number),
    "context_length": ("launch.max_model_len", _number),
    "quantization": ("launch.quantization", _word),
    "load_in_4bit": ("launch.quantization", _bits),
    "load_in_8bit": ("launch.quantization", _bits),
    "dtype": ("launch.dtype", _word),
    "torch_dtype": ("launch.dtype", _word),
    "kv_cache_dtype": ("launch.kv_cache_dtype", _word),
    "attention_backend": ("launch.attention_backend", _word),
    "model": ("model.name", clean_model),
    "model_path": ("model.name", clean_model),
    "model_name": ("model.name", clean_model),
    "pretrained_model_name_or_path": ("model.name", clean_model),
}
_KEPT = frozenset(
    {"device_map", "load_in_4bit", "load_in_8bit", "enforce_eager", "trust_remote_code",
     "attn_implementation", "use_flash_attention_2", "bnb_4bit_compute_dtype", "max_num_seqs",
     "max_num_batched_tokens", "low_cpu_mem_usage", "pipeline_parallel_size", "swap_space"}
)  # fmt: skip


class _Feed:
    """One call that may go on over lines, until its brackets are closed."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.open = False
        self._depth = 0
        self._is_bare = True  # nothing stood inside the brackets so far
        self._lines = 0
        self._name = ""
        self._flags: dict[str, str] = {}
        self._line: Line | None = None

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line of code."""
        if self.open and _GOES_ON.match(line.text):
            yield from self._take(line.text, line)
        else:
            yield from self._close()
            call = _CALL.search(line.text)
            if call and not _ADVICE.search(line.text[: call.start()]):
                yield from self._begin(call, line)
        yield from _attention(line, inside=self._line is not None)
        self.open = self._depth > 0 and self._lines < _MAX_LINES
        if not self.open:
            yield from self._close()

    def end(self) -> Iterable[Found]:
        """Give the arguments that the paste ended with."""
        return self._close()

    def _begin(self, call: re.Match[str], line: Line) -> Iterator[Found]:
        whole = call["name"]
        self._name = whole.rpartition(".")[2]
        self._line, self._depth, self._lines = line, 1, 0
        if self._name in _PROGRAMS and not _NOT_A_MODEL.search(whole):
            yield say("launch.program", _PROGRAMS[self._name], line, SOURCE, STATED)
        yield from self._take(call["rest"], line)

    def _take(self, text: str, line: Line) -> Iterator[Found]:
        if self._is_bare:
            yield from self._first(text, line)
        self._is_bare = self._is_bare and not text.strip()
        self._lines += 1
        for match in _KEYWORD.finditer(text):
            key, value = match["key"], match["text"] or match["bare"]
            yield from _keyword(key, value, line)
            if key in _KEPT and len(self._flags) < _MAX_FLAGS:
                self._flags.setdefault(key, value.removeprefix("torch."))
        self._depth += text.count("(") - text.count(")")

    def _first(self, text: str, line: Line) -> Iterator[Found]:
        first = _FIRST.match(text)
        if first and self._name in _TAKES_MODEL and not _TASK.fullmatch(first["model"]):
            model = clean_model(first["model"])
            if model:
                yield say("model.name", model, line, SOURCE, STATED)

    def _close(self) -> Iterator[Found]:
        flags, line = self._flags, self._line
        self._clear()
        if line is not None and flags:
            records = [{"name": name, "value": value} for name, value in flags.items()]
            yield say("launch.flags", records, line, SOURCE, STATED)


def _keyword(key: str, text: str, line: Line) -> Iterator[Found]:
    path, reader = _KEYS.get(key, ("", _word))
    value = reader(text) if path else None
    if value is not None:
        yield say(path, value, line, SOURCE, STATED)


def _attention(line: Line, *, inside: bool) -> Iterator[Found]:
    """Yield what a literal `attn_implementation` says, unless the line is advice."""
    match = _ATTENTION.search(line.text)
    if match is None or (not inside and _ADVICE.search(line.text)):
        return
    value = match["value"] or match["plain"] or "flash_attention_2"
    yield say("launch.attn_implementation", value, line, SOURCE, STATED)


PARSER = BlockParser(
    kind=SOURCE,
    keywords=(
        "llm(", "engineargs(", "asyncllm(", "from_pretrained(", "from_config(", "pipeline(",
        ".engine(", "sentencetransformer(", "attn_implementation", "use_flash_att",
        "bitsandbytesconfig(",
    ),
    make=_Feed,
)  # fmt: skip
