"""`nvidia-smi -q -x`, read into an answer. Pure.

Element names are those of nvsmi_device_v10 to v13.dtd (drivers 390 to 610); v13 renames
driver_version and cuda_version to kmd_version and cuda_umd_version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flashdoctor.model.gpu_words import THROTTLE_REASONS, failure_status, program_name
from flashdoctor.model.regex import regex
from flashdoctor.probes.gpu_answer import Answer, resolve
from flashdoctor.probes.visible_devices import Instance

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SOURCE = "nvidia-smi -q -x"
_MAX_XML = 4 * 2**20  # eight H200 need 0.3 MiB
_VERSION = regex(r"\d+(?:\.\d+)+")


def parse_xml(
    text: str, environ: Mapping[str, str], capabilities: Mapping[int, str] | None = None
) -> Answer | None:
    """Read `nvidia-smi -q -x`; None where it is not that, too large, or defines entities."""
    if len(text) > _MAX_XML or "<!ENTITY" in text or "<nvidia_smi_log" not in text:
        return None
    from xml.etree.ElementTree import ParseError, XMLParser  # noqa: PLC0415  # rarely needed

    parser = XMLParser()  # noqa: S314  # no entities (above), and expat fetches no DTD
    try:
        parser.feed(text[text.index("<nvidia_smi_log") :])
        log = parser.close()
    except ParseError:
        return None
    gpus = log.findall("gpu")
    devices = [_device(number, gpu, capabilities or {}) for number, gpu in enumerate(gpus)]
    names = [_said(gpu, "product_name", raw=True) for gpu in gpus]
    lost = next((name for name in names if name and failure_status(name) == "gpu-lost"), "")
    return Answer(
        source=SOURCE,
        status="gpu-lost" if lost else "ok",
        error=lost,
        driver=_version(log, "driver_version") or _version(log, "kmd_version"),
        cuda=_version(log, "cuda_version") or _version(log, "cuda_umd_version"),
        count=len(gpus),
        devices=tuple(devices),
        visible=resolve(devices, environ, list(map(_uuid, gpus)), list(map(_instances, gpus))),
    )


def _said(element: Element, path: str, *, raw: bool = False) -> str | None:
    """Return the text at a path; None for nothing, `N/A` and nvidia-smi's words for a failure."""
    text = (element.findtext(path) or "").strip()
    empty = text.strip("[]") in {"", "N/A", "None", "Not Found", "Not Supported", "Unknown Error"}
    return None if empty or (not raw and failure_status(text)) else text


def _version(element: Element, path: str) -> str | None:
    text = _said(element, path)
    return text if text and _VERSION.fullmatch(text) else None


def _number(element: Element, path: str) -> int | None:
    match = re.match(r"\d+", _said(element, path) or "")
    return int(match[0]) if match else None


def _device(number: int, gpu: Element, capabilities: Mapping[int, str]) -> dict[str, Any]:
    """Return what a <gpu> element says, by catalog.GPU_KEYS."""
    mig = _said(gpu, "mig_mode/current_mig") == "Enabled"
    parts = gpu.findall("mig_devices/mig_device")
    ecc = _said(gpu, "ecc_mode/current_ecc")
    link = "pci/pci_gpu_link_info"
    said = {
        "name": _said(gpu, "product_name"),
        "compute_capability": capabilities.get(number),
        "memory_total_mib": _number(gpu, "fb_memory_usage/total"),
        "memory_used_mib": _number(gpu, "fb_memory_usage/used"),
        "mig_enabled": mig,
        "mig_instances": len(parts) if mig else None,
        "mig_memory": [_memory(part) for part in parts] if mig else None,
        "ecc_enabled": ecc == "Enabled" if ecc else None,
        "pcie_generation": _number(gpu, f"{link}/pcie_gen/current_link_gen"),
        "pcie_generation_max": _number(gpu, f"{link}/pcie_gen/max_link_gen"),
        "pcie_width": _number(gpu, f"{link}/link_widths/current_link_width"),
        "pcie_width_max": _number(gpu, f"{link}/link_widths/max_link_width"),
        "throttle_reasons": _throttle(gpu),
        "fabric_state": _fabric(gpu),
        "driver_model": _said(gpu, "driver_model/current_dm"),
        "processes": _processes(gpu),
    }
    return {"index": number, **{key: value for key, value in said.items() if value is not None}}


def _memory(part: Element) -> tuple[int | None, int | None]:
    return _number(part, "fb_memory_usage/total"), _number(part, "fb_memory_usage/used")


def _throttle(gpu: Element) -> list[str] | None:
    for name in ("clocks_event_reasons", "clocks_throttle_reasons"):
        block = gpu.find(name)
        if block is not None:
            active = {one.tag for one in block.iter() if (one.text or "").strip() == "Active"}
            prefix = name.removesuffix("s")
            return [word for _, tail, word in THROTTLE_REASONS if f"{prefix}_{tail}" in active]
    return None


def _fabric(gpu: Element) -> str | None:
    block = gpu.find("fabric")
    if block is None:
        return None
    state = (_said(block, "state") or "not supported").lower().replace(" ", "-")
    failed = state == "completed" and _said(block, "status") not in {None, "Success"}
    return f"{state}-with-error" if failed else state


def _processes(gpu: Element) -> list[dict[str, Any]] | None:
    block = gpu.find("processes")
    if block is None or _said(gpu, "product_name") is None:
        return None
    held = {
        process.findtext("pid"): {
            "name": program_name(_said(process, "process_name") or ""),
            "used_mib": _number(process, "used_memory"),
        }
        for process in block.findall("process_info")
    }
    return list(held.values())


def _uuid(gpu: Element) -> str:
    return _said(gpu, "uuid") or ""


def _instances(gpu: Element) -> tuple[Instance, ...] | None:
    """Return the MIG devices; not every driver prints their UUIDs."""
    if _said(gpu, "mig_mode/current_mig") != "Enabled":
        return None
    return tuple(
        Instance(
            _uuid(part),
            _number(part, "gpu_instance_id") or 0,
            _number(part, "compute_instance_id") or 0,
        )
        for part in gpu.findall("mig_devices/mig_device")
    )
