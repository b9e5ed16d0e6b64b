"""The plain table of nvidia-smi, of drivers 375 to 610, and what it says instead of one. Pure.

375 has no CUDA field; 610 says KMD and CUDA UMD Version; Windows names the driver model where
Linux names persistence mode; in WSL nvidia-smi and driver have different versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from flashdoctor.logs.gpu_names import whole_words
from flashdoctor.logs.statements import MENTION, REPORT, STATED, BlockParser, say, shorten
from flashdoctor.model.facts import unknown
from flashdoctor.model.gpu_words import failure_status, program_name
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "nvidia-smi"
_MAX_DEVICES = 72  # an NVL72 rack
_MAX_PROCESSES = 200
_MAX_OTHER_LINES = 2  # blank lines stand between the tables

_HEADER = regex(
    r"NVIDIA-SMI\s+(?P<smi>[\d.]{3,20})\s+(?:Driver|KMD) Version:\s*(?P<driver>\d[\d.]{2,20})"
    r"(?:\s+CUDA(?: UMD)? Version:\s*(?P<cuda>[\w./!]{1,12}))?"
)
_ROW = regex(
    r"(?:^|\|)\s{0,6}(?P<index>\d{1,2})\s+(?P<name>[A-Za-z].{0,60}?)\s+"
    r"(?P<mode>On|Off|N/A|WDDM|TCC|MCDM|ERR!)\s*\|"
    r"\s*[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d\s+\S{0,4}\s*\|\s*(?P<ecc>\S+)"
)
_MEMORY = regex(r"(\d{1,7})MiB\s*/\s*(\d{1,7})MiB")
_MIG_MODE = regex(r"\|\s*(Enabled\*?|Disabled\*?)\s*\|?\s*$")
_MIG_ROW = regex(
    r"(?:^|\|)\s*(\d{1,2})\s+\d{1,3}\s+\d{1,3}\s+\d{1,3}\s*\|"
    r"\s*(\d{1,7})MiB\s*/\s*(\d{1,7})MiB"
)
_PROCESS = regex(
    r"(?:^|\|)\s*(?P<gpu>\d{1,2})\s+(?:(?:N/A|\d{1,3})\s+(?:N/A|\d{1,3})\s+)?\d{1,9}\s+"
    r"(?:C\+G|M\+C|C|G|M)\s+(?P<name>\S.{0,100}?)\s+(?:(?P<used>\d{1,7})MiB|N/A)\s*\|?\s*$"
)
_ERROR = regex(
    r"Failed to (?:initialize|properly shut down) NVML:\s*(?P<said>\S.{0,160})"
    r"|(?P<smi>NVIDIA-SMI (?:has failed|couldn't find|could not find)\b.{0,200})"
    r"|Unable to determine the device handle for [Gg][Pp][Uu].{0,40}?: (?P<handle>\S.{0,120})"
    r"|(?P<none>\bNo devices were found)\b",
    re.IGNORECASE,
)
_LIBRARY = regex(r"NVML library version:\s*(\d[\d.]{2,20})")


class _Feed:
    """One paste of the tables; a table ends with the first line that cannot belong to it."""

    def __init__(self) -> None:
        self.open = False
        self._clear()

    def _clear(self) -> None:
        self._devices: list[dict[str, Any]] = []
        self._parts: list[tuple[int, int, int]] = []
        self._processes: list[dict[str, Any]] | None = None
        self._line: Line | None = None
        self._section = "gpu"
        self._others = 0

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line of a table, or an error of one line."""
        line = shorten(line)
        header = _HEADER.search(line.text)
        if header:
            yield from self._close()
            self.open = True
            yield from _read_header(header, line)
        elif not self._take(line):
            yield from _read_error(line)
            if self.open and not self._belongs(line.text):
                yield from self._close()

    def end(self) -> Iterable[Found]:
        """Give the table that the paste ended with."""
        return self._close()

    def _belongs(self, text: str) -> bool:
        if text.strip():
            return "|" in text or text.lstrip().startswith(("+", "="))
        self._others += 1
        return self._others <= _MAX_OTHER_LINES

    def _take(self, line: Line) -> bool:
        """Read a row of a table; whether it was one."""
        text = line.text
        if "MIG devices:" in text:
            self._section = "mig"
        elif "Processes:" in text:
            self._section = "processes"
        elif self._section == "gpu":
            return self._take_gpu(line)
        elif self._section == "mig" and (part := _MIG_ROW.search(text)):
            if len(self._parts) < _MAX_DEVICES:
                self._parts.append((int(part[1]), int(part[2]), int(part[3])))
        elif self._section == "processes":
            return self._take_process(text)
        else:
            return False
        return True

    def _take_gpu(self, line: Line) -> bool:
        if row := _ROW.search(line.text):
            self.open = True
            self._line = self._line or line
            if len(self._devices) < _MAX_DEVICES:
                self._devices.append(_device(row))
        elif self._devices and (memory := _MEMORY.search(line.text)):
            self._devices[-1]["memory_used_mib"] = int(memory[1])
            self._devices[-1]["memory_total_mib"] = int(memory[2])
        elif self._devices and (mode := _MIG_MODE.search(line.text)):
            self._devices[-1]["mig_enabled"] = mode[1].startswith("Enabled")
        else:
            return False
        return True

    def _take_process(self, text: str) -> bool:
        if "No running processes found" in text:
            self._processes = []
        elif row := _PROCESS.search(text):
            self._processes = self._processes or []
            if len(self._processes) < _MAX_PROCESSES:
                self._processes.append(_process(row))
        else:
            return False
        return True

    def _close(self) -> Iterator[Found]:
        devices, line = self._devices, self._line
        parts, processes = self._parts, self._processes
        self._clear()
        self.open = False
        if line is None:
            return
        _add_parts(devices, parts)
        yield from device_facts(devices, line, SOURCE)
        if processes is not None:
            yield say("gpu.processes", processes, line, SOURCE)


