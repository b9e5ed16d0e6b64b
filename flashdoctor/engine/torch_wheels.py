"""What the tables hold of torch's wheels: by whom, for which machine, with which targets. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from flashdoctor.model import versions
from flashdoctor.model.regex import regex
from flashdoctor.model.snapshot import Snapshot

Row: TypeAlias = Mapping[str, Any]
Machine: TypeAlias = Literal["linux", "aarch64", "windows"]

_NIGHTLY = regex(r"\d+\.\d+\.\d+\.dev\d{8}(?:\+\w+)?")


def is_index_wheel(version: str) -> bool:
    """Whether a torch version is one that the PyTorch project publishes: no vendor, no nightly."""
    tag = versions.local_tag(version)
    plain = versions.public(version).replace(".", "").isdigit()
    return plain and (tag is None or tag == "cpu" or versions.cuda_of_tag(tag) is not None)


def is_nightly(version: str) -> bool:
    """Whether a torch version is a nightly build of the project, `2.9.0.dev20250801+cu128`."""
    tag = versions.local_tag(version)
    published = tag is None or versions.cuda_of_tag(tag) is not None
    return published and _NIGHTLY.fullmatch(version) is not None


def machine_of(snapshot: Snapshot) -> Machine:
    """Return the kind of machine whose wheels are meant; x86_64 with Linux where nobody said.

    A Jetson is an aarch64 machine whatever else is known of it.
    """
    if snapshot.value("os.system") == "Windows":
        return "windows"
    platform = snapshot.value("os.platform")
    jetson = platform is None and snapshot.value("gpu.segment") == "jetson"
    return "aarch64" if jetson or platform == "linux_aarch64" else "linux"


def wheel_targets(variant: Row, machine: Machine) -> list[str]:
    """Return the targets of a CUDA variant's wheel, `sm_90` and `compute_120`; empty if unknown.

    Windows wheels hold those of Linux wherever the table does not say otherwise.
    """
    if machine == "aarch64":
        return _natives(variant.get("aarch64_arch_list", ()))
    if machine == "windows" and "windows_arch_list" in variant:
        return _natives(variant["windows_arch_list"])
    virtual = [f"compute_{variant['ptx'].replace('.', '')}"] if "ptx" in variant else []
    return [*_natives(variant.get("arch_list", ())), *virtual]


def _natives(capabilities: Any) -> list[str]:
    return [f"sm_{text.replace('.', '')}" for text in capabilities]
