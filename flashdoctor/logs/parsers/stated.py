"""What people state in short lines: `- GPU: RTX 4090 x 2`, `CUDA 12.4, driver 550`, tables. Pure.

A labelled line, and a line that is nothing but a list of such things, count as stated. What stands
in a sentence counts as a mention, and only where the whole paste mentions nothing else of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from flashdoctor.logs.items import Item, package_items, package_name
from flashdoctor.logs.labels import LABELS, SPEAKING
from flashdoctor.logs.mentions import find_mentions
from flashdoctor.logs.segments import segment_items, split_list
from flashdoctor.logs.statements import MENTION, STATED, BlockParser, say
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "stated in the text"
_MAX_LINE = 240
_MAX_CELLS = 12
_MAX_MENTIONS = 200
_MAX_SENTENCES = 2000
"""Lines that are searched for mentions: a paste in which somebody talks is short."""

_MAX_STATEMENTS = 2000
_MAX_LINES = 30_000
"""Lines that are looked at in all, and those that may state something: the first ones win."""

_BARE_CUDA = ("toolkit.version", 1)

_LABELLED = regex(
    r"^\s*(?:[-*•+>]\s+|\d{1,2}[.)]\s+|#{1,5}\s+|\|\s*)?[*_`]{0,3}"
    r"(?P<label>[A-Za-z#][\w .()/+#'-]{0,48}?)"
    r"[*_`]{0,3}\s{0,20}(?P<sep>:|=(?!=)|\||\u2192|->|=>)[*_`]{0,3}\s{0,40}"
    r"(?P<value>[^\s|=>].{0,200})$"
)
_EDGES = " \t|*`\"'"
_LOG = regex(
    r"^\s*(?:File \"|(?-i:[A-Z_]{3,40}=)|\||\+[ -]|\[(?:pip|conda|uv)|Traceback|at [\w.]+\(|\^|~"
    r"|(?:INFO|WARN(?:ING)?|ERROR|DEBUG|CRITICAL)\b|raise |return |import |from \S+ import|def "
    r"|class |\$ |>>> |#include|self\.|assert )|\w(?:Error|Exception|Warning)\b|\berror\b.{0,3}:"
    r"|https?://|\b(?:pip3?|conda|apt|apt-get|dnf|yum) install\b|\.py:\d"
    r"|\bnot (?:supported|found|compatible)\b|\brequires?\b",
    re.IGNORECASE,
)
_CELLS = regex(r"^\s*\|(?P<cells>.{3,400})\|\s*$")
_RULE = regex(r"^\s*\|[\s:|-]{3,200}\|?\s*$")


_WISHED = regex(
    r"\bor (?:higher|newer|later|above|greater|more|up)\b|\brequired\b|\bminimum\b|\bat least\b"
    r"|\brecommended\b|\bsupport(?:s|ed)\b|>=|\d\+\s*$",
    re.IGNORECASE,
)


class _Feed:
    """The head of a table, and the mentions of the whole paste."""

    def __init__(self) -> None:
        self.open = False
        self._head: list[str] = []
        self._mentions: dict[str, tuple[Any, Line] | None] = {}
        self._sentences = 0
        self._statements = 0
        self._lines = 0

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line."""
        text = line.text
        self._lines += 1
        if self._lines > _MAX_LINES or self._statements > _MAX_STATEMENTS:
            return
        if len(text) > _MAX_LINE or not text.strip():
            self._end_table()
            return
        wished = _WISHED.search(text)  # what something needs, not what is there
        items = list(self._table(text)) or ([] if wished else list(_labelled(text)))
        if not items and not wished and self._sentences < _MAX_SENTENCES and not _LOG.search(text):
            self._sentences += 1
            items = list(_listed(text))
            if not items:
                self._remember(find_mentions(text), line)
        self._statements += bool(items)
        yield from _found(items, line)

    def end(self) -> Iterable[Found]:
        """Give the mentions that nothing else in the paste speaks against."""
        for path, held in self._mentions.items():
            if held is not None:
                yield say(path, held[0], held[1], "mentioned in the text", MENTION)

    def _remember(self, items: Iterable[tuple[str, Any]], line: Line) -> None:
        for path, value in items:
            if path not in self._mentions:
                if len(self._mentions) < _MAX_MENTIONS:
                    self._mentions[path] = value, line
            elif (held := self._mentions[path]) is not None and held[0] != value:
                self._mentions[path] = None

    def _table(self, text: str) -> Iterator[Item]:
        """Read a row under a head of labels: `| GPU | Driver |`, `|---|---|`, `| T4 | 535 |`."""
        cells = _CELLS.match(text)
        if cells is None:
            self._end_table()
            return
        parts = [part.strip(_EDGES) for part in cells["cells"].split("|", _MAX_CELLS)]
        labels = [part.lower() for part in parts]
        if len(parts) > 1 and all(map(_is_label, labels)):
            self._head, self.open = labels, True
        elif self._head and not _RULE.match(text):
            for label, value in zip(self._head, parts, strict=False):
                yield from _read_label(label, value)
            self._end_table()

    def _end_table(self) -> None:
        self._head, self.open = [], False


