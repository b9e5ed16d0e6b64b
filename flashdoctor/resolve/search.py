"""Every set of releases that goes together on a machine, the best first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from flashdoctor.model import versions
from flashdoctor.model.plan import Build
from flashdoctor.resolve import vllm_releases as vllm_side
from flashdoctor.resolve.flash_attn import FlashAttn, choose_flash_attn
from flashdoctor.resolve.flash_attn_later import choose_fa3, choose_fa4
from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.reason import Reason, Refused
from flashdoctor.resolve.torch_builds import PACKAGE, TorchBuild, kept_build, torch_builds
from flashdoctor.resolve.transformers_releases import choose_transformers
from flashdoctor.resolve.vllm_releases import VllmRelease, vllm_releases
from flashdoctor.resolve.wants import COMPONENTS, PATHS, Want


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One set. What is not wanted is None, except for transformers where vLLM brings it."""

    torch: TorchBuild
    vllm: VllmRelease | None = None
    transformers: str | None = None
    flash_attn: FlashAttn | None = None
    fa3: FlashAttn | None = None
    fa4: FlashAttn | None = None

    @property
    def flash_attns(self) -> tuple[FlashAttn, ...]:
        """Every generation of FlashAttention in it."""
        return tuple(item for item in (self.flash_attn, self.fa3, self.fa4) if item)

    @property
    def builds(self) -> tuple[Build, ...]:
        """What has to be compiled."""
        return tuple(item.build for item in self.flash_attns if item.build)

    def version_of(self, name: str) -> str | None:
        """Return the release of a wanted package."""
        releases = {
            "torch": self.torch.version,
            "vllm": self.vllm.version if self.vllm else None,
            "transformers": self.transformers,
            "flash-attn": self.flash_attn.version if self.flash_attn else None,
            "fa3": self.fa3.version if self.fa3 else None,
            "fa4": self.fa4.version if self.fa4 else None,
        }
        return releases[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The candidates, the best first, and all that was refused on the way by package."""

    candidates: tuple[Candidate, ...]
    refused: Mapping[str, list[Refused]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """What a search goes by, and where it writes down what it refuses."""

    machine: Machine
    wanted: Mapping[str, Want]
    refused: dict[str, list[Refused]]

    def refuse(self, key: str, items: Iterable[Refused]) -> None:
        self.refused.setdefault(key, []).extend(items)


def search(machine: Machine, wants: Iterable[Want], keep: Iterable[str] = ()) -> Found:
    """Return every set of releases that fits, ordered by what is preferred.

    `keep` names packages whose installed release must stay.
    """
    wanted = {want.name: want for want in with_kept(machine, wants, keep)}
    scope = _Scope(machine=machine, wanted=wanted, refused={})
    found = list(_sets(scope, _torch_choices(scope, is_kept="torch" in set(keep))))
    found.sort(key=lambda item: _preference(item, machine, wanted))
    return Found(candidates=tuple(found), refused=scope.refused)


def with_kept(machine: Machine, wants: Iterable[Want], keep: Iterable[str]) -> tuple[Want, ...]:
    """Add what is kept by its exact release; torch's variant counts as well and is seen to later.

    What is kept has to work afterwards, whether it was asked for or not.
    """
    found = {want.name: want for want in wants}
    for name in set(keep) - {"torch"}:
        own = machine.installed.value(PATHS[name])
        if own:
            found[name] = Want(name, f"=={versions.public(own)}")
    return tuple(found[name] for name in COMPONENTS if name in found)


def _torch_choices(scope: _Scope, *, is_kept: bool) -> list[TorchBuild]:
    want = scope.wanted.get("torch")
    if is_kept:
        kept = kept_build(scope.machine)
        return [kept] if isinstance(kept, TorchBuild) else []
    builds, out = torch_builds(scope.machine)
    scope.refuse(PACKAGE, out)
    return [build for build in builds if want is None or want.takes(build.version)]


def _sets(scope: _Scope, builds: list[TorchBuild]) -> Iterator[Candidate]:
    if "vllm" not in scope.wanted:
        for build in builds:
            yield from _around(scope, build, None)
        return
    releases, out = vllm_releases(scope.machine, scope.wanted["vllm"])
    scope.refuse(vllm_side.PACKAGE, out)
    for release in releases:
        fitting = [build for build in builds if _goes_with(release, build)]
        if not fitting:
            scope.refuse(vllm_side.PACKAGE, [_without_torch(release, builds, scope.refused)])
        for build in fitting:
            yield from _around(scope, build, release)


def _goes_with(release: VllmRelease, build: TorchBuild) -> bool:
    """Whether pip would leave this torch beside that vLLM, and both link the same CUDA runtime."""
    same = versions.order(build.version) == versions.order(release.torch)
    published = build.tag is not None or versions.public(build.version) == release.torch
    return same and published and versions.major(build.cuda) == versions.major(release.cuda)


def _without_torch(
    release: VllmRelease, builds: Sequence[TorchBuild], refused: Mapping[str, list[Refused]]
) -> Refused:
    """Say why none of the torch builds that a vLLM takes is left."""
    major = versions.major(release.cuda)
    if builds and PACKAGE not in refused:  # a kept torch is looked for nowhere
        text = (
            f"it pins torch {release.torch} with CUDA {major}, and torch {builds[0].full} is kept"
        )
        return Refused(vllm_side.PACKAGE, release.version, Reason(text))
    text = f"it pins torch {release.torch} with CUDA {major}, which is not to be had here"
    for item in refused.get(PACKAGE, ()):
        cuda = versions.cuda_of_tag(item.variant) or ""
        if item.version == release.torch and versions.major(cuda) == major:
            text = f"it pins torch {release.torch}: {item.reason.text}"
            return Refused(vllm_side.PACKAGE, release.version, Reason(text, item.reason.helps))
    return Refused(vllm_side.PACKAGE, release.version, Reason(text))


def _around(scope: _Scope, torch: TorchBuild, vllm: VllmRelease | None) -> Iterator[Candidate]:
    """Yield the sets around one torch and one vLLM."""
    for flash_attn, fa3, fa4 in product(
        _flash_attns(scope, torch),
        list(choose_fa3(scope.machine, torch)) if "fa3" in scope.wanted else [None],
        list(choose_fa4(scope.machine, vllm)) if "fa4" in scope.wanted else [None],
    ):
        item = Candidate(torch=torch, vllm=vllm, flash_attn=flash_attn, fa3=fa3, fa4=fa4)
        if vllm is None and "transformers" not in scope.wanted:
            yield item
            continue
        version = _transformers(scope, item)
        if version is not None:
            yield replace(item, transformers=version)


def _flash_attns(scope: _Scope, torch: TorchBuild) -> Sequence[FlashAttn | None]:
    if "flash-attn" not in scope.wanted:
        return [None]
    found, out = choose_flash_attn(scope.machine, torch, scope.wanted["flash-attn"])
    scope.refuse(f"flash-attn for torch {torch.full}", out)
    return found


def _transformers(scope: _Scope, item: Candidate) -> str | None:
    vllm, torch = item.vllm, item.torch
    version, out = choose_transformers(
        scope.machine,
        torch,
        vllm,
        item.flash_attn.version if item.flash_attn else None,
        scope.wanted.get("transformers"),
    )
    key = f"transformers for torch {torch.full}" + (f" and vLLM {vllm.version}" if vllm else "")
    scope.refuse(key, out)
    return version


def _preference(item: Candidate, machine: Machine, wanted: Mapping[str, Want]) -> tuple[Any, ...]:
    """Return what candidates are ordered by, the best lowest.

    No build before any; then the newest of what is wanted, in the order of `COMPONENTS`; then the
    least change; then what suits a toolkit that is there; then the newest torch, in the variant
    that the package index serves, else the newest that this driver supports without limits.
    """
    return (
        len(item.builds),
        [_age(item.version_of(name)) for name in wanted if name != "torch"],
        _changes(item, machine),
        not all(build.has_toolkit for build in item.builds),
        _age(item.torch.version),
        not item.torch.is_default,
        _is_beyond(item.torch.cuda, machine),
        _age(item.torch.cuda),
    )


def _age(version: str | None) -> tuple[int, ...]:
    """Return a key that is lower the newer a version is."""
    numbers, post = versions.order(version or "") or ((), 0)
    padded = (*numbers, 0, 0, 0)[:4]
    return tuple(-number for number in (*padded, post))


def _changes(item: Candidate, machine: Machine) -> int:
    """Count the installed packages that would be replaced."""
    own = machine.installed
    torch = own.value("torch.version")
    same = (versions.public(torch or ""), versions.minor(own.value("torch.cuda", ""))) == (
        versions.public(item.torch.version),
        item.torch.cuda,
    )
    changed = int(bool(torch) and not same)
    transformers = own.value("transformers.version")
    return changed + int(bool(transformers and item.transformers not in {None, transformers}))


def _is_beyond(cuda: str, machine: Machine) -> bool:
    """Whether the driver runs this CUDA by minor-version compatibility only."""
    pair = versions.release(cuda), versions.release(machine.facts.value("driver.cuda", ""))
    return pair[0] is not None and pair[1] is not None and pair[0] > pair[1]
