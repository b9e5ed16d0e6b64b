"""A shell's command line taken apart: words, assignments in front, flags. Pure, nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from flashdoctor.model.regex import regex

_WORD = regex(r"(?:\"[^\"]*\"|'[^']*'|\\.|[^\s\"'\\]|[\"'\\])+")
_END = regex(r"(?:&&|\|\|?|;|&|\d?>>?&?\d?|<)")
_SECRET = regex(r"(?:.*[-_])?(?:key|token|password|passwd|secret|credentials?)")
_ASSIGNMENT = regex(r"[A-Za-z_]\w{0,80}=.*", re.DOTALL)
_HEAD = regex(
    r"(?:/\S*/)?(?:sudo|nohup|time|exec|env|command|uv|poetry|pipenv|conda|micromamba|srun|mpirun"
    r"|numactl|stdbuf|then|do|nice|CMD|ENTRYPOINT|RUN)"
)
_MAX_WORDS = 400
_MAX_SHOWN = 600
_BOOLEAN = regex(
    r"(?:enable|disable|no|trust|skip|use|allow|enforce|return|async|is|do|load-in|auto)-.*"
    r"|headless|bf16|fp16|tf32|help|version|verbose|debug|rm|it|d|i|t|privileged|init|standalone"
    r"|grpc|flash-attention|sharded|quiet|calculate-kv-scales|fully-sharded-loras"
    r"|.*-(?:only|metrics|stack|lb|use-ray)|numa-bind|monokernel"
)
_TAKES_VALUE = frozenset(
    {"load-format", "no-proxy", "async-engine", "enable-lora-bias", "auto-mapping"}
)
_TRUTH = frozenset({"true", "false", "0", "1", "yes", "no"})
_QUANTITY = regex(r"(\d{1,9}(?:\.\d{1,3})?)([kKmMgG]?)")
_SCALES = {"": 1, "k": 1000, "K": 1024, "m": 10**6, "M": 1024**2, "g": 10**9, "G": 1024**3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Flags by name without dashes, `_` as `-`, in their order; and the other words."""

    flags: dict[str, str | None] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    def first(self, *names: str) -> str | None:
        """Return the value of the first of some flags that is there with one."""
        return next((value for name in names if (value := self.flags.get(name))), None)


def split_words(text: str) -> list[str]:
    """Split a line as a shell does, up to the first operator; no quote has to be closed."""
    words: list[str] = []
    for match in _WORD.finditer(text):
        word = match[0]
        if _END.fullmatch(word) or word.startswith("#") or len(words) >= _MAX_WORDS:
            break
        words.append(_plain(word.removesuffix(";")))
    return words


def _plain(word: str) -> str:
    return re.sub(r"\"([^\"]*)\"|'([^']*)'|\\(.)", lambda m: m[1] or m[2] or m[3] or "", word)


def skip_prefix(words: Sequence[str]) -> int:
    """Return where the program stands behind assignments, `sudo`, `nohup`, `uv run`."""
    at = 0
    while at < len(words):
        word = words[at]
        if _ASSIGNMENT.fullmatch(word) or word in {"$", "#", "%", "!", ">", "export", "-"}:
            at += 1
        elif _HEAD.fullmatch(word):
            at += 1
            while at < len(words) and (words[at] == "run" or words[at].startswith("-")):
                at += 2 if words[at] in {"-n", "-p", "-u"} else 1
        else:
            break
    return at


def read_arguments(words: Sequence[str]) -> Arguments:
    """Sort words into flags and others; a flag takes the next word where that is its value."""
    flags: dict[str, str | None] = {}
    others: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not _is_flag(word):
            others.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = flag_name(name)
        if not equals and at < len(words) and _is_value(name, words[at]):
            value, equals = words[at], "="
            at += 1
        flags.setdefault(name, value if equals else None)
    return Arguments(flags=flags, words=tuple(others))


def flag_name(name: str) -> str:
    """Return a flag's name as it is compared: vLLM takes `_` for `-` up to the first dot."""
    head, dot, tail = name.partition(".")
    return head.replace("_", "-") + dot + tail


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not re.fullmatch(r"-\d[\d.]*", word)


def _is_value(name: str, word: str) -> bool:
    if _is_flag(word):
        return False
    if _BOOLEAN.fullmatch(name) and name not in _TAKES_VALUE:
        return word.lower() in _TRUTH
    return True


def shown(words: Sequence[str]) -> str:
    """Return a command as one line, without the values that are secret."""
    return " ".join(_without_secrets(words))[:_MAX_SHOWN]


def _without_secrets(words: Sequence[str]) -> Iterator[str]:
    hide = False
    for word in words:
        name, equals, _ = word.partition("=")
        plain = name.lstrip("-").lower()
        secret = _SECRET.fullmatch(plain) is not None and (equals != "" or _is_flag(word))
        if secret and equals:
            yield f"{name}=<secret>"
        elif hide and not _is_flag(word):
            yield "<secret>"
        else:
            yield word
        hide = secret and not equals


def visible_flags(arguments: Arguments) -> list[dict[str, str | None]]:
    """Return the flags as records, without the values that are secret."""
    return [
        {"name": name, "value": "<secret>" if value and _SECRET.fullmatch(name) else value}
        for name, value in arguments.flags.items()
    ]


def read_quantity(text: str) -> int | None:
    """Return the number in `32768`, `32k` (thousands) or `32K` (of 1024), None for others."""
    match = _QUANTITY.fullmatch(text.replace(",", ""))
    return round(float(match[1]) * _SCALES[match[2]]) if match else None
