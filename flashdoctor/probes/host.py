"""Every fact about the host but its GPUs: all host probes, each guarded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from flashdoctor.model.facts import Fact, unknown
from flashdoctor.probes import (
    compiler,
    container,
    driver,
    environment,
    libcuda,
    libstdcxx,
    memory,
    system,
    toolkit,
    wsl,
)
from flashdoctor.probes.tree import SYSTEM_ROOT
from flashdoctor.target.beside import Beside

Reader: TypeAlias = Callable[[Path, Mapping[str, str]], list[Fact]]


class Probe(NamedTuple):
    """A reader of facts and the paths that it states, whatever it finds.

    One that `asks` starts programs and waits for their answers.
    """

    name: str
    read: Reader
    paths: tuple[str, ...]
    asks: bool = False


PROBES = (
    Probe(name="system", read=system.read_system, paths=system.PATHS),
    Probe(name="memory", read=memory.read_memory, paths=memory.PATHS),
    Probe(name="libstdcxx", read=libstdcxx.read_libstdcxx, paths=libstdcxx.PATHS),
    Probe(name="compiler", read=compiler.read_compiler, paths=compiler.PATHS, asks=True),
    Probe(name="wsl", read=wsl.read_wsl, paths=wsl.PATHS),
    Probe(name="container", read=container.read_container, paths=container.PATHS),
    Probe(name="driver", read=driver.read_driver, paths=driver.PATHS),
    Probe(name="libcuda", read=libcuda.read_libcuda, paths=libcuda.PATHS),
    Probe(name="toolkit", read=toolkit.read_toolkit, paths=toolkit.PATHS, asks=True),
    Probe(name="environment", read=environment.read_environment, paths=environment.PATHS),
)


def read_host(
    root: Path = SYSTEM_ROOT,
    environ: Mapping[str, str] | None = None,
    probes: tuple[Probe, ...] = PROBES,
) -> list[Fact]:
    """Return the facts os.*, wsl.*, container.*, driver.*, toolkit.* and env.* of this machine.

    `environ` is this process's own where it is not given. Never raises: the facts of a probe that
    fails are unknown, with the failure as their reason.
    """
    variables = os.environ if environ is None else environ
    asking = [Beside(partial(run_probe, probe, root, variables)) for probe in probes if probe.asks]
    facts = [f for probe in probes if not probe.asks for f in run_probe(probe, root, variables)]
    return [*facts, *(fact for work in asking for fact in work.result())]


def run_probe(probe: Probe, root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Run one probe; where it raises, each of its paths is unknown."""
    try:
        return probe.read(root, environ)
    except Exception as error:  # noqa: BLE001  # a broken machine must not take the report down
        reason = f"the {probe.name} probe failed: {type(error).__name__}"
        return [unknown(path, reason, f"{probe.name} probe") for path in probe.paths]
