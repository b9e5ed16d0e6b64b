"""What somebody wants to run: `vllm`, `flash-attn==2.8.3`, `transformers>=4.56`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from flashdoctor.errors import UsageError
from flashdoctor.model import specifiers, versions
from flashdoctor.model.regex import regex
from flashdoctor.model.rule import Component
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.model.specifiers import clauses

COMPONENTS: Mapping[str, Component] = {
    "vllm": "vllm",
    "flash-attn": "flash-attn",
    "fa3": "fa3",
    "fa4": "fa4",
    "transformers": "transformers",
    "torch": "sdpa",
}
"""What can be wanted, and what `check --require` calls it."""

PATHS: Mapping[str, str] = {
    "vllm": "vllm.version",
    "flash-attn": "flash_attn.version",
    "fa3": "flash_attn_3.version",
    "fa4": "flash_attn_4.version",
    "transformers": "transformers.version",
    "torch": "torch.version",
}
"""The fact that says which release of it is installed."""

_OTHER_NAMES = {
    "sdpa": "torch",
    "pytorch": "torch",
    "flash-attention": "flash-attn",
    "flash-attention-2": "flash-attn",
    "fa2": "flash-attn",
    "flash-attn-3": "fa3",
    "flash-attention-3": "fa3",
    "flash-attn-4": "fa4",
    "flash-attention-4": "fa4",
}
_WANT = regex(r"\s*([A-Za-z][\w-]*)\s*(.*?)\s*")


class Want(NamedTuple):
    """One wanted package; an empty specifier takes every release."""

    name: str
    specifier: str = ""

    def __str__(self) -> str:
        return self.name + self.specifier

    def takes(self, version: str) -> bool:
        """Whether a release is one that was asked for."""
        return specifiers.fits(version, self.specifier)

    def named(self, listed: Collection[str]) -> tuple[str, ...]:
        """Return what was asked for by its very version and is none of the listed releases.

        A table that holds the last patch release of each X.Y tells of those before it as well, not
        of later ones.
        """
        found = (version for operator, version in clauses(self.specifier) if operator == "==")
        return tuple(v for v in found if v not in listed and _precedes_its_row(v, listed))


def _precedes_its_row(version: str, listed: Collection[str]) -> bool:
    own = versions.order(version)
    rows = [versions.order(v) for v in listed if versions.minor(v) == versions.minor(version)]
    return own is not None and any(row is not None and own <= row for row in rows)


def parse_wants(items: Iterable[str]) -> tuple[Want, ...]:
    """Read what is wanted, each package once; every mistake is named in one `UsageError`."""
    found: dict[str, Want] = {}
    mistakes = []
    for item in items:
        want = _parse(item)
        if want is None:
            mistakes.append(f"{item!r} is not NAME or NAME==VERSION")
        elif want.name not in COMPONENTS:
            mistakes.append(f"{want.name!r} cannot be planned")
        elif want.name in found and found[want.name] != want:
            mistakes.append(f"{found[want.name]} and {want} exclude each other")
        else:
            found[want.name] = want
    if mistakes:
        raise UsageError("--want: " + "; ".join(mistakes), hint="names: " + ", ".join(COMPONENTS))
    return tuple(found[name] for name in COMPONENTS if name in found)


def parse_names(option: str, items: Iterable[str]) -> tuple[str, ...]:
    """Read names of packages, each once; every mistake is named in one `UsageError`."""
    names = [_plain(item.strip()) for item in items]
    unknown = [name for name in names if name not in COMPONENTS]
    if unknown:
        text = f"{option}: cannot be planned: {', '.join(map(repr, unknown))}"
        raise UsageError(text, hint="names: " + ", ".join(COMPONENTS))
    return tuple(dict.fromkeys(names))


def _plain(name: str) -> str:
    name = name.lower().replace("_", "-")
    return _OTHER_NAMES.get(name, name)


def _parse(item: str) -> Want | None:
    match = _WANT.fullmatch(item)
    if match is None:
        return None
    specifier = match[2].replace(" ", "")
    parts = specifier.split(",") if specifier else []
    if len(list(specifiers.clauses(specifier))) != len(parts):
        return None
    return Want(_plain(match[1]), specifier)


def default_wants(snapshot: Snapshot) -> tuple[Want, ...]:
    """Return what is installed, or flash-attn where nothing is."""
    names = [name for name in COMPONENTS if name != "torch" and snapshot[PATHS[name]].is_known]
    return tuple(Want(name) for name in names or ["flash-attn"])


def required(wants: Iterable[Want]) -> tuple[Component, ...]:
    """Return the components that the plan has to make work."""
    return tuple(COMPONENTS[want.name] for want in wants)
