"""`nvidia-smi -q`: sections of `name : value`, one block for each GPU. Pure.

Drivers up to 595 say Driver Version and CUDA Version, 610 says KMD Version and CUDA UMD Version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flashdoctor.logs.parsers._gpu_report import IN_WORDS, GpuReport, driver_facts
from flashdoctor.logs.statements import BlockParser, shorten
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "nvidia-smi -q"

_START = regex(r"={3}\s?NVSMI LOG\s?={3}|^Attached GPUs\s{1,60}:")
_BLOCK = regex(r"^\s*GPU (?P<bus_id>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$")
_ENTRY = regex(
    r"^\s*(?P<key>\S[^:]{0,60}?)\s*: +(?P<value>\S.{0,160})$|^\s*(?P<empty>\S[^:]{0,60}?)\s*:\s*$"
)
_SECTION = regex(r"^(?P<indent>\s+)(?P<name>[A-Za-z][\w ()/&.-]{0,60})$")


class _Feed:
    """One report."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.open = False
        self._section = ""
        self._part_indent: int | None = None  # of `MIG Device`, while inside it
        self._report = GpuReport(SOURCE)

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line of the report."""
        line = shorten(line)
        text = line.text
        if _START.search(text) and not (self.open and text.startswith("Attached")):
            yield from self._close()
            self.open = True
        elif not self.open or not text.strip():
            return
        elif block := _BLOCK.match(text):
            self._section, self._part_indent = "", None
            self._report.select_device(block["bus_id"], line)
        elif section := _SECTION.match(text):
            self._enter(section["name"].strip().lower(), len(section["indent"].expandtabs(4)))
        elif entry := _ENTRY.match(text):
            if entry["key"]:
                yield from self._take(entry["key"].strip().lower(), entry["value"].strip(), line)
        else:
            yield from self._close()

    def end(self) -> Iterable[Found]:
        """Give the report that the paste ended with."""
        return self._close()

    def _enter(self, section: str, indent: int) -> None:
        self._section = section
        if section == "mig device":
            self._part_indent = indent
        elif self._part_indent is not None and indent <= self._part_indent:
            self._part_indent = None

    def _take(self, key: str, value: str, line: Line) -> Iterator[Found]:
        if not self._report.has_devices:
            if key in IN_WORDS.head:
                yield from driver_facts(IN_WORDS.head[key], value, line, SOURCE)
            return
        field = IN_WORDS.field(self._section, key, in_part=self._part_indent is not None)
        if field:
            yield from self._report.take(field, value, line)

    def _close(self) -> Iterator[Found]:
        report = self._report
        self._clear()
        return report.facts()


PARSER = BlockParser(kind=SOURCE, keywords=("nvsmi log", "attached gpus"), make=_Feed)