def _is_label(label: str) -> bool:
    return label in LABELS or package_name(label) is not None


def _labelled(text: str) -> Iterator[Item]:
    match = _LABELLED.match(text)
    if match is None:
        return
    label = " ".join(match["label"].lower().split()).strip("*_`' ")
    value = match["value"].strip(_EDGES)
    if label in SPEAKING:
        yield from _listed(value)
    else:
        yield from _read_label(label, value)


def _read_label(label: str, value: str) -> Iterator[Item]:
    """Read a value by its label, and what else the value lists behind a comma."""
    first, *others = split_list(value) or [""]
    name = package_name(label)
    if label in LABELS:
        items = list(LABELS[label](value))
    elif name:
        items = list(package_items(name, value))
    else:
        return
    yield from items
    said = {path for path, _, _ in items}
    for part in others if items and first else ():
        yield from (item for item in segment_items(part) if item[0] not in said)


def _listed(text: str) -> Iterator[Item]:
    """Read a line that lists such things and says nothing else."""
    read: list[list[Item]] = []
    for part in split_list(text.strip().lstrip("-*\u2022+#> ").strip(_EDGES)):
        read.append(segment_items(part))
        if not read[-1]:
            return
    for items in read:
        yield from items


def _found(items: list[Item], line: Line) -> Iterator[Found]:
    """Yield the facts of a line; a bare CUDA beside a driver is what nvidia-smi shows."""
    said: set[str] = set()
    paths = {path for path, _, _ in items}
    for stated, value, doubt in items:
        beside = "driver.version" in paths and not paths & {"torch.version", "torch.cuda"}
        path = "driver.cuda" if (stated, doubt) == _BARE_CUDA and beside else stated
        if path not in said:
            said.add(path)
            yield say(path, value, line, SOURCE, STATED - doubt)


PARSER = BlockParser(
    kind=SOURCE,
    keywords=(
        "gpu", "graphics", "card", "device", "hardware", "driver", "cuda", "torch", "python",
        "flash", "vllm", "transformers", "triton", "xformers", "bitsandbytes", "accelerate",
        "deepspeed", "sgl", "gptq", "awq", "capability", "compute", "gcc", "g++", "compiler",
        "glibc", "libc", "vram", "model", "arch", "wsl", "windows", "ubuntu", "debian", "centos",
        "fedora",
        "rhel", "red hat", "rocky", "linux", "os:", "system", "platform", "distro", "rtx", "gtx",
        "tesla", "quadro", "a100", "h100", "h200", "v100", "b200", "a800", "h800", "h20", "l40",
        "a40", "a30", "a10", "t4", "l4", "gb10", "gh200", "gb200", "jetson", "orin", "docker",
        "container", "environment", "setup", "numpy", "ninja", "peft", "ray", "sm_", "x86_64",
        "aarch64", "arm64", "4090", "3090", "5090",
    ),
    make=_Feed,
)  # fmt: skip
