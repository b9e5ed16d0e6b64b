"""Regular expressions that are compiled when they are first used.

A run of `check` uses few of the hundred that its modules hold, and compiling them all takes 7 ms.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Pattern:
    """Stands in for a compiled pattern until it is asked for anything."""

    def __init__(self, text: Any, flags: int) -> None:
        self._arguments = text, flags

    def __getattr__(self, name: str) -> Any:
        # Only what is not there yet comes here: the compiled pattern's methods are kept as ours.
        found = getattr(re.compile(*self._arguments), name)
        setattr(self, name, found)
        return found


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` returns, not yet compiled; a mistake in it shows at first use."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
