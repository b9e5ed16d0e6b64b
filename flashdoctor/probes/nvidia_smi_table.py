"""The plain table of nvidia-smi, read into an answer: the last resort. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flashdoctor.model.regex import regex
from flashdoctor.probes.gpu_answer import Answer, resolve
from flashdoctor.probes.visible_devices import Instance

SOURCE = "nvidia-smi"
_HEADER = regex(r"NVIDIA-SMI\s+[\d.]+\s+(?:Driver|KMD) Version:\s*(\d+(?:\.\d+)*)")
_CUDA = regex(r"CUDA(?: UMD)? Version:\s*(\d+\.\d+)")
_REST = regex(r"^\|\s*(?:MIG devices|Processes):", re.MULTILINE)
_ROW = regex(
    r"\|\s+(?P<number>\d+)\s+(?P<name>\S.*?)\s+(?P<mode>On|Off|N/A|WDDM|TCC|MCDM)\s*\|"
    r"\s*[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f.]+\s.*\|\s*(?P<ecc>\S+)\s*\|"
)
_MEMORY = regex(r"\|.*\|\s*(\d+)MiB\s*/\s*(\d+)MiB\s*\|")
_MIG_MODE = regex(r"\|\s*\|\s*\|\s*(Enabled|Disabled|N/A)\s*\|")
_MIG_ROW = regex(r"\|\s+(\d+)\s+(\d+)\s+(\d+)\s+\d+\s+\|\s*(\d+)MiB\s*/\s*(\d+)MiB\s")


def parse_table(text: str, environ: Mapping[str, str]) -> Answer | None:
    """Read the plain table; None where there is none.

    It cuts long names short, and a name that was cut is left out.
    """
    header = _HEADER.search(text)
    if header is None:
        return None
    cuda = _CUDA.search(text)
    upper, _, lower = _REST.sub("\0", text).partition("\0")
    devices = _devices(upper)
    instances = _add_instances(devices, lower)
    return Answer(
        source=SOURCE,
        status="ok",
        driver=header[1],
        cuda=cuda[1] if cuda else None,
        count=len(devices) or None,
        devices=tuple(devices),
        visible=resolve(devices, environ, instances=instances) if devices else None,
    )


def _devices(text: str) -> list[dict[str, Any]]:
    """Read the rows above the lists of MIG devices and processes: three lines for a GPU."""
    devices: list[dict[str, Any]] = []
    for line in text.splitlines():
        if row := _ROW.match(line):
            devices.append(_device(row))
        elif devices and (memory := _MEMORY.match(line)):
            devices[-1] |= {"memory_used_mib": int(memory[1]), "memory_total_mib": int(memory[2])}
        elif devices and (mode := _MIG_MODE.match(line)):
            devices[-1]["mig_enabled"] = mode[1] == "Enabled"
    return devices


def _device(row: re.Match[str]) -> dict[str, Any]:
    said = {
        "name": None if row["name"].endswith("...") else row["name"],
        "driver_model": row["mode"] if row["mode"] in {"WDDM", "TCC", "MCDM"} else None,
        "ecc_enabled": None if row["ecc"] == "N/A" else row["ecc"] != "Off",
    }
    return {"index": int(row["number"]), **{k: v for k, v in said.items() if v is not None}}


def _add_instances(devices: list[dict[str, Any]], text: str) -> list[tuple[Instance, ...] | None]:
    """Read the list of MIG devices into `devices`, and return them for each GPU."""
    parts = [tuple(map(int, row.groups())) for row in map(_MIG_ROW.match, text.splitlines()) if row]
    found: list[tuple[Instance, ...] | None] = []
    for device in devices:
        own = [part for part in parts if part[0] == device["index"]]
        if device.get("mig_enabled"):
            device["mig_instances"] = len(own)
            device["mig_memory"] = [(total, used) for *_, used, total in own]
        enabled = device.get("mig_enabled")
        found.append(tuple(Instance("", part[1], part[2]) for part in own) if enabled else None)
    return found
