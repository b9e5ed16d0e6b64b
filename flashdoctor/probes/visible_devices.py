"""What CUDA_VISIBLE_DEVICES leaves of the GPUs, worked out as the CUDA driver does it.

Sources: CUDA Programming Guide, "CUDA Environment Variables" (CUDA_VISIBLE_DEVICES,
CUDA_DEVICE_ORDER); MIG User Guide, "Device Enumeration". What the guides leave out (spaces, text
behind a number, lists of mixed kind, repeats) was measured with cuInit of driver 580.159 on two
H200. Pure, and light enough for the NVML child.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from flashdoctor.model.regex import regex

_NUMBER = regex(r"\s*([+-]?\d+)")
_UUID = regex(r"[0-9a-f-]*", re.IGNORECASE)
_OLD_MIG = regex(r"MIG-GPU-([0-9a-f-]+)/(\d+)/(\d+)", re.IGNORECASE)
_SECRET = regex(r"(?i)(MIG-GPU|GPU|MIG)-[0-9a-f-]+|[0-9a-f]{8}-[0-9a-f-]+|[0-9a-f]{12,}")
_UUID_DIGITS = 32
_MAX_DIGITS = 9  # no machine has more GPUs, and int() of a very long text is an error of its own

NO_UUID = "the UUIDs to compare with are not known"


class Instance(NamedTuple):
    """A MIG device: a compute instance inside a GPU instance. `uuid` is empty where not known."""

    uuid: str
    gpu_instance: int
    compute_instance: int


class Device(NamedTuple):
    """A GPU as NVML numbers it, in PCI bus order. `instances` is None where MIG is off."""

    number: int
    name: str = ""
    uuid: str = ""
    capability: tuple[int, int] = (0, 0)
    memory_mib: int = 0
    instances: tuple[Instance, ...] | None = None


class Seen(NamedTuple):
    """One device that CUDA enumerates: NVML's number, and the place of its MIG device if any."""

    number: int
    instance: int | None = None


class Visible(NamedTuple):
    """What CUDA enumerates, in its order, and the entries of the variable that name nothing.

    `unresolved` says why the outcome could not be told (then `order` means nothing). `guessed` is
    set where the GPUs differ and CUDA's own order of them, fastest first, is a guess.
    """

    order: tuple[Seen, ...] = ()
    invalid: tuple[str, ...] = ()
    unresolved: str = ""
    guessed: bool = False


def resolve_visible(
    text: str | None, devices: Sequence[Device], device_order: str | None = None
) -> Visible:
    """Return what CUDA enumerates of `devices` under CUDA_VISIBLE_DEVICES=`text`.

    `text` is None where the variable is not set; `device_order` is CUDA_DEVICE_ORDER. The first
    entry that names no device ends the list. So does one of another kind (index, GPU or MIG) than
    the first. A device named twice makes CUDA's start fail, so nothing is visible then.
    """
    ordered, guessed = _enumeration(devices, device_order)
    if text is None:
        every = [seen for device in ordered for seen in _units(device)]
        return Visible(_one_instance(every), guessed=guessed)
    entries = text.split(",") if text.strip() else []
    kind = _kind(entries[0]) if entries else ""
    found = [_named(entry, kind, ordered) for entry in entries]
    stop = next(
        (place for place, seen in enumerate(found) if not isinstance(seen, Seen)), len(found)
    )
    invalid = tuple(mask(e) for e, seen in zip(entries, found, strict=True) if _wrong(e, seen))
    if stop < len(found) and isinstance(found[stop], str):
        return Visible(unresolved=str(found[stop]))
    chosen = [seen for seen in found[:stop] if isinstance(seen, Seen)]
    for place, seen in enumerate(chosen):
        if seen in chosen[:place]:
            return Visible(invalid=(*invalid, mask(entries[place])))
    return Visible(_one_instance(chosen), invalid, guessed=guessed and kind == "index")


def mask(text: str) -> str:
    """Return a value of CUDA_VISIBLE_DEVICES without the UUIDs in it: `GPU-…,0`."""
    return _SECRET.sub(lambda match: f"{match[1]}-…" if match[1] else "…", text)


