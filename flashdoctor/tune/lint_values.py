"""Values that a flag's release does not take. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from flashdoctor.model.lint import LintFinding
from flashdoctor.model.regex import regex
from flashdoctor.tune.argv import Given
from flashdoctor.tune.flags import Flag
from flashdoctor.tune.kinds import WRONG_VALUE
from flashdoctor.tune.lint_findings import Context, make, source_of, text_of
from flashdoctor.tune.lint_names import is_placeholder
from flashdoctor.tune.words import Word

TRUTHS = {"true": True, "false": False}
_INT = regex(r"\s*[+-]?\d+(?:_\d+)*\s*")
_SIZE = regex(r"\s*(\d+(?:\.\d+)?)([kKmMgGtT])\s*")
_DECIMAL = regex(r"\d*\.\d+")
_HUMAN = regex(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
_SCALES = {
    "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
    "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40,
}  # fmt: skip
_SIZES_SINCE = "0.8.4"
_AUTO_SINCE = "0.14.0"
_NONE = frozenset({"", "None"})
_POSITIVE = frozenset(
    {
        "tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "max-num-seqs",
        "max-num-batched-tokens", "max-model-len", "block-size",
    }
)  # fmt: skip
_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}
_PLUGINS = frozenset({"quantization", "load-format", "attention-backend"})
"""Where a plugin can add values that no table knows."""


class _Wrong(NamedTuple):
    why: str
    replacement: str | None = None
    warn: bool = False


def value_findings(context: Context) -> Iterator[LintFinding]:
    """Yield what is wrong with the values of the flags of a launch."""
    for given in context.parsed.given:
        wrong = _judge(given, context) if given.flag else None
        if wrong is not None and given.flag is not None:
            place = given.values[0] if given.values else given.written
            row = context.table.rows.get(given.flag.name, {})
            yield make(
                WRONG_VALUE,
                place,
                f"{text_of(given)} {wrong.why}",
                flag=text_of(given),
                replacement=wrong.replacement,
                severity="warning" if wrong.warn else None,
                sources=source_of(row, context.tables.table("launch/flags")["meta"]),
            )


def read_size(text: str) -> int | None:
    """Return the number in `32768`, `32k` or `32K`, None for what vLLM takes for no number."""
    if _INT.fullmatch(text):
        return int(text)
    match = _SIZE.fullmatch(text)
    if match is None or (match[2].isupper() and "." in match[1]):
        return None
    return int(float(match[1]) * _SCALES[match[2]])


def _judge(given: Given, context: Context) -> _Wrong | None:
    flag = given.flag
    if flag is None or any(is_placeholder(value) for value in given.values):
        return None
    if not given.values:
        optional = flag.is_switch or flag.optional or flag.kind == "store_boolean"
        return None if optional and not given.key else _Wrong("needs a value")
    if given.key:
        return None
    if flag.is_switch:
        return _of_switch(given, flag)
    wrongs = (_of_value(value, flag, context) for value in given.values if value not in _NONE)
    return next((wrong for wrong in wrongs if wrong is not None), None)


def _of_switch(given: Given, flag: Flag) -> _Wrong:
    truth = TRUTHS.get(given.values[0].lower())
    on = f"--{flag.name}"
    off = f"--no-{flag.name}" if flag.kind == "bool_optional" else None
    instead = {True: on, False: off, None: None}[truth]
    if truth is not None and given.negative:
        instead = off if truth else on
    return _Wrong("is a switch and takes no value", instead)


def _of_value(value: Word, flag: Flag, context: Context) -> _Wrong | None:
    if flag.kind == "store_boolean":
        return None if value.lower() in TRUTHS else _Wrong(f"takes true or false, not {value!s}")
    if flag.choices is not None:
        return _of_choices(value, flag)
    reader = _READERS.get(flag.takes)
    return reader(value, flag, context) if reader else None


def _of_choices(value: Word, flag: Flag) -> _Wrong | None:
    texts = [str(choice) for choice in flag.choices or () if choice is not None]
    if flag.name == "optimization-level" and f"O{value}" in texts:
        return None
    folded = flag.name == "attention-backend"
    known = {text.lower() for text in texts} if folded else set(texts)
    if not texts or (value.lower() if folded else value) in known or (folded and value == "auto"):
        return None
    close = _nearest(value.upper() if folded else value, texts, flag)
    replacement = f"--{flag.name} {close}" if close else None
    shown = ", ".join(texts[:12]) + (", ..." if len(texts) > 12 else "")  # noqa: PLR2004 - a line
    warn = flag.name in _PLUGINS and flag.name != "attention-backend"
    return _Wrong(f"does not take {value!s}: it takes {shown}", replacement, warn)


def _nearest(value: str, texts: list[str], flag: Flag) -> str | None:
    """Return the choice that was likely meant."""
    if flag.name == "dtype":
        value = _DTYPES.get(value, value)
    if flag.takes == "int":
        number = int(value) if _INT.fullmatch(value) else None
        return None if number is None else min(texts, key=lambda text: abs(int(text) - number))
    close = get_close_matches(value, texts, n=5)
    return max(close, key=lambda text: _begins_alike(value, text), default=None)


def _begins_alike(one: str, other: str) -> int:
    """Return how many letters two texts share from their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _of_int(value: Word, flag: Flag, _context: Context) -> _Wrong | None:
    if not _INT.fullmatch(value):
        return _Wrong(f"takes a whole number, not {value!s}")
    if flag.name in _POSITIVE and int(value) < 1:
        return _Wrong(f"must be at least 1, not {value!s}")
    return None


