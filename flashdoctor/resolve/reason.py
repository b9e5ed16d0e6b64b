"""Why releases are left out, and how many such reasons become few lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from flashdoctor.model import versions
from flashdoctor.model.plan import Rejection


class Reason(NamedTuple):
    """Why a release does not fit; `helps` says what would let it in."""

    text: str
    helps: str = ""


class Refused(NamedTuple):
    """A release of a package that was left out. `variant` is torch's CUDA tag."""

    package: str
    version: str
    reason: Reason
    variant: str = ""


def group(items: Iterable[Refused]) -> tuple[Rejection, ...]:
    """Bring releases of a package with the same reason together, the newest first."""
    found: dict[tuple[str, Reason], list[Refused]] = {}
    for item in items:
        found.setdefault((item.package, item.reason), []).append(item)
    return tuple(
        Rejection(candidate=_label(package, same), reason=reason.text, helps=reason.helps)
        for (package, reason), same in found.items()
    )


def _label(package: str, items: list[Refused]) -> str:
    ordered = sorted({item.version for item in items}, key=lambda text: versions.order(text) or ())
    first, last = ordered[0], ordered[-1]
    span = first if first == last else f"{first} to {last}"
    tags = sorted({item.variant for item in items if item.variant})
    return f"{package} {span}" + (f" ({', '.join(tags)})" if tags else "")
