"""FD224: the visible GPUs are of different kinds."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Compare names; one GPU alone is always of one kind."""
    names = [str(device["name"]) for device in view.devices() if device.get("name")]
    kinds = list(dict.fromkeys(names))
    if len(kinds) < 2:  # noqa: PLR2004 - two of a kind
        return passed("gpu.devices")
    order = view.value("env.cuda_device_order", "")
    unsure = "" if order == "PCI_BUS_ID" else " CUDA numbers them by speed, nvidia-smi by bus."
    text = "Visible: " + ", ".join(kinds) + "." + unsure
    return failed("gpu.devices", "env.cuda_device_order", detail=text)
