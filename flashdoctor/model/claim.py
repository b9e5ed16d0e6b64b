"""A claim that posts and answers repeat, and what became of it when it was checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

VERDICTS = ("true", "false", "partly", "outdated", "misleading")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One row of matrices/folklore.toml.

    `patterns` find it in any text, `launch` in a launch command; `hits` and `misses` are their
    tests. `since` is the release of `package` from which `truth` holds. `said`: where it was met;
    empty where that was not kept. `unverified`: part of it was not read again, as `note` says.
    `capabilities`: the GPUs that it is about; a text of any other machine does not carry it.
    """

    id: str
    claim: str
    verdict: str
    truth: str
    source: str
    checked: str
    package: str = ""
    since: str = ""
    said: str = ""
    note: str = ""
    unverified: bool = False
    keywords: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    launch: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    def is_in(self, text: str) -> bool:
        """Whether one of `patterns` is found in a text."""
        return _any(self.patterns, text)

    def is_about(self, capability: str | None) -> bool:
        """Whether it can be meant beside a GPU of this compute capability."""
        return not self.capabilities or capability in self.capabilities

    def is_in_launch(self, command: str) -> bool:
        """Whether one of `launch` is found in a launch command."""
        return _any(self.launch, command)

    def pointer(self) -> dict[str, str]:
        """Return what a report says of a claim that its input carries."""
        return {
            "id": self.id,
            "claim": self.claim,
            "verdict": self.verdict,
            "command": f"flashdoctor folklore {self.id}",
        }

    def to_json(self) -> dict[str, Any]:
        """Return what a reader of the claim wants: no patterns and no tests."""
        return {
            "id": self.id,
            "claim": self.claim,
            "verdict": self.verdict,
            "truth": self.truth,
            "package": self.package or None,
            "since": self.since or None,
            "said": self.said or None,
            "source": self.source,
            "checked": self.checked,
            "note": self.note or None,
            "unverified": self.unverified,
        }


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
