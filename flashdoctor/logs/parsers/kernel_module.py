"""The nvidia kernel module: /proc/driver/nvidia/version, modinfo, lsmod, dkms, dmesg. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.statements import STATED, BlockParser, say, shorten
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

_PROC = "/proc/driver/nvidia/version"
_MODINFO_LINES = 30

_NVRM = regex(
    r"(?:NVRM version:|NVRM: loading|nvidia: loading)\s*NVIDIA UNIX (?P<what>.{0,40}?Kernel Module"
    r"(?: for \w{3,10})?)\s+(?P<version>\d{2,4}\.\d{1,3}(?:\.\d{1,3})?)\b"
)
_MISMATCH = regex(
    r"API mismatch: the client(?:.{0,80}?)has the version (?P<client>\d{2,4}\.\d{1,3}"
    r"(?:\.\d{1,3})?)"
)
_MODULE_HAS = regex(r"kernel module (?:has the|version) (?:version )?(\d{2,4}\.[\d.]{1,10}\d)")
_FILE = regex(r"^\s*filename:\s.{0,200}\bnvidia(?:-current)?\.ko(?:\.\w+)?\s*$")
_COMMAND = regex(r"\bmodinfo\b.{0,40}\bnvidia\b")
_FIELD = regex(r"^\s*(?P<key>version|license):\s+(?P<value>\S.{0,60}?)\s*$")
_LICENSE = regex(r"^\s*(NVIDIA|Dual MIT/GPL)\s*$")
_FLAVORS = {"NVIDIA": "proprietary", "Dual MIT/GPL": "open"}
_LSMOD = regex(r"^\s*(?P<name>nvidia|nvidia_uvm|nouveau)\s+\d{4,10}\s+(?P<uses>\d{1,5})(?:\s|$)")
_DKMS = regex(
    r"^\s*nvidia(?P<name>[\w-]{0,24})(?:/|, )(?P<version>\d{2,4}\.\d{1,3}(?:\.\d{1,3})?)"
    r"[,:] ?.{0,120}\binstalled\b"
)
_NO_MODULE = regex(
    r"modprobe: (?:FATAL|ERROR): .{0,20}?[Mm]odule nvidia(?:-current)? not found"
    r"|modinfo: ERROR: Module nvidia not found|cat: /proc/driver/nvidia/version: No such file"
)


class _Feed:
    """Remembers only that the lines at hand are modinfo's."""

    def __init__(self) -> None:
        self.open = False
        self._left = 0

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line."""
        line = shorten(line)
        text = line.text
        if self._left:
            self._left -= 1
            yield from _read_modinfo(line)
        if _FILE.match(text) or _COMMAND.search(text):
            self._left = _MODINFO_LINES
        self.open = self._left > 0
        yield from _read_kernel(line)
        yield from _read_lists(line)

    def end(self) -> Iterable[Found]:
        """Give nothing: no line is waited for."""
        return ()


def _read_modinfo(line: Line) -> Iterator[Found]:
    source = "modinfo nvidia"
    bare, field = _LICENSE.match(line.text), _FIELD.match(line.text)
    if bare:
        yield say("driver.module_flavor", _FLAVORS[bare[1]], line, source)
    elif field and field["key"] == "license" and field["value"] in _FLAVORS:
        yield say("driver.module_flavor", _FLAVORS[field["value"]], line, source)
    elif field and field["key"] == "version" and re.fullmatch(r"\d{2,4}\.[\d.]+", field["value"]):
        yield say("driver.version", field["value"], line, source, STATED)


def _read_kernel(line: Line) -> Iterator[Found]:
    if loaded := _NVRM.search(line.text):
        flavor = "open" if "Open" in loaded["what"] else "proprietary"
        yield say("driver.module_loaded", True, line, _PROC)
        yield say("driver.module_version", loaded["version"], line, _PROC)
        yield say("driver.version", loaded["version"], line, _PROC)
        yield say("driver.module_flavor", flavor, line, _PROC)
    if client := _MISMATCH.search(line.text):
        yield say("nvml.library_version", client["client"], line, "the kernel's log")
    if module := _MODULE_HAS.search(line.text):
        yield say("driver.module_version", module[1], line, "the kernel's log")
    if _NO_MODULE.search(line.text):
        yield say("driver.module_loaded", False, line, "modprobe")


def _read_lists(line: Line) -> Iterator[Found]:
    if module := _LSMOD.match(line.text):
        name = module["name"]
        if name == "nouveau" and module["uses"] != "0":
            yield say("driver.claimed_by", "nouveau", line, "lsmod", STATED)
        elif name == "nvidia":
            yield say("driver.module_loaded", True, line, "lsmod")
        elif name == "nvidia_uvm":
            yield say("driver.uvm_loaded", True, line, "lsmod")
    if built := _DKMS.match(line.text):
        yield say("driver.version", built["version"], line, "dkms status", STATED)
        if "open" in built["name"]:
            yield say("driver.module_flavor", "open", line, "dkms status", STATED)


PARSER = BlockParser(
    kind="NVIDIA kernel module",
    keywords=(
        "nvidia unix", "api mismatch", "this kernel module has", "kernel module version",
        "nvidia.ko", "nvidia-current.ko", "modinfo", "module nvidia", "nvidia_uvm", "nouveau",
        "driver/nvidia/version", ": installed", "nvidia  ",
    ),
    make=_Feed,
)  # fmt: skip
