"""`nvidia-smi -q`: sections of `name : value`, one block for each GPU. Pure.

Drivers up to 595 say Driver Version and CUDA Version, 610 says KMD Version and CUDA UMD Version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flashdoctor.logs.parsers.nvidia_smi import device_facts
from flashdoctor.logs.statements import BlockParser, say, shorten
from flashdoctor.model.gpu_words import failure_status, program_name
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "nvidia-smi -q"
_MAX_DEVICES = 72
_MAX_PROCESSES = 200

_START = regex(r"={3}\s?NVSMI LOG\s?={3}|^Attached GPUs\s{1,60}:")
_BLOCK = regex(r"^\s*GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d\s*$")
_ENTRY = regex(
    r"^\s*(?P<key>\S[^:]{0,60}?)\s*: +(?P<value>\S.{0,160})$|^\s*(?P<empty>\S[^:]{0,60}?)\s*:\s*$"
)
_SECTION = regex(r"^\s+(?P<name>[A-Za-z][\w ()/&.-]{0,60})$")
_TOP = {
    "driver version": "driver.version",
    "kmd version": "driver.version",
    "cuda version": "driver.cuda",
    "cuda umd version": "driver.cuda",
}
_VERSION = regex(r"\d{1,4}(?:\.\d{1,4}){1,3}")
_LEADING = regex(r"(\d{1,8})")
_NUMBERS = {
    ("fb memory usage", "total"): "memory_total_mib",
    ("fb memory usage", "used"): "memory_used_mib",
    ("pcie generation", "max"): "pcie_generation_max",
    ("pcie generation", "current"): "pcie_generation",
    ("link width", "max"): "pcie_width_max",
    ("link width", "current"): "pcie_width",
}
_SWITCHES = {("mig mode", "current"): "mig_enabled", ("ecc mode", "current"): "ecc_enabled"}


class _Feed:
    """One report."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.open = False
        self._section = ""
        self._devices: list[dict[str, Any]] = []
        self._processes: list[dict[str, Any]] = []
        self._line: Line | None = None

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line of the report."""
        line = shorten(line)
        text = line.text
        if _START.search(text) and not (self.open and text.startswith("Attached")):
            yield from self._close()
            self.open = True
        elif not self.open or not text.strip():
            return
        elif _BLOCK.match(text):
            self._start_device(line)
        elif section := _SECTION.match(text):
            self._section = section["name"].strip().lower()
        elif entry := _ENTRY.match(text):
            if entry["key"]:
                yield from self._take(entry["key"].strip().lower(), entry["value"].strip(), line)
        else:
            yield from self._close()

    def end(self) -> Iterable[Found]:
        """Give the report that the paste ended with."""
        return self._close()

    def _start_device(self, line: Line) -> None:
        self._line = self._line or line
        self._section = ""
        if len(self._devices) < _MAX_DEVICES:
            self._devices.append({"index": len(self._devices)})

    def _take(self, key: str, value: str, line: Line) -> Iterator[Found]:
        if key in _TOP and not self._devices:
            yield say("nvml.status", "ok", line, SOURCE)
            if _VERSION.fullmatch(value):
                yield say(_TOP[key], value, line, SOURCE)
        elif not self._devices or value in {"N/A", "None", "Not Found"}:
            return
        elif key == "product name":
            yield from self._name(value, line)
        elif self._section == "processes" or key in {"process id", "name", "used gpu memory"}:
            self._take_process(key, value)
        else:
            self._take_property(key, value)

    def _name(self, value: str, line: Line) -> Iterator[Found]:
        status = failure_status(value)
        if status:
            yield say("nvml.status", status, line, SOURCE)
            yield say("nvml.error", value, line, SOURCE)
        else:
            self._devices[-1]["name"] = value

    def _take_property(self, key: str, value: str) -> None:
        device, place = self._devices[-1], (self._section, key)
        number = _LEADING.match(value)
        if place in _NUMBERS and number and _NUMBERS[place] not in device:
            device[_NUMBERS[place]] = int(number[1])
        elif place in _SWITCHES and value in {"Enabled", "Disabled"}:
            device[_SWITCHES[place]] = value == "Enabled"
        elif place == ("driver model", "current"):
            device["driver_model"] = value
        elif place == ("fabric", "state"):
            device["fabric_state"] = value.lower().replace(" ", "-")
        elif place == ("fabric", "status") and value != "Success" and "fabric_state" in device:
            device["fabric_state"] += "-with-error"

    def _take_process(self, key: str, value: str) -> None:
        if key == "process id" and len(self._processes) < _MAX_PROCESSES:
            self._processes.append({"gpu": self._devices[-1]["index"]})
        elif key == "name" and self._processes and (name := program_name(value)):
            self._processes[-1]["name"] = name
        elif key == "used gpu memory" and self._processes and (used := _LEADING.match(value)):
            self._processes[-1]["used_mib"] = int(used[1])

    def _close(self) -> Iterator[Found]:
        devices, processes, line = self._devices, self._processes, self._line
        self._clear()
        if line is None:
            return
        yield from device_facts(devices, line, SOURCE)
        if processes:
            yield say("gpu.processes", processes, line, SOURCE)


PARSER = BlockParser(kind=SOURCE, keywords=("nvsmi log", "attached gpus"), make=_Feed)
