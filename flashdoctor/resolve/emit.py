"""A plan as a requirements file and as a Dockerfile."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.data.tables import Tables
from flashdoctor.errors import UsageError
from flashdoctor.model import versions
from flashdoctor.model.plan import Emit, Installer, Plan
from flashdoctor.resolve.commands import commands, fa4_requirement, packages, torch_requirements

_HEAD = "# Written by flashdoctor resolve for Python {python} on {platform}."
_LATER = ("--no-build-isolation", "git clone", "flash-attn-3==", "ninja", "$env:")
"""Marks of commands that no line of a requirements file stands for; flash-attn-4 is one more where
flash-attn would be written over it."""

_COMPILER = "gcc g++ libc6-dev"
"""Triton compiles a launcher with the system's C compiler when a kernel first runs."""


def emit(plan: Plan, kind: Emit, installer: Installer, tables: Tables) -> str:
    """Return the text of the file; a file for what cannot be installed by it is a `UsageError`."""
    if kind == "requirements":
        lines = _requirements(plan, installer)
    elif plan.platform == "win_amd64":
        raise UsageError("--emit dockerfile: this plan is for Windows itself, not for a container")
    else:
        lines = _dockerfile(plan, tables)
    return "\n".join(lines) + "\n"


def _requirements(plan: Plan, installer: Installer) -> Iterator[str]:
    yield _HEAD.format(python=plan.python, platform=plan.platform)
    index = None if plan.torch_is_default else plan.torch_index
    if installer == "uv":
        option = f" --torch-backend={index}" if index else ""
        yield f"# uv pip install -r requirements.txt{option}"
    else:
        yield "# pip install -r requirements.txt"
        if index:
            yield f"--extra-index-url {plan.torch_index_url}"
    yield from torch_requirements(plan, full=bool(index) and installer == "pip")
    yield from packages(plan)
    if plan.flash_attn_url:
        yield f"flash-attn @ {plan.flash_attn_url}"
    if plan.flash_attn_4 and not plan.flash_attn:
        yield fa4_requirement(plan)
    marks = (*_LATER, *(["flash-attn-4"] if plan.flash_attn else []))
    lines = commands(plan, installer)
    later = [line for line in lines if any(mark in line for mark in marks)]
    if later:
        yield "# Then, which no requirements file can say:"
        yield from (f"# {line}" for line in later)


def _dockerfile(plan: Plan, tables: Tables) -> Iterator[str]:
    yield _HEAD.format(python=plan.python, platform=plan.platform)
    yield from _base_image(plan, tables)
    yield "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility"
    for command in commands(plan, "uv"):
        yield f"RUN {command}"


def _base_image(plan: Plan, tables: Tables) -> Iterator[str]:
    """Yield a system with a C compiler and the plan's Python, with nvcc where a build needs it.

    torch's wheels bring CUDA themselves, and the driver comes from the host.
    """
    python = versions.minor(plan.python)
    tools = _COMPILER
    if plan.builds:
        yield f"FROM nvidia/cuda:{_toolkit_tag(tables, plan.builds[0].toolkit)}-devel-ubuntu22.04"
        yield "# The image asks for a driver of its own CUDA; its major's lowest is enough here."
        yield "ENV NVIDIA_DISABLE_REQUIRE=1"
        tools += " git"
    else:
        yield "FROM ubuntu:22.04"
    install = "apt-get install -y --no-install-recommends ca-certificates"
    yield f"RUN apt-get update && {install} {tools}"
    yield "COPY --from=ghcr.io/astral-sh/uv:latest /uv /usr/local/bin/uv"
    yield f"RUN uv venv --python {python} /opt/venv"
    yield "ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH"


def _toolkit_tag(tables: Tables, toolkit: str) -> str:
    """Return the newest known release of a CUDA X.Y, as image tags write it."""
    rows = tables.compat("driver_cuda")["toolkit"]
    same = [row["version"] for row in rows if versions.minor(row["version"]) == toolkit]
    full = [version for version in same if version.count(".") > 1]
    return max(full, key=lambda text: versions.order(text) or (), default=f"{toolkit}.0")
