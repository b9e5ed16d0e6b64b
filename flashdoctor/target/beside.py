"""Work done beside other work: a call in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

_PATIENCE_S = 0.1  # Ctrl-C may not interrupt a longer wait, and never does on Windows


@dataclass(slots=True)
class Beside(Generic[T]):
    """A call that runs in a thread of its own; `result` waits for it and raises what it raised."""

    call: Callable[[], T]
    _answer: list[T] = field(default_factory=list)
    _failure: list[BaseException] = field(default_factory=list)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer.append(self.call())
        except BaseException as error:  # noqa: BLE001 - handed on by result()
            self._failure.append(error)

    def result(self) -> T:
        """Return what the call returned."""
        while self._thread.is_alive():
            self._thread.join(_PATIENCE_S)
        if self._failure:
            raise self._failure[0]
        return self._answer[0]
