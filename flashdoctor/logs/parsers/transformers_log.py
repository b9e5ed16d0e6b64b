"""What transformers says while it loads a model: attention asked for, class, dtype. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.logs.statements import STATED, LineParser, say
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "transformers' messages"

_ASKED = regex(
    r"You are attempting to use Flash ?Attention(?: (?P<spaced>[23])(?:\.0)?|(?P<stuck>[23])"
    r"(?:\.0)?)"
    r"|FlashAttention(?P<toggled>[234]) has been toggled on"
    r"|Flash Attention (?P<only>[23])(?:\.0)? only supports torch\.float16"
)
_CURRENT = regex(
    r"but the current dyp?e? ?(?:type)? ?in (?P<cls>[A-Z]\w{2,80}) is torch\.(?P<dtype>\w{4,16})"
    r"|but the current d(?:type|ype) in (?P<cls2>[A-Z]\w{2,80}) is torch\.(?P<dtype2>\w{4,16})"
)
_NOT_YET = regex(
    r"^\s*(?:ValueError: )?(?P<cls>[A-Z]\w{2,80}) does not support (?:Flash Attention "
    r"(?P<number>[234])"
    r"|an attention implementation through (?P<sdpa>torch\.nn\.functional\.scaled_dot_product))"
)
_USED = regex(
    r"(?:_attn_implementation(?:_internal)?)[`'\"]?\s?(?:is|prints|shows|->|=>|returns)?\s?[:=]?\s?"
    r"['\"`](?P<name>eager|sdpa|flash_attention_[234]|flex_attention|paged\|\w{2,20})['\"`]"
)
_PRINTED = regex(r"config\.(?:text_config\.)?_attn_implementation\b")
_FELL_BACK = regex(
    r"[Ff]alling back to (?:the manual attention|eager attention)"
    r"|Setting `?attn_implementation`? to "
    r"[`'\"](?P<to>\w{3,30})"
)


def _read(line: Line) -> Iterator[Found]:
    text = line.text
    asked = _ASKED.search(text)
    if asked:
        number = next(group for group in asked.groups() if group)
        yield say("launch.attn_implementation", f"flash_attention_{number}", line, SOURCE, STATED)
        yield say("engine.name", "transformers", line, SOURCE)
    current = _CURRENT.search(text)
    if current:
        yield say("model.type", current["cls"] or current["cls2"], line, SOURCE)
        yield say("engine.dtype", current["dtype"] or current["dtype2"], line, SOURCE)
    refused = _NOT_YET.search(text)
    if refused:
        wanted = f"flash_attention_{refused['number']}" if refused["number"] else "sdpa"
        yield say("model.type", refused["cls"], line, SOURCE)
        yield say("engine.name", "transformers", line, SOURCE)
        yield say("launch.attn_implementation", wanted, line, SOURCE, STATED)
    used = _USED.search(text) if _PRINTED.search(text) else None
    if used:
        yield say("engine.name", "transformers", line, SOURCE)
        yield say("engine.attention_backend", used["name"], line, SOURCE, STATED)
    elif fell := _FELL_BACK.search(text):
        backend = fell["to"] or "eager"
        yield say("engine.attention_backend", backend, line, SOURCE, STATED)


PARSER = LineParser(
    kind="transformers' messages",
    keywords=(
        "attempting to use flash", "has been toggled on", "only supports torch.float16",
        "does not support flash attention", "does not support an attention implementation",
        "_attn_implementation", "falling back to the manual", "falling back to eager attention",
        "setting `attn_implementation`", "setting attn_implementation",
    ),
    read=_read,
)  # fmt: skip
