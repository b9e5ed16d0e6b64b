"""The GPUs of a collect_env report: the lines of `nvidia-smi -L`, or one name behind the label."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flashdoctor.logs.parsers._stated import on
from flashdoctor.logs.statements import REPORT
from flashdoctor.model.facts import Fact, known
from flashdoctor.model.log import Found, Line

_GPU = re.compile(r"GPU \d{1,4}:\s{1,4}(?P<name>(?:(?! GPU \d)[^\n,;]){1,100})")
_INSTANCE = re.compile(r"\s{0,8}MIG \d\w?\.\S{1,30}\s{1,40}Device\s{1,8}\d{1,3}:")
_NO_NAME = re.compile(r"\(UUID:[^)]{0,80}\)|[`'\"]")
_AMD = re.compile(r"\(gfx\w{1,12}[^)]{0,40}\)\s*$")
_NOTHING = frozenset({"", "n/a", "none", "could not collect", "no cuda"})
_MAX_GPUS = 64


class GpuLines:
    """A list that begins behind its label and ends with the first line that is no GPU."""

    def __init__(self, source: str) -> None:
        self.open = False
        self._source = source
        self._names: list[str] = []
        self._first: Line | None = None

    def begin(self, value: str, line: Line) -> Iterator[Found]:
        """Take what stands behind the label: a GPU, several, another maker's name, or nothing."""
        self._names, self._first = [], None
        found = list(_GPU.finditer(value))
        if found:
            yield from self._take(found, line)
            yield from self.end()
        elif not value:
            self.open = True
        elif value.lower() not in _NOTHING:
            yield from on(line, self._foreign(value), REPORT)

    def feed(self, line: Line) -> Iterator[Found]:
        """Take the next line of a list that is open; another line closes it."""
        if _INSTANCE.match(line.text):
            yield from on(line, [known("gpu.mig_enabled", True, self._source)], REPORT)
            return
        found = list(_GPU.finditer(line.text))
        if found and line.text.lstrip().startswith("GPU"):
            yield from self._take(found, line)
        elif line.text.strip() or self._names:
            yield from self.end()

    def end(self) -> Iterator[Found]:
        """State the number of GPUs, and which they are where they are of several kinds."""
        self.open = False
        if self._first is not None:
            yield from on(self._first, self._all(), REPORT)
        self._names, self._first = [], None

    def _take(self, found: list[re.Match[str]], line: Line) -> Iterator[Found]:
        for match in found[:_MAX_GPUS]:
            name = _NO_NAME.sub("", match["name"]).strip()
            if not name or len(self._names) >= _MAX_GPUS:
                continue
            if self._first is None:
                self._first = line
                yield from on(line, [known("gpu.name", name, self._source)], REPORT)
            self._names.append(name)

    def _all(self) -> Iterator[Fact]:
        yield known("gpu.count", len(self._names), self._source)
        if len(set(self._names)) > 1:
            devices = [{"index": index, "name": name} for index, name in enumerate(self._names)]
            yield known("gpu.devices", devices, self._source)

    def _foreign(self, value: str) -> Iterator[Fact]:
        """Read what torch calls the device itself: `AMD Instinct MI300X (gfx942:sramecc+)`."""
        name = _NO_NAME.sub("", _AMD.sub("", value)).strip()[:100]
        if name:
            yield known("gpu.name", name, self._source)
        if _AMD.search(value):
            yield known("os.rocm", True, self._source)
