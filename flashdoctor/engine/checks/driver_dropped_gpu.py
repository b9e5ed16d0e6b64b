"""FD123: the driver branch no longer drives the GPU's architecture."""

from __future__ import annotations

from flashdoctor.data import lookup
from flashdoctor.engine import drivers
from flashdoctor.engine.coverage import cover, read_capability
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.versions import Capability


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
            advice = {"advice.branch": str(last), "advice.torch": _torch(view, capability)}
            return failed("driver.version", "gpu.name", detail=text, values=advice)
    return passed("driver.branch", "gpu.compute_capabilities")


def _torch(view: View, on: Capability | None) -> str:
    """Say which newest torch still carries such a GPU, in a CUDA that its last driver runs."""
    rows = view.tables.compat("torch")["variant"]
    fitting = [row for row in rows if on and row["advertised"] and cover(row["arch_list"], on)]
    if not fitting:
        return "no torch in the tables carries this GPU"
    last = max(fitting, key=lambda row: versions.order(row["minor"]) or ())
    return f"torch {last['minor']} is the newest that carries this GPU, as {last['tag']}"
