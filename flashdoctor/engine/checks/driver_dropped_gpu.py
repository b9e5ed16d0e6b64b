"""FD123: the driver branch no longer drives the GPU's architecture."""

from __future__ import annotations

from flashdoctor.data import lookup
from flashdoctor.engine import drivers
from flashdoctor.engine.coverage import read_capability
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Compare with the branch after the last one: on Windows branch 580 runs from 580 to 582."""
    branch = view.need("driver.branch")
    devices = view.devices()
    for device in devices:
        capability = read_capability(device)
        row = lookup.arch(view.tables, capability) if capability else None
        last = row.get("last_driver_branch") if row else None
        after = drivers.next_branch(view.tables, last) if last else None
        if row and branch and after and branch >= after:
            text = f"{device['name']} ({row['name']}) is driven by branches up to {last} only."
            return failed(
                "driver.version", "gpu.name", detail=text, values={"advice.branch": str(last)}
            )
    return passed("driver.branch", "gpu.compute_capabilities")
