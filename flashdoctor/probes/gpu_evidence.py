"""Everything that was found out about the GPUs, and what may be concluded from it together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flashdoctor.probes.gpu_answer import Answer
from flashdoctor.probes.kernel_module import KernelModule
from flashdoctor.probes.pci import DEVICES, PciDevice
from flashdoctor.probes.visible_devices import Seen, mask

NOWHERE = f"{DEVICES}, /dev"
_VAGUE = {"library-not-found", "unknown-error"}  # where nvidia-smi may know better
_FABRIC = {"not-started", "in-progress", "completed", "completed-with-error"}


class Evidence(NamedTuple):
    """What everyone said who was asked.

    `smi` is None where nvidia-smi was not asked or is not there, `bus` where no PCI bus is listed.
    """

    nvml: Answer
    smi: Answer | None
    bus: Sequence[PciDevice] | None
    nodes: tuple[str, ...]
    module: KernelModule
    environ: Mapping[str, str]

    @property
    def best(self) -> Answer:
        """The answer that says most of the GPUs; NVML's where none says anything."""
        return self.smi if self.smi and self.smi.useful and not self.nvml.useful else self.nvml

    @property
    def verdict(self) -> Answer:
        """The answer whose words on NVML count: nvidia-smi's where it names the failure better."""
        named = self.smi is not None and self.smi.status not in {"ok", "timeout", *_VAGUE}
        return self.smi if self.smi and named and self.nvml.status in _VAGUE else self.nvml

    @property
    def reason(self) -> str:
        """Why something is not known, in the words of those who were asked."""
        said = {f"{one.source}: {one.error}" for one in (self.nvml, self.smi) if one and one.error}
        return "; ".join(sorted(said)) or f"{self.best.source} does not say"

    @property
    def displays(self) -> int | None:
        """NVIDIA's display devices on the PCI bus; None where that cannot be listed."""
        return None if self.bus is None else sum(device.is_gpu for device in self.bus)

    @property
    def no_gpu(self) -> bool:
        """Whether it is certain that there is no NVIDIA GPU: no device on the bus, no node."""
        return not self.best.count and self.displays == 0 and not self.nodes

    @property
    def no_driver(self) -> bool:
        """Whether it is certain that no NVIDIA driver is in use."""
        unseen = self.nvml.status == "library-not-found" and self.smi is None
        return unseen and self.module.loaded is False and not self.nodes

    @property
    def visible(self) -> list[Seen]:
        """What CUDA enumerates; empty where that is nothing, or not known."""
        seen = self.best.visible
        return [] if seen is None or seen.unresolved else list(seen.order)

    @property
    def source(self) -> str:
        """The source of what is said about visible devices."""
        guessed = self.best.visible is not None and self.best.visible.guessed
        return self.best.source + ("; CUDA's order of unlike GPUs is a guess" if guessed else "")

    @property
    def missing(self) -> str:
        """Why there is no first visible GPU."""
        answer = self.best
        if answer.visible is not None and answer.visible.unresolved:
            return f"CUDA_VISIBLE_DEVICES: {answer.visible.unresolved}"
        if answer.count:
            return f"CUDA_VISIBLE_DEVICES={mask(self.environ.get('CUDA_VISIBLE_DEVICES', ''))!r}"
        if answer.count == 0:
            there = [f"{self.displays} on the PCI bus"] if self.displays else []
            return f"{answer.source} lists no GPU, but: {', '.join([*there, *self.nodes])}"
        return self.reason

    def refusal(self, number: int, *names: str) -> str:
        """Why a GPU's property is not known: the words in which a call was refused."""
        refused = self.best.refusals
        for name in ("nvmlDeviceGetHandleByIndex", *names):
            if (number, name) in refused:
                return f"{self.best.source}: {refused[number, name]}"
        return f"{self.best.source}: {self.best.error}" if self.best.error else self.reason

    def nvswitch(self) -> tuple[bool | None, str]:
        """Whether NVSwitches join the GPUs (None: cannot be told), and the source of that.

        They are on the PCI bus up to Hopper. Later ones, and those that a virtual machine does
        not see, show in the GPUs' registration with the fabric.
        """
        if any(device.is_nvswitch for device in self.bus or ()):
            return True, DEVICES
        states = [device.get("fabric_state") for device in self.best.devices]
        if _FABRIC & {state for state in states if state}:
            return True, self.best.source
        sure = self.best.useful or self.no_gpu
        return (False if sure and self.bus is not None else None), DEVICES

    def device(self, seen: Seen) -> Mapping[str, Any]:
        """Return what is known of the GPU that CUDA enumerates."""
        return next(one for one in self.best.devices if one["index"] == seen.number)
