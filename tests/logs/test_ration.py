from __future__ import annotations

from flashdoctor.logs.ration import Ration


def test_what_is_shared_is_spent_first_and_then_the_own_part() -> None:
    ration = Ration(shared=10, each=3)
    assert ration.take("a", 10)
    assert ration.is_short
    assert not ration.is_spent("a")
    assert [ration.take("a") for _ in range(4)] == [True, True, True, False]
    assert ration.is_spent("a")
    assert not ration.is_spent("b")
    assert ration.take("b", 3)


def test_one_dear_piece_of_work_may_go_beyond_what_is_shared_but_not_beyond_the_own() -> None:
    ration = Ration(shared=1, each=3)
    assert ration.take("a", 100)
    assert not ration.take("b", 100)


def test_nobody_gets_more_of_what_is_shared_than_the_most() -> None:
    ration = Ration(shared=10, each=1, most=4)
    assert [ration.take("a") for _ in range(6)] == [True] * 5 + [False]
    assert ration.is_spent("a")
    assert not ration.is_short
    assert [ration.take("b", 4), ration.take("b", 2)] == [True, False]
