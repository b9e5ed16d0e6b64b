"""torch: which published wheels run on a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.engine.coverage import cover
from flashdoctor.engine.derive import derive
from flashdoctor.engine.torch_wheels import wheel_targets
from flashdoctor.model import versions
from flashdoctor.model.facts import known
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.model.specifiers import fits
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.reason import Reason, Refused

Row: TypeAlias = Mapping[str, Any]

PACKAGE = "torch"
_FIRST_WITH_SDPA = (2,)
_DEFAULTS = {
    "linux": "default_cuda",
    "aarch64": "aarch64_default_cuda",
    "windows": "windows_default_cuda",
}


class TorchBuild(NamedTuple):
    """One wheel: release, CUDA variant, and what compiled extensions have to fit.

    `tag` is None for a build that comes from no index. `is_default`: the package index serves this
    variant here. `triton_is_open`: it takes later patch releases of triton as well.
    """

    version: str
    cuda: str
    tag: str | None
    is_default: bool
    targets: tuple[str, ...]
    new_abi: bool
    triton: str | None
    triton_is_open: bool = False

    @property
    def minor(self) -> str:
        """The release's X.Y."""
        return versions.minor(self.version) or self.version

    @property
    def full(self) -> str:
        """What `torch.__version__` says."""
        return f"{self.version}+{self.tag}" if self.tag else self.version


def torch_builds(machine: Machine) -> tuple[list[TorchBuild], list[Refused]]:
    """Return the wheels that run here and those that do not, the newest release first."""
    fitting, refused = [], []
    for release, variant in _published(machine):
        reason = next(_reasons(machine, release, variant), None)
        if reason:
            refused.append(Refused(PACKAGE, release["version"], reason, variant["tag"]))
        else:
            fitting.append(_build(machine, release, variant))
    return fitting, refused


def _published(machine: Machine) -> Iterator[tuple[Row, Row]]:
    table = machine.tables.compat("torch")
    releases = sorted(
        table["release"], key=lambda row: versions.order(row["version"]) or (), reverse=True
    )
    for release in releases:
        if (versions.release(release["version"]) or ()) < _FIRST_WITH_SDPA:
            continue
        for variant in table["variant"]:
            if variant["minor"] == release["minor"] and variant["advertised"]:
                yield release, variant


def _reasons(machine: Machine, release: Row, variant: Row) -> Iterator[Reason]:
    yield from _system_reasons(machine, release, variant)
    floor = machine.driver_floor(variant["cuda"])
    if floor:
        yield Reason(
            f"CUDA {versions.major(variant['cuda'])} needs driver {floor} or newer, "
            f"this machine has {machine.driver or 'an older one'}",
            f"driver {floor}",
        )
    yield from _gpu_reasons(machine, variant)


def _system_reasons(machine: Machine, release: Row, variant: Row) -> Iterator[Reason]:
    column = "pythons_windows" if machine.kind == "windows" else "pythons_linux_x86_64"
    if machine.python_tag not in release[column]:
        yield Reason(f"no wheel for Python {versions.minor(machine.python)}", "another Python")
    elif not fits(machine.python, release["requires_python"]):
        yield Reason(f"takes Python {release['requires_python']}", "another Python")
    if not wheel_targets(variant, machine.kind):
        yield Reason(f"no CUDA wheel for {machine.platform} that the tables know of")
    floor = _glibc_floor(release, variant)
    if machine.kind != "windows" and machine.glibc and _below(machine.glibc, floor):
        yield Reason(
            f"needs glibc {floor}, this system has {machine.glibc}", f"a system with glibc {floor}"
        )


def _glibc_floor(release: Row, variant: Row) -> str:
    early = variant["cxx11_abi"] == "cxx11" and release["glibc_floor"] == "2.17"
    return "2.28" if early else str(release["glibc_floor"])


def _below(own: str, floor: str) -> bool:
    pair = versions.order(own), versions.order(floor)
    return pair[0] is not None and pair[1] is not None and pair[0] < pair[1]


def _gpu_reasons(machine: Machine, variant: Row) -> Iterator[Reason]:
    targets = wheel_targets(variant, machine.kind)
    ceiling = versions.release(machine.facts.value("driver.cuda", ""))
    for on in machine.capabilities:
        served = cover(targets, on)
        if served is None:
            yield Reason(f"carries {' '.join(targets)}, nothing for {on.sm}")
        elif served == "ptx" and ceiling and ceiling < (versions.release(variant["cuda"]) or ()):
            yield Reason(
                f"has only PTX for {on.sm}, which a driver for CUDA {variant['cuda']} compiles",
                "a newer driver",
            )


def _build(machine: Machine, release: Row, variant: Row) -> TorchBuild:
    on_arm = machine.kind == "aarch64" and (versions.release(release["minor"]) or ()) >= (2, 6)
    return TorchBuild(
        version=release["version"],
        cuda=variant["cuda"],
        tag=variant["tag"],
        is_default=release[_DEFAULTS[machine.kind]] == variant["cuda"],
        targets=tuple(wheel_targets(variant, machine.kind)),
        new_abi=variant["cxx11_abi"] == "cxx11" or on_arm,
        triton=_triton(release) if machine.kind == "linux" else None,
        triton_is_open=str(release.get("triton", "")).startswith("~="),
    )


def _triton(release: Row) -> str | None:
    return release["triton"].lstrip("=~") if "triton" in release else None


def kept_build(machine: Machine) -> TorchBuild | Reason:
    """Return the torch that is installed, or why it cannot be kept."""
    own = machine.installed
    version, cuda = own.value("torch.version"), own.value("torch.cuda")
    if version is None:
        return Reason("no torch is installed", "leave --keep torch out")
    if cuda is None:
        return Reason(f"torch {version} is not a CUDA build", "leave --keep torch out")
    for build in torch_builds(machine)[0]:
        if build.version == versions.public(version) and build.cuda == versions.minor(cuda):
            return build
    return _stated_build(machine, version, cuda)


def _stated_build(machine: Machine, version: str, cuda: str) -> TorchBuild | Reason:
    """Return a build that no index has, as far as its own files say what it is."""
    targets = machine.installed.value("torch.arch_list") or ()
    unserved = [on.sm for on in machine.capabilities if not cover(targets, on)]
    abi = machine.installed.value("torch.cxx11_abi")
    if unserved or abi is None:
        what = f"code for {', '.join(unserved)}" if unserved else "its C++ ABI"
        return Reason(f"of torch {version} {what} is not known", "leave --keep torch out")
    floor = machine.driver_floor(cuda)
    if floor:
        return Reason(f"torch {version} needs driver {floor}", f"driver {floor}")
    return TorchBuild(
        version=version,
        cuda=cuda,
        tag=None,
        is_default=False,
        targets=tuple(targets),
        new_abi=abi,
        triton=machine.installed.value("triton.version"),
    )


def with_torch(machine: Machine, build: TorchBuild) -> Snapshot:
    """Return the machine's facts with this torch beside them."""
    source = f"torch {build.full}"
    facts = {
        "torch.version": build.full,
        "torch.minor": build.minor,
        "torch.cuda": build.cuda,
        "torch.cxx11_abi": build.new_abi,
    }
    stated = {path: known(path, value, source) for path, value in facts.items()}
    return derive(Snapshot({**machine.facts.facts, **stated}), machine.tables)
