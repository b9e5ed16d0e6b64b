"""The machine that a plan is for: the facts that no installation changes."""

from __future__ import annotations

from dataclasses import dataclass

from flashdoctor.data.tables import Tables
from flashdoctor.engine import drivers, situation
from flashdoctor.engine.coverage import read_capability
from flashdoctor.engine.derive import derive
from flashdoctor.engine.torch_wheels import Machine as Kind
from flashdoctor.engine.torch_wheels import machine_of
from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model import versions
from flashdoctor.model.facts import Fact, known
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.model.versions import Capability

ASSUMED_PYTHON = "3.12"
"""Planned for where nobody said which Python there is: most wheels exist for it."""

_KEPT = ("gpu.", "driver.", "nvml.", "os.", "wsl.", "container.", "toolkit.", "python.")
_PLATFORMS = {"linux": "linux_x86_64", "aarch64": "linux_aarch64", "windows": "win_amd64"}
_SOURCE = "not stated, planned for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Facts of the machine and its Python (`facts`), and of what is installed (`installed`).

    Both are derived. `capabilities` holds each kind of visible GPU once; `driver` is None where it
    is not known, `glibc` too.
    """

    facts: Snapshot
    installed: Snapshot
    tables: Tables
    kind: Kind
    platform: str
    python: str
    python_is_stated: bool
    capabilities: tuple[Capability, ...]

    @property
    def view(self) -> View:
        """What a check would see of it."""
        return View(self.facts, self.tables)

    @property
    def driver(self) -> str | None:
        """The driver's version; a bare branch means its latest."""
        version: str | None = self.facts.value("driver.version")
        return version

    @property
    def glibc(self) -> str | None:
        """The C library of this system."""
        version: str | None = self.facts.value("os.glibc")
        return version

    @property
    def python_tag(self) -> str:
        """The interpreter's wheel tag, `cp312`."""
        return str(self.facts.value("python.tag", ""))

    @property
    def gpu(self) -> str:
        """The GPU as people call it."""
        name = self.facts.value("gpu.name")
        listed = ", ".join(map(str, self.capabilities))
        return f"{name} ({listed})" if name else f"a GPU of compute capability {listed}"

    def driver_floor(self, cuda: str) -> str | None:
        """Return the driver that a build for this CUDA needs where this one is too old for it."""
        floor = drivers.cuda_floor(self.view, cuda)
        if self.driver is None:
            lower = drivers.is_of_lower_major(self.facts.value("driver.cuda", ""), cuda)
            return floor if lower else None
        return floor if floor and drivers.is_below(self.driver, floor) else None


def read_machine(snapshot: Snapshot, tables: Tables) -> Machine:
    """Return the machine of a snapshot; what has to be known and is not gets a usual value."""
    installed = derive(snapshot, tables)
    facts = {fact.path: fact for fact in snapshot if fact.path.startswith(_KEPT)}
    kind = machine_of(installed)
    stated = installed["python.version"].is_known
    for fact in _usual(installed, kind):
        facts[fact.path] = fact
    derived = derive(Snapshot(facts), tables)
    return Machine(
        facts=derived,
        installed=installed,
        tables=tables,
        kind=kind,
        platform=derived.value("os.platform"),
        python=derived.value("python.version"),
        python_is_stated=stated,
        capabilities=_capabilities(View(derived, tables)),
    )


def _usual(snapshot: Snapshot, kind: Kind) -> list[Fact]:
    usual = {"os.platform": _PLATFORMS[kind], "python.version": ASSUMED_PYTHON}
    return [
        known(path, value, _SOURCE) for path, value in usual.items() if not snapshot[path].is_known
    ]


def _capabilities(view: View) -> tuple[Capability, ...]:
    try:
        devices = view.devices()
    except MissingFactError:
        return ()
    seen = (read_capability(device) for device in devices)
    return tuple(dict.fromkeys(capability for capability in seen if capability))


def is_outside(machine: Machine) -> str | None:
    """Return why no table says anything of this machine, None where they do."""
    view = machine.view
    if situation.is_jetson(view):
        return "Jetson and Drive boards take torch from NVIDIA's own index, which no table covers"
    if view.value("os.rocm") is True or situation.is_foreign(view):
        return "the tables cover NVIDIA GPUs only"
    if view.value("os.system") == "Darwin" or machine.platform.startswith("macosx"):
        return "macOS has no CUDA"
    return None


def python_minor(machine: Machine) -> str:
    """Return `3.12`."""
    return versions.minor(machine.python) or machine.python
