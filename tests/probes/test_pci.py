from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from flashdoctor.probes.pci import read_nvidia_devices

Lay = Callable[[Mapping[str, str | bytes]], Path]
BUS = "/sys/bus/pci/devices"


def test_nvidias_devices_with_class_and_driver(lay: Lay) -> None:
    root = lay(
        {
            f"{BUS}/0000:01:00.0/vendor": "0x10de\n",
            f"{BUS}/0000:01:00.0/class": "0x030200\n",
            f"{BUS}/0000:01:00.1/vendor": "0x10de\n",
            f"{BUS}/0000:01:00.1/class": "0x040300\n",
            f"{BUS}/0000:02:00.0/vendor": "0x8086\n",
            f"{BUS}/0000:02:00.0/class": "0x030000\n",
            f"{BUS}/0000:03:00.0/vendor": "0x10de\n",
            f"{BUS}/0000:03:00.0/class": "0x068000\n",
            "/sys/bus/pci/drivers/nouveau/x": "",
        }
    )
    (root / f"{BUS[1:]}/0000:01:00.0/driver").symlink_to("../../drivers/nouveau")
    gpu, sound, switch = read_nvidia_devices(root) or []
    assert (gpu.driver, gpu.is_gpu, gpu.is_nvswitch) == ("nouveau", True, False)
    assert (sound.driver, sound.is_gpu) == (None, False)
    assert (switch.is_gpu, switch.is_nvswitch) == (False, True)


def test_no_bus_is_not_an_empty_bus(tmp_path: Path) -> None:
    assert read_nvidia_devices(tmp_path) is None
    (tmp_path / BUS[1:]).mkdir(parents=True)
    assert read_nvidia_devices(tmp_path) == []
