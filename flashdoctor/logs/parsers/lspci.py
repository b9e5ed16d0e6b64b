"""`lspci`: NVIDIA's lines, and the kernel driver that holds each device. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.statements import STATED, BlockParser, say, shorten
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "lspci"
_MAX_DEVICES = 256
_BLOCK_LINES = 40

_DEVICE = regex(
    r"(?P<slot>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<kind>[A-Z3][\w -]{2,40}"
    r"(?:\[\w{4}\])?): NVIDIA Corporation (?P<what>.{0,120})"
)
_OTHER = regex(r"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] ")
_DRIVER = regex(r"^\s*Kernel driver in use:\s*(\S{1,40})")
_DISPLAY = ("VGA", "3D", "Display")
_BRACKET = regex(r"\[([^\]]{2,60})\]")
_ID = regex(r"[0-9a-f]{4}:[0-9a-f]{4}|[0-9a-f]{4}")
_NOISE = regex(r"\s*(?:Lite Hash Rate|/ .*)$")


class _Feed:
    """Counts each address once; a block of `lspci -v` is open until the next device."""

    def __init__(self) -> None:
        self.open = False
        self._slots: set[str] = set()
        self._line: Line | None = None
        self._left = 0

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a device, or a line of the block under it."""
        line = shorten(line)
        device = _DEVICE.search(line.text)
        if device:
            yield from self._take(device, line)
        elif self._left:
            self._left -= 1
            driver = _DRIVER.match(line.text)
            if driver:
                yield say("driver.claimed_by", driver[1], line, SOURCE)
            if driver or not line.text.strip() or _OTHER.match(line.text):
                self._left = 0
        self.open = self._left > 0

    def _take(self, device: re.Match[str], line: Line) -> Iterator[Found]:
        shown = device["kind"].startswith(_DISPLAY)
        self._left = _BLOCK_LINES if shown else 0
        if "NVSwitch" in device["what"]:
            yield say("gpu.nvswitch", True, line, SOURCE)
        if shown and len(self._slots) < _MAX_DEVICES:
            self._slots.add(device["slot"])
            self._line = self._line or line
            name = _product(device["what"])
            if name:
                yield say("gpu.name", name, line, SOURCE, STATED)

    def end(self) -> Iterable[Found]:
        """Give the number of devices that can compute."""
        if self._line is not None:
            yield say("gpu.pci_count", len(self._slots), self._line, SOURCE)


def _product(what: str) -> str | None:
    """Return `GeForce RTX 3090` of `GA102 [GeForce RTX 3090] [10de:2204] (rev a1)`."""
    for bracket in _BRACKET.finditer(what):
        if not _ID.fullmatch(bracket[1]):
            return _NOISE.sub("", bracket[1]).strip()
    return None


PARSER = BlockParser(kind=SOURCE, keywords=("nvidia corporation",), make=_Feed)
