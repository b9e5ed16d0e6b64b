"""Asks NVML through pynvml in a process of its own, and prints each answer as soon as it has it.

A native call can hang or crash. So the name of each goes out before it is made, what every GPU is
comes before what it is doing, and a reader that kills this process keeps what was said until then.
One JSON array a line, behind SENTINEL, since a library may print too:

    ["call", NAME]                        NAME is about to be called
    ["put", DEVICE, KEY, VALUE]           a value of GPU number DEVICE; of the system where null
    ["fail", DEVICE, NAME, CODE, WORDS]   NVML refused, in its own words
    ["end"]                               all was asked

UUIDs are used here to resolve CUDA_VISIBLE_DEVICES and never printed.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from flashdoctor.model.gpu_words import (
    DRIVER_MODELS,
    FABRIC_STATES,
    cuda_version,
    nth,
    program_name,
    throttle_words,
)
from flashdoctor.probes.visible_devices import Device, Instance, resolve_visible

SENTINEL = "FLASHDOCTOR-NVML "
_MIB = 2**20
_NOT_SUPPORTED, _FUNCTION_NOT_FOUND = 3, 13  # nvmlReturn_t


class Talk:
    """One conversation with NVML; `device` is the number of the GPU that is asked about."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        self.code = 0  # of the last call

    def ask(self, device: int | None, name: str, *args: Any) -> Any:
        """Return what a function of pynvml says; None, and a line about it, where it refuses."""
        say("call", name)
        self.code = 0
        try:
            return getattr(self.nvml, name)(*args)
        except self.nvml.NVMLError as error:
            self.code = error.value
            say("fail", device, name, error.value, str(error))
        except (AttributeError, TypeError, UnicodeDecodeError) as error:  # old pynvml; garbled name
            self.code = _FUNCTION_NOT_FOUND
            say("fail", device, name, self.code, f"{type(error).__name__}: {error}")
        return None

    def never(self) -> bool:
        """Whether the last call failed because such a thing does not exist here."""
        return self.code in {_NOT_SUPPORTED, _FUNCTION_NOT_FOUND}


def say(*words: Any) -> None:
    """Print one line at once."""
    sys.stdout.write(f"{SENTINEL}{json.dumps(words)}\n")
    sys.stdout.flush()


def put(device: int | None, key: str, value: Any) -> None:
    """Print a value, unless there is none."""
    if value is not None:
        say("put", device, key, value)


def main() -> None:
    """Ask everything, then leave without running the library's own exit code."""
    try:
        import pynvml  # noqa: PLC0415  # its failure is an answer
    except Exception as error:  # noqa: BLE001  # whatever a broken package raises
        say("fail", None, "import pynvml", 0, f"pynvml: {type(error).__name__}: {error}")
    else:
        converse(Talk(pynvml))
        say("end")
    os._exit(0)


def converse(talk: Talk) -> None:
    """Ask about the system, then what each GPU is, what is visible, and what each is doing."""
    talk.ask(None, "nvmlInitWithFlags", 0)
    if talk.code:
        return
    put(None, "driver", talk.ask(None, "nvmlSystemGetDriverVersion"))
    put(None, "cuda", cuda_version(talk.ask(None, "nvmlSystemGetCudaDriverVersion_v2") or 0))
    count = talk.ask(None, "nvmlDeviceGetCount")
    put(None, "count", count)
    handles = {
        index: handle
        for index in range(count or 0)
        if (handle := talk.ask(index, "nvmlDeviceGetHandleByIndex", index)) is not None
    }
    devices = [
        identity(talk, i, handles[i]) if i in handles else Device(i) for i in range(count or 0)
    ]
    visible = resolve_visible(
        os.environ.get("CUDA_VISIBLE_DEVICES"), devices, os.environ.get("CUDA_DEVICE_ORDER")
    )
    put(None, "visible", visible)
    for index, handle in handles.items():
        condition(talk, index, handle)


def identity(talk: Talk, index: int, handle: Any) -> Device:
    """Ask what a GPU is."""
    name = talk.ask(index, "nvmlDeviceGetName", handle)
    put(index, "name", name)
    capability = talk.ask(index, "nvmlDeviceGetCudaComputeCapability", handle)
    if capability:
        put(index, "compute_capability", "{}.{}".format(*capability))
    total, used = memory(talk, index, handle)
    put(index, "memory_total_mib", total)
    put(index, "memory_used_mib", used)
    uuid = talk.ask(index, "nvmlDeviceGetUUID", handle)
    instances = mig(talk, index, handle)
    return Device(index, name or "", uuid or "", tuple(capability or (0, 0)), total or 0, instances)


