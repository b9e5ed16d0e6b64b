"""Words for what NVML and nvidia-smi say, shared by all that read them. Pure."""

from __future__ import annotations

import re

from flashdoctor.model.regex import regex

# nvmlClocksThrottleReason*/nvmlClocksEventReason* of nvml.h, by bit; the second name is the tail
# of nvidia-smi's XML element for the same reason.
THROTTLE_REASONS = (
    (0x1, "gpu_idle", "idle"),
    (0x2, "applications_clocks_setting", "application-clocks"),
    (0x4, "sw_power_cap", "power-cap"),
    (0x8, "hw_slowdown", "hw-slowdown"),
    (0x10, "sync_boost", "sync-boost"),
    (0x20, "sw_thermal_slowdown", "sw-thermal"),
    (0x40, "hw_thermal_slowdown", "hw-thermal"),
    (0x80, "hw_power_brake_slowdown", "power-brake"),
    (0x100, "display_clocks_setting", "display-clocks"),
)

# nvmlGpuFabricState_t of nvml.h.
FABRIC_STATES = ("not-supported", "not-started", "in-progress", "completed")

# nvmlDriverModel_t of nvml.h; only Windows has one.
DRIVER_MODELS = ("WDDM", "TCC", "MCDM")

# nvmlReturn_t of nvml.h; what is not listed is an unknown-error.
STATUSES = {
    4: "no-permission",
    9: "driver-not-loaded",
    10: "timeout",
    12: "library-not-found",
    15: "gpu-lost",  # "GPU is lost"
    16: "gpu-lost",  # "GPU requires reset"
    17: "no-permission",  # "GPU access blocked by the operating system": cgroup, or WSL's host
    18: "version-mismatch",
}

# The same failures as nvidia-smi words them, first match wins.
_PHRASES = (
    ("version mismatch", "version-mismatch"),
    ("couldn't communicate with the nvidia driver", "driver-not-loaded"),
    ("driver not loaded", "driver-not-loaded"),
    ("couldn't find libnvidia-ml", "library-not-found"),
    ("nvml shared library", "library-not-found"),
    ("could not load nvml", "library-not-found"),
    ("gpu is lost", "gpu-lost"),
    ("gpu requires reset", "gpu-lost"),
    ("requires restart", "gpu-lost"),
    ("insufficient permissions", "no-permission"),
    ("blocked by the operating system", "no-permission"),
    ("failed to initialize nvml", "unknown-error"),
    ("nvidia-smi has failed", "unknown-error"),
)

_DRIVE = regex(r"[A-Za-z]:\\|\\\\")


def throttle_words(bits: int) -> list[str]:
    """Return the reasons set in NVML's bit mask; a bit without a name shows as `0x200`."""
    words = [word for bit, _, word in THROTTLE_REASONS if bits & bit]
    rest = bits & ~sum(bit for bit, _, _ in THROTTLE_REASONS)
    return [*words, *([hex(rest)] if rest else [])]


def nth(words: tuple[str, ...], number: int | None) -> str | None:
    """Return the word of an enum's value, None for a value that has no word here."""
    return words[number] if number is not None and 0 <= number < len(words) else None


def failure_status(text: str) -> str | None:
    """Return the nvml.status that an error of nvidia-smi stands for, None where it is no error."""
    lowered = text.lower()
    return next((status for phrase, status in _PHRASES if phrase in lowered), None)


def program_name(command: str) -> str | None:
    """Return the bare name of a process: no folder, no arguments, None for nothing.

    NVML gives a path, or the title that the process chose for itself (`ray::Worker --token x`).
    """
    text = command.strip()
    if not _DRIVE.match(text):
        text = text.split(maxsplit=1)[0] if text else ""
    name = re.split(r"[/\\]", text)[-1].strip()
    return name if name and name not in {"-", "[N/A]", "N/A"} else None


def cuda_version(number: int) -> str | None:
    """Return `12.4` for NVML's 12040, None for nothing."""
    return f"{number // 1000}.{number % 1000 // 10}" if number > 0 else None
