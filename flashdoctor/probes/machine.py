"""Everything about this machine and its target Python, gathered side by side.

Imports stand inside the functions: the target's interpreter is started first, and the probes are
imported while it starts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from flashdoctor.errors import TargetError
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import Fact
from flashdoctor.model.rule import Component
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.target.beside import Beside
from flashdoctor.target.choose import Choice, choose_python
from flashdoctor.target.collect import Collected, collect_facts, not_collected

if TYPE_CHECKING:
    from pathlib import Path

_START_S = 1.0  # other work begins once the target's interpreter runs, or cannot be started

Smoke: TypeAlias = Literal["auto", "on", "off"]


def read_machine(
    python: str | None,
    smoke: Smoke,
    environ: Mapping[str, str],
    meanwhile: Callable[[], object] = lambda: None,
    required: Iterable[Component] = (),
) -> Snapshot:
    """Return all facts of this machine and of the target Python, not yet redacted.

    The live import runs with `smoke` on, or by itself where there is a GPU and torch; a few
    attention kernels run behind it, and what proves the `required` ones. `meanwhile` is called
    while the children are still at work. Raises TargetNotFoundError only where `python` was named
    and is not there.
    """
    named = choose_python(python, environ) if python is not None else None
    at_work = threading.Event()
    target = Beside(lambda: _read_target(named, environ, at_work))
    at_work.wait(_START_S)
    gpu = Beside(lambda: _read_gpu(environ))
    host = Beside(lambda: _read_host(environ))
    meanwhile()
    seen = snapshots.merge(snapshots.of(gpu.result()), snapshots.of(host.result()))
    collected, path = target.result()
    audited = snapshots.of(_audit(collected, environ))
    found = snapshots.merge(seen, snapshots.of(collected.facts), audited)
    reason = _why_not_live(smoke, seen, collected)
    if reason or path is None:
        return snapshots.merge(_not_live(reason or "there is no target Python"), found)
    return _read_live(found, collected, path, environ, required)


def _read_target(
    choice: Choice | None, environ: Mapping[str, str], at_work: threading.Event
) -> tuple[Collected, Path | None]:
    try:
        choice = choice or choose_python(None, environ)
        named, path = choice.named, choice.path
        return collect_facts(path, named=named, environ=environ, on_start=at_work.set), path
    except TargetError as error:
        if choice is not None and choice.named:
            raise
        return not_collected(error), None
    finally:
        at_work.set()


def _read_gpu(environ: Mapping[str, str]) -> list[Fact]:
    from flashdoctor.probes.gpu import read_gpu

    return read_gpu(environ)


def _read_host(environ: Mapping[str, str]) -> list[Fact]:
    from flashdoctor.probes.host import read_host

    return read_host(environ=environ)


def _audit(collected: Collected, environ: Mapping[str, str]) -> list[Fact]:
    if not any(collected.files.values()):
        return []
    from flashdoctor.probes.cache import default_folder
    from flashdoctor.probes.extension import audit

    return audit(collected.files, default_folder(environ))


def _not_live(reason: str) -> Snapshot:
    from flashdoctor.smoke import skipped
    from flashdoctor.target import live

    not_run = skipped.not_run("no kernel of torch ran before")
    return snapshots.of((*live.not_run(reason), *not_run))


def _read_live(
    found: Snapshot,
    collected: Collected,
    path: Path,
    environ: Mapping[str, str],
    required: Iterable[Component],
) -> Snapshot:
    """Return what was found with the live.* and smoke.* facts: torch starts once for both."""
    from flashdoctor.smoke.quick import QuickLook
    from flashdoctor.target.live import plan_imports, run_live

    look = QuickLook(found, required)
    live = run_live(path, imports=plan_imports(collected), environ=environ, guest=look)
    found = snapshots.merge(snapshots.of(live), found)
    return snapshots.merge(found, snapshots.of(look.facts(path, found, environ)))


def _why_not_live(smoke: Smoke, seen: Snapshot, collected: Collected) -> str:
    if smoke == "off":
        return "--smoke off"
    if collected.value("torch.version") is None:
        return "torch is not installed in the target Python"
    if smoke == "auto" and _has_no_gpu(seen):
        return "no GPU, and --smoke is not on"
    return ""


def _has_no_gpu(seen: Snapshot) -> bool:
    """Whether that is as good as certain: an NVML that is there and fails says nothing."""
    count = seen["gpu.count"]
    if count.state == "unknown":
        return bool(seen.value("nvml.status", "library-not-found") == "library-not-found")
    return not count.value
