"""Make the cases of one API: what they have in common stands once. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flashdoctor.model.smoke import Case
from flashdoctor.smoke.stack import Stack

JIT_S = 180.0
"""Limit of a case that may compile its kernel first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Names begin with `prefix`; `shared` holds fields that all cases have unless they say so."""

    on: Stack
    api: str
    prefix: str
    shared: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, name: str, backend: str, label: str, **own: Any) -> Case:
        """Return a case: small, causal and in half precision unless said otherwise."""
        settings = {"shape": self.on.small(), "dtype": self.on.half, **self.shared, **own}
        full_name = f"{self.prefix}-{name}" if name else self.prefix
        return Case(name=full_name, api=self.api, backend=backend, label=label, **settings)
