"""What one source (NVML, nvidia-smi) said about the GPUs: the shape both readers return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashdoctor.probes.visible_devices import Device, Instance, Visible, resolve_visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One source's answer; None and missing keys are what it did not say.

    `status` is a word of the fact nvml.status and `error` the source's own words. `devices` holds
    the keys of catalog.GPU_KEYS by GPU number, plus `processes` and `mig_memory` ([total, used] in
    MiB for each MIG device). `refusals` holds the words for what failed by (GPU number, key).
    Holds no UUID and no serial number.
    """

    source: str
    status: str
    error: str = ""
    driver: str | None = None
    cuda: str | None = None
    count: int | None = None
    devices: tuple[Mapping[str, Any], ...] = ()
    visible: Visible | None = None
    refusals: Mapping[tuple[int, str], str] = field(default_factory=dict)

    @property
    def useful(self) -> bool:
        """Whether it says something of the GPUs, or that there are none."""
        return self.count == 0 or any(len(device) > 1 for device in self.devices)


def resolve(
    devices: Sequence[Mapping[str, Any]],
    environ: Mapping[str, str],
    uuids: Sequence[str] = (),
    instances: Sequence[tuple[Instance, ...] | None] = (),
) -> Visible:
    """Resolve CUDA_VISIBLE_DEVICES for an answer's devices; UUIDs are used and not kept."""
    known = [
        Device(
            number=device["index"],
            name=device.get("name", ""),
            uuid=uuids[place] if uuids else "",
            capability=_pair(device.get("compute_capability", "0.0")),
            memory_mib=device.get("memory_total_mib", 0),
            instances=instances[place] if instances else None,
        )
        for place, device in enumerate(devices)
    ]
    return resolve_visible(
        environ.get("CUDA_VISIBLE_DEVICES"), known, environ.get("CUDA_DEVICE_ORDER")
    )


def _pair(capability: str) -> tuple[int, int]:
    major, _, minor = capability.partition(".")
    return int(major), int(minor)