def _of_size(value: Word, flag: Flag, context: Context) -> _Wrong | None:
    release = context.table.release
    if flag.name == "max-model-len" and value.lower() in ("auto", "-1"):
        if release.reached(_AUTO_SINCE):
            return None
        return _Wrong(f"takes {value!s} from vLLM {_AUTO_SINCE} on only")
    number = read_size(value)
    if number is None:
        return _Wrong(f"takes a whole number such as 32768, not {value!s}")
    if not _INT.fullmatch(value) and not release.reached(_SIZES_SINCE):
        return _Wrong(
            f"takes {value!s} from vLLM {_SIZES_SINCE} on only", f"--{flag.name} {number}"
        )
    if flag.name in _POSITIVE and number < 1:
        return _Wrong(f"must be at least 1, not {value!s}")
    return None


def _of_float(value: Word, flag: Flag, _context: Context) -> _Wrong | None:
    try:
        number = float(value)
    except ValueError:
        point = value.replace(",", ".", 1)
        meant = f"--{flag.name} {point}" if _DECIMAL.fullmatch(point) else None
        return _Wrong(f"takes a number, not {value!s}", meant)
    if flag.name == "gpu-memory-utilization" and not 0 < number <= 1:
        share = f"--{flag.name} {number / 100:g}" if 1 < number <= 100 else None  # noqa: PLR2004
        return _Wrong(f"is a fraction of the GPU's memory, above 0 and up to 1, not {value!s}",
                      share)  # fmt: skip
    return None


def _of_json(value: Word, flag: Flag, _context: Context) -> _Wrong | None:
    try:
        json.loads(_HUMAN.sub("1", value) if '"' not in value else _expanded(value))
    except (ValueError, RecursionError):
        return _Wrong(f"takes JSON, not {value!s}", _as_json(value, flag))
    return None


def _expanded(text: str) -> str:
    """Replace `80m` outside of quotes, as newer releases do."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    parts[::2] = [_HUMAN.sub("1", part) for part in parts[::2]]
    return "".join(parts)


def _as_json(text: str, flag: Flag) -> str | None:
    """Return `image=4,video=1` as JSON, and what stands in single quotes with double ones."""
    pairs = [part.partition("=") for part in text.split(",")]
    if all(key.isidentifier() and _INT.fullmatch(value) for key, _, value in pairs):
        body = json.dumps({key: int(value) for key, _, value in pairs})
        return f"--{flag.name} '{body}'"
    swapped = text.replace("'", '"')
    try:
        json.loads(swapped)
    except (ValueError, RecursionError):
        return None
    return f"--{flag.name} '{swapped}'" if swapped != text else None


_READERS: Mapping[str, Callable[[Word, Flag, Context], _Wrong | None]] = {
    "int": _of_int,
    "size": _of_size,
    "float": _of_float,
    "json": _of_json,
}


def number_of(given: Given | None) -> int | float | None:
    """Return a flag's number where it was given one."""
    if given is None or not given.values:
        return None
    size = read_size(given.values[-1])
    if size is not None:
        return size
    try:
        return float(given.values[-1])
    except ValueError:
        return None


def text_value(given: Given | None) -> Any:
    """Return a flag's last value as a text, None where it has none."""
    return str(given.values[-1]) if given is not None and given.values else None
