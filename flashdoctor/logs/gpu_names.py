"""Product names of GPUs in text that people and programs write. Pure.

What a name means stands in the tables; here it is only found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from flashdoctor.model.regex import regex

_MAKER = r"(?:(?:NVIDIA|GeForce|Tesla|Quadro|GRID)[ -]?)"
_NUMBERS = r"(?:10[5-8]0|16[56]0|20[5-8]0|30[5-9]0|40[5-9]0|50[5-9]0)"
# Nothing but a GPU is called so, whatever stands around it.
_SURE = (
    r"(?:(?:RTX|GTX)[ -]?(?:PRO[ -]?)?[AT]?\d{3,4}|MX ?[1-5][3-7]0|GT ?\d{3,4}"
    r"|Quadro (?:RTX|GV|GP|P|M|T|K) ?\d{3,4}|TITAN (?:X(?: \(Pascal\))?|RTX|Xp|V)|RTX TITAN"
    r"|GH200|GB200|GB300|GB10|B300|B200|H200|H100|H800|H20|A100X?|A800X?|A10G|A6000|A5000|A4000"
    r"|A40|A30|L40S?|V100S?|P100|K80"
    r"|Jetson(?: (?:AGX|Orin|Xavier|Nano|Thor|TX2|NX|Super)){1,4}|AGX (?:Orin|Thor|Xavier)"
    r"|DGX Spark)"
)
# So short that the maker must stand in front, or a label that says what it is.
_SHORT = rf"(?:T4G?|L4|L20|L2|A10|A16|A2|P4|P40|M40|M60|T1000|T600|Orin|Thor|{_NUMBERS})"
_TAIL = (
    r"(?:[ -]?(?:Ti|SUPER|Laptop|Mobile|Max-Q|Design|Ada|Blackwell|Lovelace|Workstation|Server"
    r"|Edition|Generation|SXM\d?|PCIe|NVL|HBM\d?e?|FE|GPU|D|M|MIG \d+g\.\d+gb|\d{1,3} ?Gi?B?)"
    r"(?!\w))"
)
_LEFT = r"(?<![\w.+/])(?<![A-Za-z]-)"
_RIGHT = r"(?P<plural>s?)(?![\w/+]|\.\w|-[A-Za-z])"
_BEFORE = r"(?:(?P<before>\d{1,3}) ?[x\xd7*] ?)?"
_AFTER = r"(?: ?[(]? ?[x\xd7*] ?(?P<after>\d{1,3})(?![\w.]))?"
_MENTION = regex(
    rf"{_LEFT}{_BEFORE}(?P<name>{_MAKER}{{0,3}}{_SURE}{_TAIL}{{0,6}}"
    rf"|{_MAKER}{{1,3}}{_SHORT}{_TAIL}{{0,6}}){_RIGHT}{_AFTER}",
    re.IGNORECASE,
)
_NAMED = regex(
    rf"{_LEFT}{_BEFORE}(?P<name>{_MAKER}{{0,3}}(?:{_SURE}|{_SHORT}){_TAIL}{{0,6}}){_RIGHT}{_AFTER}",
    re.IGNORECASE,
)
_COUNTED = regex(
    rf"{_LEFT}(?:(?P<before>\d{{1,2}}) ?[x\xd7*] ?(?P<name>{_SHORT}{_TAIL}{{0,3}}){_RIGHT}"
    rf"|(?P<other>{_NUMBERS}{_TAIL}{{0,3}}) ?[x\xd7*] ?(?P<after>\d{{1,2}})(?!\w))",
    re.IGNORECASE,
)
_PLAIN_COUNT = regex(
    r"(?<![\w.])(\d{1,3})(?: ?[x\xd7*] ?|(?<=1) (?=GPU\b)| (?=(?:[\w()-]{1,30} ){0,2}GPUs\b))"
    r"(?!Gi?B?\b|MB\b|W\b)(?:[\w()-]{1,30} ){0,2}GPUs?\b",
    re.IGNORECASE,
)
_PLAIN_NUMBER = regex(r"(?<![\w.])(\d{1,2}) $")
_ROW = regex(
    r"(?:NVIDIA|Tesla|Quadro|GeForce|TITAN|GRID|Jetson|Orin|Thor|Graphics Device)\b"
    r"[\w ()./+-]{0,60}"
)
_BRANDS = frozenset({"nvidia", "geforce", "tesla", "quadro", "rtx", "gtx", "grid", "titan", "gpu"})


class Mention(NamedTuple):
    """A GPU that a text names, the number of them where it says, and where it stands."""

    name: str
    number: int | None
    start: int
    end: int


def find_gpus(text: str, *, labelled: bool = False) -> Iterator[Mention]:
    """Yield what a text names: `8xH100`, `RTX 4090 x 2`, `Tesla V100-SXM2-32GB`.

    Where a label says that a GPU follows, names such as `T4` and `3090 Ti` count as well.
    """
    several = False
    for match in (_NAMED if labelled else _MENTION).finditer(text):
        several = True
        name = " ".join(match["name"].split())
        yield Mention(name, _count(match, text), match.start(), match.end())
    for match in () if several or labelled else _COUNTED.finditer(text):
        number = match["before"] or match["after"]
        yield Mention(match["name"] or match["other"], int(number), match.start(), match.end())


def _count(match: re.Match[str], text: str) -> int | None:
    number = match["before"] or match["after"]
    if number is None and match["plural"]:
        bare = _PLAIN_NUMBER.search(text[max(0, match.start() - 4) : match.start()])
        number = bare[1] if bare else None
    return int(number) if number else None


def is_gpu_row(text: str) -> bool:
    """Whether a whole cell of nvidia-smi's output can be the name of a GPU."""
    return bool(_ROW.fullmatch(text) or _NAMED.fullmatch(text))


def find_count(text: str) -> int | None:
    """Return the number in `8x NVLink GPUs` or `2 GPUs`, which name no product."""
    match = _PLAIN_COUNT.search(text)
    return int(match[1]) if match else None


def whole_words(name: str) -> str | None:
    """Return what is certain of a name that nvidia-smi cut (`NVIDIA A100-SXM...`), or None.

    The last word is left out where it may go on behind the dots.
    """
    text = name.removesuffix("...")
    if text == name:
        return name or None
    if not text.endswith(" "):
        text = re.sub(r"[ -]?[^ -]*$", "", text)
    words = re.findall(r"[a-z0-9]+", text.lower())
    return text.strip() if set(words) - _BRANDS else None