def _enumeration(devices: Sequence[Device], device_order: str | None) -> tuple[list[Device], bool]:
    """Order devices as CUDA does, and say whether that is a guess.

    NVML lists by PCI bus, which is CUDA's order under PCI_BUS_ID and among like devices. Its
    default is FASTEST_FIRST by "a simple heuristic" that NVIDIA does not publish; the capability
    and the memory stand in for it.
    """
    kinds = {(device.name, device.capability, device.memory_mib) for device in devices}
    if device_order == "PCI_BUS_ID" or len(kinds) < 2:  # noqa: PLR2004  # two of a kind
        return list(devices), False
    return sorted(devices, key=lambda one: (one.capability, one.memory_mib), reverse=True), True


def _units(device: Device) -> list[Seen]:
    if device.instances is None:
        return [Seen(device.number)]
    return [Seen(device.number, place) for place in range(len(device.instances))]


def _one_instance(seen: Sequence[Seen]) -> tuple[Seen, ...]:
    """Keep the first MIG device alone where there is any: CUDA enumerates no more beside it."""
    instance = next((one for one in seen if one.instance is not None), None)
    return tuple(seen) if instance is None else (instance,)


def _kind(entry: str) -> str:
    return next((kind for kind in ("GPU", "MIG") if entry.startswith(f"{kind}-")), "index")


def _wrong(entry: str, seen: Seen | str | None) -> bool:
    """Whether an entry is a mistake: `-1` is the customary way to end the list or hide all."""
    return seen is None and not entry.strip().startswith("-")


def _named(entry: str, kind: str, ordered: Sequence[Device]) -> Seen | str | None:
    """Return the device that an entry names, None for none, or why that cannot be told."""
    if _kind(entry) != kind:
        return None
    if kind == "GPU":
        return _by_uuid(entry, ordered)
    return _by_mig(entry, ordered) if kind == "MIG" else _by_index(entry, ordered)


def _by_index(entry: str, ordered: Sequence[Device]) -> Seen | None:
    match = _NUMBER.match(entry)  # as strtol reads it: `1gpu` is 1, `0x1` is 0
    if match is None or len(match[1]) > _MAX_DIGITS or not 0 <= int(match[1]) < len(ordered):
        return None
    return next(iter(_units(ordered[int(match[1])])), None)


def _by_uuid(entry: str, ordered: Sequence[Device]) -> Seen | str | None:
    digits = _digits(entry.removeprefix("GPU-"))
    if not digits:
        return None
    if any(not device.uuid for device in ordered):
        return NO_UUID
    fitting = [device for device in ordered if _fits(digits, device.uuid)]
    return next(iter(_units(fitting[0])), None) if len(fitting) == 1 else None


def _by_mig(entry: str, ordered: Sequence[Device]) -> Seen | str | None:
    parts = [
        (Seen(device.number, place), device, instance)
        for device in ordered
        for place, instance in enumerate(device.instances or ())
    ]
    old = _OLD_MIG.match(entry)
    if any(not (device if old else instance).uuid for _, device, instance in parts):
        return NO_UUID
    digits = _digits(entry.removeprefix("MIG-"))
    fitting = [
        seen
        for seen, device, instance in parts
        if (_fits_old(old, device, instance) if old else _fits(digits, instance.uuid))
    ]
    return fitting[0] if len(fitting) == 1 else None


def _fits_old(old: re.Match[str], device: Device, instance: Instance) -> bool:
    places = tuple(map(str, (instance.gpu_instance, instance.compute_instance)))
    return _fits(_digits(old[1]), device.uuid) and old.group(2, 3) == places


def _fits(digits: str, uuid: str) -> bool:
    return bool(digits) and _digits(uuid.partition("-")[2]).startswith(digits)


def _digits(text: str) -> str:
    """Return the digits of a UUID or of its start, empty where it is neither.

    Hyphens are passed over. What stands behind a full UUID is too, but not behind a start of one.
    """
    match = _UUID.match(text)
    digits = match[0].replace("-", "").lower() if match else ""
    whole = match is not None and match.end() == len(text)
    return digits[:_UUID_DIGITS] if whole or len(digits) >= _UUID_DIGITS else ""
