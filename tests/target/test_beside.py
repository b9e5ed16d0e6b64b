from __future__ import annotations

import threading

import pytest

from flashdoctor.target.beside import Beside


def test_what_runs_beside_answers_or_raises() -> None:
    assert Beside(lambda: 3).result() == 3
    with pytest.raises(ZeroDivisionError):
        Beside(lambda: 1 // 0).result()


def test_it_runs_while_others_do() -> None:
    go = threading.Event()
    beside = Beside(lambda: go.wait(10))
    go.set()
    assert beside.result() is True
