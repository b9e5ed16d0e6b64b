"""NVIDIA's devices on the PCI bus, as the kernel lists them in sysfs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from flashdoctor.probes.tree import exists, inside, names_in, read_text, resolved

DEVICES = "/sys/bus/pci/devices"

_NVIDIA = "0x10de"
_DISPLAY = "0x03"  # VGA, XGA, 3D and other display controllers
_BRIDGE = "0x0680"  # what an NVSwitch calls itself: a bridge of no known kind


class PciDevice(NamedTuple):
    """One of NVIDIA's devices: its PCI class and the kernel driver that holds it, if any."""

    class_code: str
    driver: str | None

    @property
    def is_gpu(self) -> bool:
        """Whether it is a display controller; a GPU's sound and USB parts are not."""
        return self.class_code.startswith(_DISPLAY)

    @property
    def is_nvswitch(self) -> bool:
        """Whether it is an NVSwitch. Those of Blackwell systems are not on the host's bus."""
        return self.class_code.startswith(_BRIDGE)


def read_nvidia_devices(root: Path) -> list[PciDevice] | None:
    """Read NVIDIA's devices; None where the kernel lists no PCI bus."""
    folder = inside(root, DEVICES)
    return list(_devices(folder)) if exists(folder) else None


def _devices(folder: Path) -> Iterator[PciDevice]:
    for address in names_in(folder):
        device = folder / address
        if (read_text(device / "vendor") or "").strip() != _NVIDIA:
            continue
        link = device / "driver"
        yield PciDevice(
            class_code=(read_text(device / "class") or "").strip(),
            driver=resolved(link).name if exists(link) else None,
        )
