"""What `tune` is asked, put together from a model, a machine's facts and options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

from flashdoctor.data.tables import Tables
from flashdoctor.errors import InputError, UsageError
from flashdoctor.model import versions
from flashdoctor.model.llm import Model
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.tune import flags, spans
from flashdoctor.tune.memory import Gpu, cuda_total
from flashdoctor.tune.pins import read_pins
from flashdoctor.tune.plan import ALLOWED, Goal, Request, Workload

MIB = 1 << 20
IDLE_MIB = 700
"""NVML shows up to this much in use on a GPU that nobody uses: the driver's own share."""


class Told(NamedTuple):
    """The release of vLLM that is planned for, and what has to be said about that."""

    version: str
    notes: tuple[str, ...] = ()


def known_version(facts: Snapshot, asked: str | None, tables: Tables) -> Told:
    """Return the release to plan for: the one asked for, the installed one, the newest known."""
    newest = flags.newest(tables)
    version = asked or facts.value("vllm.version")
    if version is None:
        note = f"no vLLM was found, so this is for {newest}, the newest one known"
        return Told(newest, (f"{note} (--engine-version)",))
    version = str(version).strip().lstrip("v")
    if spans.order(version) > spans.order(newest):
        return Told(version, (f"vLLM {version} is newer than {newest}, the newest one known",))
    return Told(version)


def read_request(  # noqa: PLR0913 - what is asked has many parts
    model: Model,
    facts: Snapshot,
    version: str,
    goal: str,
    tables: Tables,
    *,
    max_model_len: int | None = None,
    pins: Iterable[str] = (),
    allow: Iterable[str] = (),
    workload: Workload | None = None,
) -> Request:
    """Put the request together; `InputError` where no GPU is known."""
    table = flags.read_table(tables, version)
    allowed = frozenset(allow)
    if allowed - set(ALLOWED):
        wrong = ", ".join(sorted(allowed - set(ALLOWED)))
        raise UsageError(f"--allow does not know {wrong}", hint=f"--allow {ALLOWED[0]}")
    held = read_pins(pins, table)
    if max_model_len is not None and "max-model-len" in held:
        raise UsageError("--max-model-len and --pin max-model-len say the same")
    return Request(
        model=model,
        gpu=read_gpu(facts, tables),
        version=version,
        flags=table,
        gpus=_count(facts),
        goal=cast("Goal", goal),
        workload=workload or Workload(),
        max_model_len=max_model_len,
        pins=held,
        allow=allowed,
        wsl=int(facts.value("wsl.version") or 0),
        bundled=_bundled(facts, version),
    )


def read_gpu(facts: Snapshot, tables: Tables) -> Gpu:
    """Return the GPU; `InputError` where its capability or memory is not known."""
    capability = versions.capability(str(facts.value("gpu.compute_capability", "")))
    memory = facts.value("gpu.memory_mib")
    name = facts.value("gpu.name")
    hint = "--assume gpu='RTX 4090', or also compute_capability and gpu_memory_gib"
    if capability is None:
        raise InputError(f"the compute capability of {name or 'the GPU'} is not known", hint=hint)
    if not memory:
        raise InputError(f"the memory of {name or 'the GPU'} is not known", hint=hint)
    used = int(facts.value("gpu.memory_used_mib") or 0)
    return Gpu(
        name=name,
        total_bytes=cuda_total(int(memory), tables=tables),
        capability=capability,
        used_bytes=used * MIB if used > IDLE_MIB else 0,
    )


def _count(facts: Snapshot) -> int:
    """Return how many GPUs may be used: those that CUDA sees, else those there are, else one."""
    visible, present = facts.value("gpu.visible_count"), facts.value("gpu.count")
    return max(int(visible or present or 1), 1)


def _bundled(facts: Snapshot, version: str) -> frozenset[int] | None:
    """Return the FlashAttention versions of the installed vLLM, if that is what is planned for."""
    names = facts.value("vllm.bundled")
    if names is None or facts.value("vllm.version") != version:
        return None
    return frozenset(int(name[2:]) for name in names if name in {"fa2", "fa3", "fa4"})
