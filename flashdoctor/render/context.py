"""What a format may tell beside the report itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flashdoctor.model.rule import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the command line knows beside the report.

    `source`: the file that was judged, as it may be shown; empty for a machine. `lines`: the line
    of each fact in it. `pins`: the file and line that ask for a package, by the head of its facts.
    `fail_on`: which findings fail a run. `rules`: all that was judged by, for their names.
    """

    command: str = "check"
    source: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    pins: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    fail_on: str = "error"
    rules: Mapping[str, Rule] = field(default_factory=dict)


PLAIN = Context()
