"""What was left out for a plan, and what leaves no plan at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flashdoctor.model import versions
from flashdoctor.model.plan import Rejection
from flashdoctor.resolve import torch_builds, vllm_releases
from flashdoctor.resolve.flash_attn import gpu_reason
from flashdoctor.resolve.flash_attn_later import fa3_reason, fa4_reason
from flashdoctor.resolve.machine import Machine, is_outside
from flashdoctor.resolve.reason import Reason, Refused, group
from flashdoctor.resolve.search import Candidate, Found
from flashdoctor.resolve.wants import PATHS, Want

_TABLES = {
    "vllm": "vllm",
    "transformers": "transformers",
    "torch": "torch",
    "flash-attn": "flash_attn",
}
_LAST_PATCHES = ("vllm", "transformers")
"""Their tables hold the last patch release of each X.Y, which tells of those before it."""


def passed_over(chosen: Candidate, found: Found, wants: Sequence[Want]) -> tuple[Rejection, ...]:
    """Return the releases newer than the chosen ones, and why they were not taken."""
    if chosen.vllm:
        first = _newer(found.refused.get(vllm_releases.PACKAGE, ()), chosen.vllm.version)
        items = [*_outranked_vllm(chosen, found), *first]
    else:
        refused = found.refused.get(torch_builds.PACKAGE, ())
        items = [*_outranked_torch(chosen, found), *_newer(refused, chosen.torch.version)]
    if chosen.flash_attn:
        key = f"flash-attn for torch {chosen.torch.full}"
        items += _newer(found.refused.get(key, ()), chosen.flash_attn.version)
    if chosen.transformers and any(want.name == "transformers" for want in wants):
        vllm = f" and vLLM {chosen.vllm.version}" if chosen.vllm else ""
        key = f"transformers for torch {chosen.torch.full}{vllm}"
        items += _newer(found.refused.get(key, ()), chosen.transformers)
    return group(items)


def _newer(items: Iterable[Refused], version: str) -> list[Refused]:
    return [item for item in items if _is_newer(item.version, version)]


def _is_newer(version: str, than: str) -> bool:
    pair = versions.order(version), versions.order(than)
    return pair[0] is not None and pair[1] is not None and pair[0] > pair[1]


def _outranked_vllm(chosen: Candidate, found: Found) -> Iterator[Refused]:
    """Yield newer vLLM releases that fit, but only with a build."""
    own = chosen.vllm.version if chosen.vllm else ""
    fitting = dict.fromkeys(item.vllm.version for item in found.candidates if item.vllm)
    text = "flash-attn would have to be compiled for the torch that it pins"
    for version in fitting:
        if _is_newer(version, own):
            yield Refused(vllm_releases.PACKAGE, version, Reason(text))


def _outranked_torch(chosen: Candidate, found: Found) -> Iterator[Refused]:
    """Yield newer torch builds that fit, and what speaks for the chosen one all the same."""
    for item in found.candidates:
        if not _is_newer(item.torch.version, chosen.torch.version):
            continue
        if item.builds and not chosen.builds:
            text = _why_compiled(item, found)
        elif item.flash_attn and chosen.flash_attn and item.flash_attn != chosen.flash_attn:
            text = f"leads to flash-attn {item.flash_attn.version}"
        else:
            text = "the installed release fits as well, and stays"
        yield Refused(torch_builds.PACKAGE, item.torch.version, Reason(text), item.torch.tag or "")


def _why_compiled(item: Candidate, found: Found) -> str:
    """Say why a torch has no official flash-attn wheel here, by the newest that was made for it."""
    refused = found.refused.get(f"flash-attn for torch {item.torch.full}", ())
    missing = f"no wheel for torch {item.torch.minor}"
    made = [entry for entry in refused if entry.reason.text != missing]
    if not made:
        return "no flash-attn release has a wheel for it"
    return f"flash-attn {made[0].version} would have to be compiled: {made[0].reason.text}"


def want_obstacles(
    machine: Machine, wants: Sequence[Want], keep: Sequence[str]
) -> Iterator[Rejection]:
    """Yield what rules a wanted package out on this machine in every release."""
    outside = is_outside(machine)
    if outside:
        yield Rejection(candidate="this machine", reason=outside)
        return
    if not machine.capabilities:
        yield Rejection(
            candidate="the GPU",
            reason="no compute capability is known, so nothing can be chosen for it",
            helps="--assume gpu='RTX 4090' or --assume compute_capability=8.9",
        )
        return
    for want in wants:
        reason = _want_reason(machine, want)
        if reason:
            yield _rejection(str(want), reason)
    yield from _keep_obstacles(machine, keep)


def _want_reason(machine: Machine, want: Want) -> Reason | None:
    if want.name == "flash-attn":
        return gpu_reason(machine) or _unlisted(machine, want)
    if want.name in _TABLES:
        return _unlisted(machine, want)
    if want.name == "fa3":
        return fa3_reason(machine, want)
    return fa4_reason(machine, want) if want.name == "fa4" else None


def _unlisted(machine: Machine, want: Want) -> Reason | None:
    """Return that no release in the tables is one that was asked for, None where one is."""
    rows = machine.tables.compat(_TABLES[want.name])["release"]
    listed = sorted((row["version"] for row in rows), key=lambda text: versions.order(text) or ())
    earlier = want.named(listed) if want.name in _LAST_PATCHES else ()
    if any(map(want.takes, (*listed, *earlier))):
        return None
    return Reason(f"no such release is in the tables, which hold {listed[0]} to {listed[-1]}")


def _keep_obstacles(machine: Machine, keep: Sequence[str]) -> Iterator[Rejection]:
    for name in keep:
        if name == "torch":
            kept = torch_builds.kept_build(machine)
            if isinstance(kept, Reason):
                yield _rejection("--keep torch", kept)
        elif not machine.installed[PATHS[name]].is_known:
            yield Rejection(candidate=f"--keep {name}", reason=f"no {name} is installed")


def _rejection(candidate: str, reason: Reason) -> Rejection:
    return Rejection(candidate=candidate, reason=reason.text, helps=reason.helps)


def search_obstacles(found: Found, wants: Sequence[Want]) -> tuple[Rejection, ...]:
    """Return why a search came to nothing: what stopped the wanted package that is bound most."""
    names = {want.name for want in wants}
    items: list[Refused] = []
    if "vllm" in names:
        items = list(found.refused.get(vllm_releases.PACKAGE, ()))
    if not items:
        items = [
            item
            for key, refused in found.refused.items()
            if key not in {vllm_releases.PACKAGE, torch_builds.PACKAGE}
            for item in refused
        ]
    if not items:
        items = list(found.refused.get(torch_builds.PACKAGE, ()))
    stated = " and ".join(map(str, wants))
    nothing = Rejection(candidate=stated, reason="no releases in the tables go together here")
    return group(items) or (nothing,)
