"""Start-up lines of text-generation-inference, 1 to 3; as text or inside its JSON. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.launches import clean_model
from flashdoctor.logs.statements import LineParser, read, say
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "text-generation-inference's log"

_ARGUMENTS = regex(r"Args \{ ?(?P<all>.{0,4000})")
_MODEL = regex(r"\bmodel_id: \\?\"([^\"\\]{1,200})\\?\"")
_FIELDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("launch.tensor_parallel_size", regex(r"\bnum_shard: Some\(\s?(\d{1,3})")),
    ("launch.quantization", regex(r"\bquantize: Some\(\s?(\w{2,30})")),
    ("launch.dtype", regex(r"\bdtype: Some\(\s?(\w{4,16})")),
    ("launch.max_model_len", regex(r"\bmax_total_tokens: (?:Some\(\s?)?(\d{1,8})")),
)
_LINES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("engine.attention_backend", regex(r"\bUsing [Aa]ttention(?: =)? (paged|flashinfer"
                                            r"|flashdecoding)\b")),
    ("engine.kv_tokens", regex(r"Setting max batch total tokens to (\d{1,9})")),
)  # fmt: skip
_READY = regex(r"text_generation_router.{0,80}?\bConnected\b")


def _read(line: Line) -> Iterator[Found]:
    text = line.text
    arguments = _ARGUMENTS.search(text)
    facts: list[Found] = []
    if arguments:
        facts.append(say("launch.program", "tgi", line, SOURCE))
        model = _MODEL.search(arguments["all"])
        name = clean_model(model[1]) if model else None
        if name is None:
            return  # another program's arguments
        facts.append(say("model.name", name, line, SOURCE))
        facts.extend(_found(_FIELDS, arguments["all"], line))
    facts.extend(_found(_LINES, text, line))
    if _READY.search(text):
        facts.append(say("engine.ready", True, line, SOURCE))
    if facts:
        yield say("engine.name", "tgi", line, SOURCE)
    yield from facts


def _found(fields: Iterable[tuple[str, re.Pattern[str]]], text: str, line: Line) -> Iterator[Found]:
    for path, pattern in fields:
        if match := pattern.search(text):
            lowered = match[1].lower() if path.startswith("launch.") else match[1]
            yield from read(path, lowered, line, SOURCE)


PARSER = LineParser(
    kind="text-generation-inference log",
    keywords=("args { ", "using attention", "max batch total tokens", "text_generation_router"),
    read=_read,
)
