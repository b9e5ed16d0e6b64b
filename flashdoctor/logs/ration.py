"""How much work a paste may cause: counted in what is looked at, not in seconds. Pure.

No log that a program wrote comes near these bounds. A text made to cost time reaches them, and from
then on only a part of each chunk of it is looked at, its last lines among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable


class Ration:
    """Work that all takers share, `most` for one of them; beyond that `each` has a part of its own.

    The last piece of work may go beyond what is left of the share, never beyond the own part.
    """

    def __init__(self, *, shared: int, each: int, most: int | None = None) -> None:
        self._left = shared
        self._each = each
        self._most = shared if most is None else most
        self._shared: Counter[Hashable] = Counter()
        self._own: Counter[Hashable] = Counter()

    @property
    def is_short(self) -> bool:
        """Whether nothing is left of what is shared."""
        return self._left <= 0

    def is_spent(self, taker: Hashable) -> bool:
        """Whether one would get nothing."""
        return not self._shares(taker) and self._own[taker] >= self._each

    def take(self, taker: Hashable, cost: int = 1) -> bool:
        """Spend some work, of what is shared first; return whether there was any left."""
        if self._shares(taker):
            self._left -= cost
            self._shared[taker] += cost
            return True
        self._own[taker] += cost
        return self._own[taker] <= self._each

    def _shares(self, taker: Hashable) -> bool:
        return self._left > 0 and self._shared[taker] < self._most
