"""`nvidia-smi -L`: GPUs and their MIG devices. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from flashdoctor.logs.parsers.nvidia_smi import device_facts
from flashdoctor.logs.statements import BlockParser, say, shorten
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "nvidia-smi -L"
_MAX_DEVICES = 72

_GPU = regex(r"\bGPU (\d{1,2}): (\S[^(]{0,60}?(?:\([\w ]{1,12}\))?) \(UUID: ")
_MIG = regex(r"\bMIG \S{3,16}\s+Device\s+\d{1,2}: \(UUID: ")


class _Feed:
    """One list: it ends with a line that is neither a GPU nor a MIG device."""

    def __init__(self) -> None:
        self.open = False
        self._devices: list[dict[str, Any]] = []
        self._line: Line | None = None

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line of the list."""
        line = shorten(line)
        gpu, part = _GPU.search(line.text), _MIG.search(line.text)
        if gpu and (not self._devices or int(gpu[1]) == self._devices[-1]["index"] + 1):
            self._take(gpu, line)
        elif gpu:
            yield from self._close()
            self._take(gpu, line)
        elif part and self._devices:
            self._devices[-1]["mig_enabled"] = True
            self._devices[-1]["mig_instances"] = self._devices[-1].get("mig_instances", 0) + 1
        elif self.open and line.text.strip():
            yield from self._close()

    def _take(self, gpu: re.Match[str], line: Line) -> None:
        self.open = True
        self._line = self._line or line
        if len(self._devices) < _MAX_DEVICES:
            self._devices.append({"index": int(gpu[1]), "name": gpu[2].strip()})

    def end(self) -> Iterable[Found]:
        """Give the list that the paste ended with."""
        return self._close()

    def _close(self) -> Iterator[Found]:
        devices, line = self._devices, self._line
        self.open, self._devices, self._line = False, [], None
        if line is not None:
            yield say("nvml.status", "ok", line, SOURCE)
            yield from device_facts(devices, line, SOURCE)


PARSER = BlockParser(kind=SOURCE, keywords=("(uuid: ",), make=_Feed)
