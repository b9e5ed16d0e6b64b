"""Prints what each GPU has in use, over and over, until nobody reads it.

Runs in a process of its own: a native call can hang, and a fork of a process that is inside NVML
would inherit its locks. One JSON array a line behind SENTINEL: MiB by GPU number, null where it was
not told.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

SENTINEL = "FLASHDOCTOR-NVML-MEMORY "
_MIB = 2**20


def main() -> None:
    """Sample every so many milliseconds: the first argument."""
    every_s = int(sys.argv[1]) / 1000
    try:
        import pynvml  # noqa: PLC0415  # its failure ends this process, which is an answer

        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        while True:
            used = [_used(pynvml, one) for one in handles]
            sys.stdout.write(f"{SENTINEL}{json.dumps(used)}\n")
            sys.stdout.flush()
            time.sleep(every_s)
    except BrokenPipeError:
        os._exit(0)


def _used(nvml: Any, handle: Any) -> int | None:
    """Return the MiB in use; the driver's own reserve counts, as it stays the same."""
    try:
        return int(nvml.nvmlDeviceGetMemoryInfo(handle).used) // _MIB
    except nvml.NVMLError:
        return None
