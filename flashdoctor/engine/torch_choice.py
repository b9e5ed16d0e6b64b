"""Which torch wheel would run on these GPUs with this driver, nearest to what is there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.engine import drivers
from flashdoctor.engine.coverage import cover, read_capability
from flashdoctor.engine.torch_wheels import machine_of, wheel_targets
from flashdoctor.engine.view import View
from flashdoctor.model import versions
from flashdoctor.model.versions import Capability

Row: TypeAlias = Mapping[str, Any]


class Choice(NamedTuple):
    """A torch release and the index tag of its CUDA variant, `2.9.1` and `cu128`."""

    torch: str
    tag: str


def advise_torch(view: View) -> dict[str, str]:
    """Return the values `advice.torch` and `advice.index` for a fix; empty where nothing fits."""
    wanted = [capability for device in _devices(view) if (capability := read_capability(device))]
    choice = choose_torch(view, wanted)
    return {"advice.torch": choice.torch, "advice.index": choice.tag} if choice else {}


def own_index(view: View) -> dict[str, str]:
    """Return the value `advice.own_index`: the index that the installed torch came from.

    Reinstalling from the default index could bring another CUDA.
    """
    cuda = versions.minor(view.value("torch.cuda", ""))
    return {"advice.own_index": f"cu{cuda.replace('.', '')}"} if cuda else {}


def _devices(view: View) -> list[Row]:
    known = view.get("gpu.compute_capability").is_known or view.value("gpu.devices")
    return list(view.devices()) if known else []


def choose_torch(view: View, capabilities: Sequence[Capability]) -> Choice | None:
    """Return a published wheel with code for all of `capabilities` that this driver can run.

    The installed release comes first, in its default CUDA if that will do; then the newest.
    """
    for release in _releases(view):
        for tag, cuda, targets in _variants(view, release):
            if _driver_runs(view, cuda) and all(cover(targets, on) for on in capabilities):
                return Choice(release["version"], tag)
    return None


def _releases(view: View) -> Iterator[Row]:
    rows = sorted(view.tables.compat("torch")["release"], key=_age, reverse=True)
    own = versions.public(view.value("torch.version", ""))
    fitting = [row for row in rows if _fits_system(view, row)]
    yield from (row for row in fitting if row["version"] == own)
    yield from (row for row in fitting if row["version"] != own)


def _age(row: Row) -> Any:
    return versions.order(row["version"])


def _fits_system(view: View, row: Row) -> bool:
    tag = view.value("python.tag")
    windows = view.value("os.system") == "Windows"
    pythons = row["pythons_windows" if windows else "pythons_linux_x86_64"]
    glibc = versions.order(view.value("os.glibc", ""))
    floor = versions.order(row["glibc_floor"])
    return (tag is None or tag in pythons) and (glibc is None or not floor or glibc >= floor)


def _variants(view: View, release: Row) -> Iterable[tuple[str, str, list[str]]]:
    """Yield tag, CUDA and targets of the release's published variants, its default first."""
    rows = [
        row
        for row in view.tables.compat("torch")["variant"]
        if row["minor"] == release["minor"] and row["advertised"]
    ]
    default = release["default_variant"]
    rows.sort(key=lambda row: (row["tag"] == default, versions.release(row["cuda"])), reverse=True)
    for row in rows:
        targets = wheel_targets(row, machine_of(view.snapshot))
        if targets:
            yield row["tag"], row["cuda"], targets


def _driver_runs(view: View, cuda: str) -> bool:
    driver, floor = view.value("driver.version"), drivers.cuda_floor(view, cuda)
    if driver is None:
        return not drivers.is_of_lower_major(view.value("driver.cuda", ""), cuda)
    return floor is None or not drivers.is_below(driver, floor)
