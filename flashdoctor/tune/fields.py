"""Typed reading of a config.json: what is there must be of the right kind and of a sane size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from flashdoctor.errors import InputError

MOST = 1 << 40
"""No size in a config is larger; what is, is a mistake or an attack."""


class Fields:
    """A JSON object whose values are asked for by one of several names.

    Families name the same thing differently (`n_layer`, `num_layers`); the first name that is there
    and not null counts. A value of a wrong kind raises `InputError`.
    """

    def __init__(self, body: Mapping[str, Any], where: str = "config.json") -> None:
        self.body = body
        self.where = where

    def find(self, *names: str) -> tuple[str, Any]:
        """Return the first name that holds something, and what; the first name and None else."""
        found = ((name, self.body[name]) for name in names if self.body.get(name) is not None)
        return next(found, (names[0], None))

    def get(self, *names: str) -> Any:
        """Return what stands there, of whatever kind."""
        return self.find(*names)[1]

    def whole(self, *names: str, least: int = 0, most: int = MOST) -> int | None:
        """Return a whole number; the largest one of a list, where layers differ."""
        name, value = self.find(*names)
        if value is None:
            return None
        if isinstance(value, list) and value:
            return max(self._whole(name, item, least, most) for item in value)
        return self._whole(name, value, least, most)

    def _whole(self, name: str, value: Any, least: int, most: int) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self._wrong(name, "a whole number", value)
        if not least <= value <= most:
            self._wrong(name, f"a number from {least} to {most}", value)
        return value

    def needed(self, *names: str, most: int = MOST) -> int:
        """Return a whole number of at least 1, without which the model cannot be understood."""
        value = self.whole(*names, least=1, most=most)
        if value is None:
            raise InputError(
                f"{self.where} lacks {names[0]}",
                hint="give the folder of a language model with its own config.json",
            )
        return value

    def number(self, name: str) -> float | None:
        """Return a number that is finite."""
        value = self.body.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._wrong(name, "a number", value)
        if not abs(value) <= MOST:
            self._wrong(name, f"a number up to {MOST}", value)
        return float(value)

    def flag(self, *names: str, default: bool = False) -> bool:
        """Return a true or false."""
        name, value = self.find(*names)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._wrong(name, "true or false", value)
        return value

    def text(self, *names: str) -> str | None:
        """Return a text."""
        name, value = self.find(*names)
        if value is not None and not isinstance(value, str):
            self._wrong(name, "a text", value)
        return value

    def part(self, *names: str) -> Fields | None:
        """Return an object inside of this one."""
        name, value = self.find(*names)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._wrong(name, "an object", value)
        return Fields(value, f"{self.where}: {name}")

    def listed(self, *names: str) -> Sequence[Any] | None:
        """Return a list."""
        name, value = self.find(*names)
        if value is not None and not isinstance(value, list):
            self._wrong(name, "a list", value)
        return value

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the texts of a list; empty where there is none."""
        return tuple(item for item in self.listed(*names) or () if isinstance(item, str))

    def _wrong(self, name: str, expected: str, value: Any) -> NoReturn:
        raise InputError(f"{self.where}: {name}: expected {expected}, got {str(value)[:60]!r}")
