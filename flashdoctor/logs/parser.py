"""What a parser of pasted tool output is, and the list of all of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from typing import Protocol

from flashdoctor.logs import parsers
from flashdoctor.model.log import Found, Line


class Feed(Protocol):
    """The state of one parser within one paste. Bounded, whatever it is fed.

    While `open`, it is fed every line; else only those that hold one of its parser's keywords.
    """

    open: bool

    def feed(self, line: Line) -> Iterable[Found]:
        """Take one line and give the facts that are complete with it."""
        ...

    def end(self) -> Iterable[Found]:
        """Give what is left once the paste is over."""
        ...


class Parser(Protocol):
    """A tool whose output is recognised.

    `kind` names it to the user. `keywords` are lower case; a line with one of them is fed. A feed
    that gives at least one fact with trust 2 or more counts as recognised.
    """

    @property
    def kind(self) -> str:
        """The tool's name: `nvidia-smi`, `torch collect_env`."""
        ...

    @property
    def keywords(self) -> tuple[str, ...]:
        """What a line must hold to be fed while the feed is not open."""
        ...

    def start(self) -> Feed:
        """Make the state for one paste."""
        ...


@cache
def load_parsers() -> tuple[Parser, ...]:
    """Return the `PARSER` of every module in `logs/parsers`, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(parsers.__path__))
    modules = (
        importlib.import_module(f"{parsers.__name__}.{name}")
        for name in names
        if not name.startswith("_")
    )
    return tuple(module.PARSER for module in modules)
