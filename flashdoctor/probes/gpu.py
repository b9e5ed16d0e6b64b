"""The GPU facts: NVML first, then nvidia-smi, the kernel and the PCI bus beside them.

An NVML that fails is a fact of its own (nvml.status, nvml.error), never an error here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flashdoctor.model.catalog import GPU_KEYS
from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.probes.gpu_answer import Answer
from flashdoctor.probes.gpu_evidence import NOWHERE, Evidence
from flashdoctor.probes.gpu_nodes import read_gpu_nodes
from flashdoctor.probes.kernel_module import module_facts, read_kernel_module
from flashdoctor.probes.nvml import read_nvml
from flashdoctor.probes.pci import DEVICES, read_nvidia_devices
from flashdoctor.probes.visible_devices import Seen, mask

_NVML_SHARE = 0.8  # of the time: what NVML leaves is nvidia-smi's, so that both end in it
_NO_DRIVER = "libnvidia-ml.so.1, /sys/module, /dev"

# What the first visible GPU is: fact, key of the device, functions that may have refused it.
_FIRST = (
    ("gpu.name", "name", "nvmlDeviceGetName"),
    ("gpu.compute_capability", "compute_capability", "nvmlDeviceGetCudaComputeCapability"),
    ("gpu.memory_mib", "memory_total_mib", "nvmlDeviceGetMemoryInfo"),
    ("gpu.memory_used_mib", "memory_used_mib", "nvmlDeviceGetMemoryInfo"),
    ("gpu.mig_enabled", "mig_enabled", "nvmlDeviceGetMigMode"),
)


def read_gpu(
    environ: Mapping[str, str], timeout_s: float = 5.0, root: Path = Path("/")
) -> list[Fact]:
    """Return the facts gpu.*, nvml.*, driver.version, driver.cuda and driver.module_*.

    NVML and nvidia-smi get `timeout_s` seconds together and are killed then. Never raises.
    """
    evidence = gather(environ, timeout_s, root)
    return [
        *_nvml_facts(evidence),
        *_driver_facts(evidence),
        *module_facts(evidence.module),
        *_count_facts(evidence),
        *_first_facts(evidence),
        *_list_facts(evidence),
        *_bus_facts(evidence),
        *_variable_facts(evidence),
    ]


def gather(environ: Mapping[str, str], timeout_s: float, root: Path) -> Evidence:
    """Ask everyone who may know; nvidia-smi only where NVML was of no use."""
    deadline = time.monotonic() + timeout_s
    nvml = read_nvml(environ, timeout_s * _NVML_SHARE, root)
    left = max(deadline - time.monotonic(), timeout_s * (1 - _NVML_SHARE))
    return Evidence(
        nvml=nvml,
        smi=None if nvml.useful else _ask_nvidia_smi(environ, left, root),
        bus=read_nvidia_devices(root),
        nodes=read_gpu_nodes(root),
        module=read_kernel_module(root),
        environ=environ,
    )


def _ask_nvidia_smi(environ: Mapping[str, str], timeout_s: float, root: Path) -> Answer | None:
    from flashdoctor.probes.nvidia_smi import read_nvidia_smi  # noqa: PLC0415 - seldom needed

    return read_nvidia_smi(environ, timeout_s, root)


def _nvml_facts(evidence: Evidence) -> Iterator[Fact]:
    answer = evidence.verdict
    yield known("nvml.status", answer.status, answer.source)
    if answer.error:
        yield known("nvml.error", answer.error, answer.source)
    else:
        yield absent("nvml.error", answer.source)


def _driver_facts(evidence: Evidence) -> Iterator[Fact]:
    module = evidence.module
    answers = [evidence.best, evidence.nvml]
    versions = [(answer.driver, answer.source) for answer in answers]
    versions.append((module.version, module.source))
    yield _first_said("driver.version", versions, evidence)
    yield _first_said("driver.cuda", [(one.cuda, one.source) for one in answers], evidence)


def _first_said(path: str, said: list[tuple[str | None, str]], evidence: Evidence) -> Fact:
    for value, source in said:
        if value is not None:
            return known(path, value, source)
    if evidence.no_driver:
        return absent(path, _NO_DRIVER)
    return unknown(path, evidence.reason, evidence.best.source)


def _count_facts(evidence: Evidence) -> Iterator[Fact]:
    answer = evidence.best
    if answer.count is None and evidence.no_gpu:
        yield known("gpu.count", 0, NOWHERE)
        yield known("gpu.visible_count", 0, NOWHERE)
        return
    if answer.count is None:
        yield unknown("gpu.count", evidence.reason, answer.source)
    else:
        yield known("gpu.count", answer.count, answer.source)
    if answer.visible is None or answer.visible.unresolved:
        yield unknown("gpu.visible_count", evidence.missing, answer.source)
    else:
        yield known("gpu.visible_count", len(answer.visible.order), evidence.source)


def _first_facts(evidence: Evidence) -> Iterator[Fact]:
    """Yield what the first visible GPU is, and the capabilities of all of them."""
    capabilities = "gpu.compute_capabilities"
    if not evidence.visible:
        for path in (*(path for path, _, _ in _FIRST), capabilities):
            yield _none_visible(path, evidence)
        return
    first = evidence.visible[0]
    for path, key, name in _FIRST:
        value = _value(evidence, first, key)
        if value is None:
            reason = evidence.refusal(first.number, name)
            yield unknown(path, reason, evidence.source)
        else:
            yield known(path, value, evidence.source)
    values = [evidence.device(seen).get("compute_capability") for seen in evidence.visible]
    if None in values:
        lacking = evidence.visible[values.index(None)].number
        reason = evidence.refusal(lacking, "nvmlDeviceGetCudaComputeCapability")
        yield unknown(capabilities, reason, evidence.source)
    else:
        yield known(capabilities, values, evidence.source)


def _none_visible(path: str, evidence: Evidence) -> Fact:
    """Return the fact of a GPU that CUDA does not show: absent only where that is certain."""
    if evidence.no_gpu:
        return absent(path, NOWHERE, "no NVIDIA GPU")
    visible = evidence.best.visible
    if evidence.best.count and visible is not None and not visible.unresolved:
        return absent(path, "CUDA_VISIBLE_DEVICES", f"no GPU is visible: {evidence.missing}")
    return unknown(path, evidence.missing, evidence.best.source)


def _value(evidence: Evidence, seen: Seen, key: str) -> Any:
    """Return a property of what CUDA sees: a MIG device has its own share of the memory."""
    device = evidence.device(seen)
    if seen.instance is not None and key.startswith("memory_"):
        total, used = device["mig_memory"][seen.instance]
        return total if key == "memory_total_mib" else used
    return device.get(key)


def _list_facts(evidence: Evidence) -> Iterator[Fact]:
    """Yield the lists of all GPUs, and of who holds their memory."""
    answer = evidence.best
    if not answer.devices and not evidence.no_gpu and answer.count != 0:
        yield unknown("gpu.devices", evidence.reason, answer.source)
        yield unknown("gpu.processes", evidence.reason, answer.source)
        return
    source = NOWHERE if answer.count is None else answer.source
    yield known("gpu.devices", [_record(evidence, device) for device in answer.devices], source)
    silent = [device["index"] for device in answer.devices if "processes" not in device]
    if silent:
        reason = evidence.refusal(silent[0], "nvmlDeviceGetComputeRunningProcesses_v3")
        yield unknown("gpu.processes", reason, source)
    else:
        yield known("gpu.processes", _processes(evidence), source)


def _record(evidence: Evidence, device: Mapping[str, Any]) -> dict[str, Any]:
    seen = evidence.best.visible
    record = {key: device[key] for key in GPU_KEYS if key in device}
    if seen is not None and not seen.unresolved:
        record["visible"] = device["index"] in {one.number for one in seen.order}
    return record


def _processes(evidence: Evidence) -> list[dict[str, Any]]:
    return [
        {"gpu": device["index"], **{key: held[key] for key in held if held[key] is not None}}
        for device in evidence.best.devices
        for held in device["processes"]
    ]


def _bus_facts(evidence: Evidence) -> Iterator[Fact]:
    reason = f"{DEVICES} cannot be listed"
    if evidence.displays is None:
        yield unknown("gpu.pci_count", reason, DEVICES)
    else:
        yield known("gpu.pci_count", evidence.displays, DEVICES)
    nvswitch, source = evidence.nvswitch()
    if nvswitch is None:
        yield unknown("gpu.nvswitch", evidence.reason, source)
    else:
        yield known("gpu.nvswitch", nvswitch, source)


def _variable_facts(evidence: Evidence) -> Iterator[Fact]:
    source = "CUDA_VISIBLE_DEVICES"
    text = evidence.environ.get(source)
    invalid = "gpu.visible_invalid"
    if text is None:
        yield absent("gpu.visible_devices", source)
        yield known(invalid, [], source)
        return
    yield known("gpu.visible_devices", mask(text), source)
    visible = evidence.best.visible
    if visible is None or visible.unresolved:
        yield unknown(invalid, evidence.missing, evidence.best.source)
    else:
        yield known(invalid, list(visible.invalid), evidence.best.source)