def _read_header(header: re.Match[str], line: Line) -> Iterator[Found]:
    driver = header["driver"].strip(".")
    yield say("nvml.status", "ok", line, SOURCE)
    yield say("driver.version", driver, line, SOURCE)
    cuda = header["cuda"]
    if cuda and re.fullmatch(r"\d{1,2}\.\d{1,2}", cuda):
        yield say("driver.cuda", cuda, line, SOURCE)
    elif cuda:
        fact = unknown("driver.cuda", f"nvidia-smi shows {cuda}", SOURCE)
        yield Found(fact=fact, line=line.number, trust=REPORT)
    if header["smi"].strip(".") != driver:
        yield say("wsl.version", 2, line, "nvidia-smi and driver differ in version", STATED)


def _device(row: re.Match[str]) -> dict[str, Any]:
    name, mode, ecc = row["name"], row["mode"], row["ecc"]
    said = {
        "name": None if failure_status(name) or "ERR!" in name else whole_words(name),
        "cut": name.endswith("...") or None,
        "driver_model": mode if mode in {"WDDM", "TCC", "MCDM"} else None,
        "ecc_enabled": None if ecc in {"N/A", "ERR!", "|"} else ecc != "Off",
    }
    return {"index": int(row["index"]), **{k: v for k, v in said.items() if v is not None}}


def _process(row: re.Match[str]) -> dict[str, Any]:
    said = {
        "gpu": int(row["gpu"]),
        "name": program_name(row["name"]),
        "used_mib": int(row["used"]) if row["used"] else None,
    }
    return {key: value for key, value in said.items() if value is not None}


def _add_parts(devices: list[dict[str, Any]], parts: list[tuple[int, int, int]]) -> None:
    for device in devices:
        own = [part for part in parts if part[0] == device["index"]]
        if own:
            device["mig_enabled"] = True
        if device.get("mig_enabled"):
            device["mig_instances"] = len(own)
            device["share"] = own[0][1:] if own else None


def device_facts(devices: list[dict[str, Any]], line: Line, source: str) -> Iterator[Found]:
    """Yield the facts of a list of GPUs, the first for the one that is used.

    Keys are those of catalog.GPU_KEYS, with `cut` where the name is not whole and `share` with
    the memory (used, total) of the first MIG device.
    """
    if not devices:
        return
    first = devices[0]
    yield say("gpu.count", len(devices), line, source)
    if "name" in first:
        trust = MENTION if first.get("cut") else REPORT
        yield say("gpu.name", first["name"], line, source, trust)
    used, total = first.get("share") or (
        first.get("memory_used_mib"),
        first.get("memory_total_mib"),
    )
    for path, value in (
        ("gpu.memory_mib", total),
        ("gpu.memory_used_mib", used),
        ("gpu.mig_enabled", first.get("mig_enabled")),
        ("gpu.compute_capability", first.get("compute_capability")),
    ):
        if value is not None:
            yield say(path, value, line, source)
    if all("compute_capability" in one for one in devices):
        capabilities = [one["compute_capability"] for one in devices]
        yield say("gpu.compute_capabilities", capabilities, line, source)
    if first.get("driver_model"):
        yield say("os.system", "Windows", line, source, MENTION)
    hidden = {"cut", "share"}
    records = [{k: v for k, v in one.items() if k not in hidden} for one in devices]
    yield say("gpu.devices", records, line, source)


def _read_error(line: Line) -> Iterator[Found]:
    library = _LIBRARY.search(line.text)
    if library:
        yield say("nvml.library_version", library[1].strip("."), line, SOURCE)
    error = _ERROR.search(line.text)
    if error is None:
        return
    if error["none"]:
        yield say("nvml.status", "ok", line, SOURCE)
        yield say("nvml.error", "No devices were found", line, SOURCE)
        yield say("gpu.count", 0, line, SOURCE)
        return
    words = (error["said"] or error["smi"] or error["handle"]).strip()
    status = failure_status(words) or "unknown-error"
    yield say("nvml.status", status, line, SOURCE)
    yield say("nvml.error", words.rstrip("."), line, SOURCE)


PARSER = BlockParser(
    kind=SOURCE,
    keywords=(
        "nvidia-smi", "persistence-m", "bus-id", "0000:", "nvml", "processes:",
        "no devices were found", "unable to determine the device handle",
    ),
    make=_Feed,
)  # fmt: skip
