"""Which policy a run was judged by, in a line."""

from __future__ import annotations

from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.clean import clean

_LIMIT = 2000


def policy_text(snapshot: Snapshot) -> str:
    """Return the policy's file, its profile, and what it ignores until when; empty without one."""
    file = snapshot.value("policy.file")
    if file is None:
        return ""
    profile = snapshot.value("policy.profile")
    expected = len(_texts(snapshot, "policy.expect"))
    parts = [
        f"profile {profile}" if profile else "",
        f"{expected} expectation{'s' if expected != 1 else ''}" if expected else "",
        *(f"ignores {text}" for text in _texts(snapshot, "policy.ignored")),
        *(f"no longer ignores {text}" for text in _texts(snapshot, "policy.expired")),
    ]
    said = "; ".join(part for part in parts if part)
    return clean(f"policy {file}" + (f": {said}" if said else ""), _LIMIT)


def _texts(snapshot: Snapshot, path: str) -> list[str]:
    value = snapshot.value(path)
    return value if isinstance(value, list) else []
