"""`nvidia-smi --query-gpu=... --format=csv` in any order of columns, and its compute apps. Pure.

Column names are those of `nvidia-smi --help-query-gpu`. Without a header (`noheader`) the command
line must be there to say what the columns are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from flashdoctor.logs.gpu_names import is_gpu_row
from flashdoctor.logs.parsers.nvidia_smi import device_facts
from flashdoctor.logs.statements import BlockParser, say, shorten
from flashdoctor.model.gpu_words import program_name
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "nvidia-smi --query-gpu"
_APPS_SOURCE = "nvidia-smi --query-compute-apps"
_MAX_ROWS = 200
_MAX_BLANK = 2

_COMMAND = regex(r"--query-(?P<what>gpu|compute-apps)=(?P<fields>\"[^\"]*\"|'[^']*'|[\w.,]+)")
_UNIT = regex(r"\s*\[[^\]]{1,12}\]$")
_NOTHING = regex(
    r"\[?(?:N/A|Not Supported|Unknown Error|Insufficient Permissions|GPU is lost|Not Found"
    r"|Requested functionality has been deprecated)\]?|ERR!"
)
_KNOWN = regex(
    r"(?:(?:gpu_)?(?:name|uuid|serial|bus_id|index)|count|timestamp|vbios_version|compute_cap|pid"
    r"|pstate|driver_version|process_name|used_(?:gpu_)?memory|persistence_mode|accounting\.\w+"
    r"|compute_mode|fan\.speed|gpu_name|display_\w+|driver_model\.\w+|(?:memory|clocks|power|pci"
    r"|pcie|ecc|mig|utilization|temperature|enforced|encoder|inforom|gom|fabric|protected_memory"
    r"|clocks_\w+|addressing_mode|dramEncryption)\.[\w.]+)"
)
_MIN_COLUMNS = 2


def _whole(pattern: str, convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make a reader of a cell that must be of one shape; ValueError for any other."""
    shape = regex(pattern, re.IGNORECASE)

    def read(text: str) -> Any:
        match = shape.fullmatch(text)
        if match is None:
            raise ValueError(text)
        return convert(match[1])

    return read


def _name(text: str) -> str:
    if not is_gpu_row(text):
        raise ValueError(text)
    return text


_MIB = _whole(r"(\d{1,8})(?: MiB)?", int)
_NUMBER = _whole(r"(\d{1,4})", int)
_SWITCH = _whole(r"(Enabled|Disabled)", lambda word: word.lower() == "enabled")
_CELLS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "name": ("name", _name),
    "gpu_name": ("name", _name),
    "index": ("index", _NUMBER),
    "count": ("count", _NUMBER),
    "driver_version": ("driver", _whole(r"(\d{2,4}(?:\.\d{1,4}){0,3})", str)),
    "compute_cap": ("compute_capability", _whole(r"(\d{1,2}\.\d)", str)),
    "memory.total": ("memory_total_mib", _MIB),
    "memory.used": ("memory_used_mib", _MIB),
    "mig.mode.current": ("mig_enabled", _SWITCH),
    "ecc.mode.current": ("ecc_enabled", _SWITCH),
    "pcie.link.gen.current": ("pcie_generation", _NUMBER),
    "pcie.link.gen.max": ("pcie_generation_max", _NUMBER),
    "pcie.link.width.current": ("pcie_width", _NUMBER),
    "pcie.link.width.max": ("pcie_width_max", _NUMBER),
    "driver_model.current": ("driver_model", _whole(r"(WDDM|TCC|MCDM)", str.upper)),
    "process_name": ("process", _whole(r"(\S.{0,200})", program_name)),
    "used_memory": ("used_mib", _MIB),
    "used_gpu_memory": ("used_mib", _MIB),
}


class _Feed:
    """One list; it ends with the first line whose cells are not those of its columns."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.open = False
        self._columns: list[str] = []
        self._rows: list[dict[str, Any]] = []
        self._line: Line | None = None
        self._blank = 0

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a command, a header or a row."""
        line = shorten(line)
        columns = _columns_of_command(line.text) or _columns_of_header(line.text)
        if columns and not (self.open and columns == self._columns):
            yield from self._close()
            self.open, self._columns, self._blank = True, columns, 0
        elif self.open and not columns:
            yield from self._take(line)

    def end(self) -> Iterable[Found]:
        """Give the rows that the paste ended with."""
        return self._close()

    def _take(self, line: Line) -> Iterator[Found]:
        if not line.text.strip():
            self._blank += 1
            if not self._rows and self._blank <= _MAX_BLANK:
                return
        cells = [cell.strip() for cell in line.text.split(",", 64)]
        if not self._rows and _plain(cells) == self._columns:
            return
        row = _read_row(cells, self._columns)
        if row is None:
            yield from self._close()
            return
        self._line = self._line or line
        if len(self._rows) < _MAX_ROWS:
            self._rows.append(row)

    def _close(self) -> Iterator[Found]:
        rows, line = self._rows, self._line
        self._clear()
        if line is None or not rows:
            return
        if any("process" in row or "used_mib" in row for row in rows):
            yield say("gpu.processes", list(map(_process, rows)), line, _APPS_SOURCE)
            return
        yield from _gpu_facts(rows, line)


def _columns_of_command(text: str) -> list[str]:
    match = _COMMAND.search(text)
    if match is None:
        return []
    return [field.strip().lower() for field in match["fields"].strip("\"'").split(",")]


def _columns_of_header(text: str) -> list[str]:
    """Return the columns that a header names; a single word is none."""
    cells = _plain(text.split(",", 64))
    if len(cells) < _MIN_COLUMNS or not all(map(_KNOWN.fullmatch, cells)):
        return cells if cells in (["compute_cap"], ["driver_version"], ["gpu_name"]) else []
    return cells


def _plain(cells: list[str]) -> list[str]:
    return [_UNIT.sub("", cell.strip()).lower() for cell in cells]


def _read_row(cells: list[str], columns: list[str]) -> dict[str, Any] | None:
    """Read the cells of a row; None where they do not fit the columns."""
    if len(cells) != len(columns):
        return None
    row: dict[str, Any] = {}
    for column, cell in zip(columns, cells, strict=True):
        key, reader = _CELLS.get(column, ("", str))
        if key and not _NOTHING.fullmatch(cell):
            try:
                row[key] = reader(cell)
            except ValueError:
                return None
    return row


def _process(row: Mapping[str, Any]) -> dict[str, Any]:
    said = {"name": row.get("process"), "used_mib": row.get("used_mib")}
    return {key: value for key, value in said.items() if value is not None}


def _gpu_facts(rows: list[dict[str, Any]], line: Line) -> Iterator[Found]:
    yield say("nvml.status", "ok", line, SOURCE)
    first = rows[0]
    if "driver" in first:
        yield say("driver.version", first["driver"], line, SOURCE)
    extra = {"driver", "count", "process", "used_mib"}
    devices = [{"index": n, **row} for n, row in enumerate(rows)]
    devices = [{k: v for k, v in device.items() if k not in extra} for device in devices]
    yield from device_facts(devices, line, SOURCE)


PARSER = BlockParser(
    kind=SOURCE,
    keywords=(
        "--query-gpu", "--query-compute-apps", "driver_version", "compute_cap", "memory.total",
        "memory.used", "gpu_name", "process_name", "index, name",
    ),
    make=_Feed,
)  # fmt: skip
