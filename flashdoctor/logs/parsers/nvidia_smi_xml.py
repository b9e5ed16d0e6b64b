"""`nvidia-smi -q -x`: the same report as `nvidia-smi -q`, in XML. Pure.

A paste may be a fragment, cut anywhere, so it is read tag by tag as the lines come. No XML parser
is at work: nothing is expanded, no DTD is fetched, and what is kept is bounded.
Element names are those of nvsmi_device_v10 to v13.dtd (drivers 390 to 610); v13 renames
driver_version and cuda_version to kmd_version and cuda_umd_version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.parsers._gpu_report import IN_XML, GpuReport, driver_facts
from flashdoctor.logs.statements import BlockParser
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "nvidia-smi -q -x"

_DEEPEST = 16  # the report itself goes seven elements down
_MAX_VALUE = 200
_MAX_BARE_LINES = 4  # a value stands beside its tag or alone between two
_ROOT = "nvidia_smi_log"
_TAG = regex(r"<(?P<end>/?)(?P<name>[A-Za-z_][\w.-]{0,60})(?P<rest>[^<>]{0,200})>")


class _Feed:
    """One report. It ends with its root element, or where several lines hold no tag."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.open = False
        self._within: list[str] = []
        self._text = ""
        self._bare_lines = 0
        self._report = GpuReport(SOURCE)

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line; it may hold one element, a part of one or the whole report."""
        place = 0
        for tag in _TAG.finditer(line.text):
            self._add(line.text[place : tag.start()])
            place = tag.end()
            yield from self._take(tag, line)
        self._add(line.text[place:])
        self._bare_lines = 0 if place else self._bare_lines + 1
        if self._bare_lines > (_MAX_BARE_LINES if self._within else 0):
            yield from self._close()

    def end(self) -> Iterable[Found]:
        """Give the report that the paste ended with."""
        return self._close()

    def _add(self, text: str) -> None:
        if self.open and len(self._text) < _MAX_VALUE:
            self._text += text[:_MAX_VALUE]

    def _take(self, tag: re.Match[str], line: Line) -> Iterator[Found]:
        name = tag["name"]
        if tag["end"]:
            yield from self._leave(name, line)
        elif not tag["rest"].endswith("/"):
            yield from self._enter(name, tag["rest"], line)

    def _enter(self, name: str, rest: str, line: Line) -> Iterator[Found]:
        self._text = ""
        if name == _ROOT:
            yield from self._close()
        elif not self.open and name not in IN_XML.head and name != "gpu":
            return
        self.open = True
        if name in self._within:  # none holds its like: a line came twice, or an end is missing
            del self._within[self._within.index(name) :]
        if len(self._within) < _DEEPEST:
            self._within.append(name)
        if name == "gpu":
            self._report.select_device(rest.strip(), line)

    def _leave(self, name: str, line: Line) -> Iterator[Found]:
        """Take the value of an element that ends, and what a paste left open inside it."""
        value, self._text = self._text.strip(), ""
        if name not in self._within:
            return
        if name == self._within[-1]:
            yield from self._take_value(name, value, line)
        while self._within and self._within.pop() != name:
            pass
        if name == _ROOT:
            yield from self._close()

    def _take_value(self, name: str, value: str, line: Line) -> Iterator[Found]:
        if not self._report.has_devices:
            if name in IN_XML.head:
                yield from driver_facts(IN_XML.head[name], value, line, SOURCE)
            return
        parent = self._within[-2] if len(self._within) > 1 else ""
        field = IN_XML.field(parent, name, in_part="mig_device" in self._within)
        if field:
            yield from self._report.take(field, value, line)

    def _close(self) -> Iterator[Found]:
        report = self._report
        self._clear()
        return report.facts()


PARSER = BlockParser(
    kind=SOURCE,
    keywords=("<nvidia_smi_log", "<gpu id=", "<driver_version>", "<kmd_version>", "<cuda_version>",
              "<cuda_umd_version>"),
    make=_Feed,
)  # fmt: skip