def memory(talk: Talk, index: int, handle: Any) -> tuple[int | None, int | None]:
    """Return total and used memory in MiB; used as nvidia-smi shows it, without the reserve."""
    newer = getattr(talk.nvml, "nvmlMemory_v2", None)
    info = talk.ask(index, "nvmlDeviceGetMemoryInfo", handle, newer)
    if info is None and newer is not None:
        info = talk.ask(index, "nvmlDeviceGetMemoryInfo", handle)
    return (None, None) if info is None else (info.total // _MIB, info.used // _MIB)


def mig(talk: Talk, index: int, handle: Any) -> tuple[Instance, ...] | None:
    """Return the MIG devices of a GPU, None where MIG is off or not known."""
    modes = talk.ask(index, "nvmlDeviceGetMigMode", handle)
    put(index, "mig_enabled", bool(modes[0]) if modes else (False if talk.never() else None))
    if not modes or not modes[0]:
        return None
    found: list[Instance] = []
    sizes: list[tuple[int | None, int | None]] = []
    for place in range(talk.ask(index, "nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
        part = talk.ask(index, "nvmlDeviceGetMigDeviceHandleByIndex", handle, place)
        if part is None:
            continue
        uuid = talk.ask(index, "nvmlDeviceGetUUID", part)
        ids = [talk.ask(index, f"nvmlDeviceGet{of}InstanceId", part) for of in ("Gpu", "Compute")]
        found.append(Instance(uuid or "", *(-1 if number is None else number for number in ids)))
        sizes.append(memory(talk, index, part))
    put(index, "mig_instances", len(found))
    put(index, "mig_memory", sizes)
    return tuple(found)


def condition(talk: Talk, index: int, handle: Any) -> None:
    """Ask what a GPU is doing."""
    ecc = talk.ask(index, "nvmlDeviceGetEccMode", handle)
    put(index, "ecc_enabled", bool(ecc[0]) if ecc else None)
    for key, name in (
        ("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
        ("pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration"),
        ("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"),
        ("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth"),
    ):
        put(index, key, talk.ask(index, name, handle))
    reasons = talk.ask(index, "nvmlDeviceGetCurrentClocksEventReasons", handle)
    if reasons is None and talk.never():
        reasons = talk.ask(index, "nvmlDeviceGetCurrentClocksThrottleReasons", handle)
    put(index, "throttle_reasons", None if reasons is None else throttle_words(reasons))
    put(index, "fabric_state", fabric(talk, index, handle))
    if sys.platform == "win32":
        models = talk.ask(index, "nvmlDeviceGetDriverModel_v2", handle)
        put(index, "driver_model", nth(DRIVER_MODELS, models[0]) if models else None)
    put(index, "processes", processes(talk, index, handle))


def fabric(talk: Talk, index: int, handle: Any) -> str | None:
    """Return how far the GPU's registration with the NVLink fabric has come."""
    from ctypes import byref  # noqa: PLC0415  # pynvml has loaded it by now

    info = fabric_info()
    if talk.ask(index, "nvmlDeviceGetGpuFabricInfoV", handle, byref(info)) is None:
        return None
    word = nth(FABRIC_STATES, info.state)
    return f"{word}-with-error" if word == "completed" and info.status else word


def fabric_info() -> Any:
    """Return an empty nvmlGpuFabricInfo_v2_t; pynvml's own has a wrong layout in 12.560."""
    from ctypes import Structure, c_ubyte, c_uint, sizeof  # noqa: PLC0415  # as above

    class FabricInfo(Structure):
        _fields_ = (
            ("version", c_uint),
            ("cluster", c_ubyte * 16),
            ("status", c_uint),
            ("clique", c_uint),
            ("state", c_uint),
            ("health", c_uint),
        )

    return FabricInfo(version=sizeof(FabricInfo) | 2 << 24)


def processes(talk: Talk, index: int, handle: Any) -> list[dict[str, Any]] | None:
    """Return who holds memory of a GPU: bare program name and MiB, no process numbers."""
    held: dict[int, int | None] = {}
    answered = False
    for what in ("Compute", "Graphics"):
        name = f"nvmlDeviceGet{what}RunningProcesses"
        running = talk.ask(index, f"{name}_v3", handle)
        if running is None and talk.never():
            running = talk.ask(index, f"{name}_v2", handle)
        answered = answered or running is not None
        held.update({one.pid: one.usedGpuMemory for one in running or ()})
    if not answered:
        return None
    return [
        {
            "name": program_name(talk.ask(index, "nvmlSystemGetProcessName", pid) or ""),
            "used_mib": None if used is None else used // _MIB,
        }
        for pid, used in held.items()
    ]


if __name__ == "__main__":
    main()
