"""The GPUs of a long report of nvidia-smi as they are read, in words or in XML. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashdoctor.logs.parsers.nvidia_smi import device_facts
from flashdoctor.logs.statements import say
from flashdoctor.model.gpu_words import failure_status, program_name
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

_MAX_DEVICES = 72  # an NVL72 rack
_MAX_PARTS = 512  # an H200 has up to seven
_MAX_PROCESSES = 200
_NOTHING = frozenset({"", "N/A", "[N/A]", "None", "Not Found", "Not Supported"})

_LEADING = regex(r"(\d{1,8})")
_NUMBERS = frozenset(
    {"memory_total_mib", "memory_used_mib", "pcie_generation_max", "pcie_generation"}
    | {"pcie_width_max", "pcie_width"}
)
_SWITCHES = frozenset({"mig_enabled", "ecc_enabled"})
_WORDS = frozenset({"fabric_state", "compute_mode"})
_VERSION = regex(r"\d{1,4}(?:\.\d{1,4}){1,3}")

_HEAD = {
    "driver version": "driver.version",
    "kmd version": "driver.version",
    "cuda version": "driver.cuda",
    "cuda umd version": "driver.cuda",
}
_FIELDS = (
    # field, section and key in words, element and the one around it in XML
    ("name", ("", "product name"), ("gpu", "product_name")),
    ("compute_mode", ("", "compute mode"), ("gpu", "compute_mode")),
    ("memory_total_mib", ("fb memory usage", "total"), ("fb_memory_usage", "total")),
    ("memory_used_mib", ("fb memory usage", "used"), ("fb_memory_usage", "used")),
    ("pcie_generation_max", ("pcie generation", "max"), ("pcie_gen", "max_link_gen")),
    ("pcie_generation", ("pcie generation", "current"), ("pcie_gen", "current_link_gen")),
    ("pcie_width_max", ("link width", "max"), ("link_widths", "max_link_width")),
    ("pcie_width", ("link width", "current"), ("link_widths", "current_link_width")),
    ("mig_enabled", ("mig mode", "current"), ("mig_mode", "current_mig")),
    ("ecc_enabled", ("ecc mode", "current"), ("ecc_mode", "current_ecc")),
    ("driver_model", ("driver model", "current"), ("driver_model", "current_dm")),
    ("fabric_state", ("fabric", "state"), ("fabric", "state")),
    ("fabric_status", ("fabric", "status"), ("fabric", "status")),
    ("process", ("", "process id"), ("process_info", "pid")),
    ("process_name", ("", "name"), ("process_info", "process_name")),
    ("process_used_mib", ("", "used gpu memory"), ("process_info", "used_memory")),
)
_FIELDS_OF_PART = (
    ("part", ("mig device", "index"), ("mig_device", "index")),
    ("part_memory_total_mib", ("fb memory usage", "total"), ("fb_memory_usage", "total")),
    ("part_memory_used_mib", ("fb memory usage", "used"), ("fb_memory_usage", "used")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """How a form of the report calls what is read: `head` by key, the others by place and key.

    What stands under the place "" stands in any place. `of_part` holds inside a MIG device.
    """

    head: Mapping[str, str]
    fields: Mapping[tuple[str, str], str]
    of_part: Mapping[tuple[str, str], str]

    def field(self, place: str, key: str, *, in_part: bool) -> str | None:
        """Return the field that a value there is for."""
        fields = self.of_part if in_part else self.fields
        return fields.get((place, key)) or fields.get(("", key))


IN_WORDS = Wording(
    head=_HEAD,
    fields={words: field for field, words, _ in _FIELDS},
    of_part={words: field for field, words, _ in _FIELDS_OF_PART},
)
IN_XML = Wording(
    head={key.replace(" ", "_"): path for key, path in _HEAD.items()},
    fields={element: field for field, _, element in _FIELDS},
    of_part={element: field for field, _, element in _FIELDS_OF_PART},
)


def driver_facts(path: str, value: str, line: Line, source: str) -> Iterator[Found]:
    """Yield what the head of a report says: NVML answered, and the version of `path`."""
    yield say("nvml.status", "ok", line, source)
    if _VERSION.fullmatch(value):
        yield say(path, value, line, source)


class GpuReport:
    """One report; what it may hold is bounded.

    What is taken describes the GPU, MIG device or process that was named last. One that is named
    again is the same one: of a long line the end comes twice.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._devices: dict[str, dict[str, Any]] = {}
        self._device: dict[str, Any] = {}
        self._parts: dict[tuple[int, str], dict[str, int]] = {}
        self._part: dict[str, int] = {}
        self._processes: dict[tuple[int, str], dict[str, Any]] = {}
        self._process: dict[str, Any] = {}
        self._line: Line | None = None

    @property
    def has_devices(self) -> bool:
        """Whether a GPU was named."""
        return bool(self._devices)

    def select_device(self, bus_id: str, line: Line) -> None:
        """Turn to the GPU with this PCI bus id."""
        self._line = self._line or line
        self._part, self._process = {}, {}
        self._device = self._devices.get(bus_id, {"index": len(self._devices)})
        if len(self._devices) < _MAX_DEVICES:
            self._devices[bus_id] = self._device

    def take(self, field: str, value: str, line: Line) -> Iterator[Found]:
        """Take one thing that is said of what was named last; words for nothing are passed over.

        `field` is a key of catalog.GPU_KEYS (of what is said twice the first counts),
        `fabric_status`, or one that names what the next ones describe: `part` and `process`.
        Those of a MIG device start with `part_`, those of a process with `process_`.
        """
        if value in _NOTHING:
            return
        if field == "name":
            yield from self._take_name(value, line)
        elif field == "part":
            self._select_part(value)
        elif field == "process":
            self._select_process(value)
        elif field.startswith("part_"):
            self._take_of_part(field.removeprefix("part_"), value)
        elif field.startswith("process_"):
            self._take_of_process(field.removeprefix("process_"), value)
        else:
            self._take_of_device(field, value)

    def _select_part(self, number: str) -> None:
        index: int = self._device["index"]
        self._part = self._parts.get((index, number), {})
        if len(self._parts) < _MAX_PARTS:
            self._parts[index, number] = self._part
        self._device["mig_instances"] = sum(1 for owner, _ in self._parts if owner == index)

    def _select_process(self, pid: str) -> None:
        index: int = self._device["index"]
        self._process = self._processes.get((index, pid), {"gpu": index})
        if len(self._processes) < _MAX_PROCESSES:
            self._processes[index, pid] = self._process

    def _take_name(self, value: str, line: Line) -> Iterator[Found]:
        """Take a GPU's name; what nvidia-smi puts there instead is the state of NVML."""
        status = failure_status(value)
        if status:
            yield say("nvml.status", status, line, self._source)
            yield say("nvml.error", value, line, self._source)
        else:
            self._device["name"] = value

    def _take_of_device(self, field: str, value: str) -> None:
        device = self._device
        if field in _NUMBERS:
            if number := _LEADING.match(value):
                device.setdefault(field, int(number[1]))
        elif field in _SWITCHES:
            if value in {"Enabled", "Disabled"}:
                device[field] = value == "Enabled"
        elif field == "fabric_status":
            if value != "Success" and device.get("fabric_state") == "completed":
                device["fabric_state"] = "completed-with-error"
        else:
            device[field] = re.sub("[ _]", "-", value.lower()) if field in _WORDS else value

    def _take_of_part(self, field: str, value: str) -> None:
        """Take a number of MiB; those of the first MIG device are what a process gets."""
        if number := _LEADING.match(value):
            self._part.setdefault(field, int(number[1]))
        if self._part.keys() >= {"memory_used_mib", "memory_total_mib"}:
            share = (self._part["memory_used_mib"], self._part["memory_total_mib"])
            self._device.setdefault("share", share)

    def _take_of_process(self, field: str, value: str) -> None:
        if field == "used_mib":
            if number := _LEADING.match(value):
                self._process[field] = int(number[1])
        elif name := program_name(value):
            self._process[field] = name

    def facts(self) -> Iterator[Found]:
        """Yield what was read, on the line of the first GPU; nothing where there was none."""
        if self._line is None:
            return
        yield from device_facts(list(self._devices.values()), self._line, self._source)
        if self._processes:
            processes = list(self._processes.values())
            yield say("gpu.processes", processes, self._line, self._source)
