from __future__ import annotations

from collections.abc import Callable

from flashdoctor.engine.checks.driver_branch_out_of_support import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


def test_the_last_month_is_told(look: Look) -> None:
    judgement = judge(look({"driver.version": "470.82.01"}))
    assert "2024-07" in judgement.detail


def test_branches_without_an_end_and_windows_are_left_alone(look: Look) -> None:
    assert judge(look({"driver.version": "575.57.08"})).outcome == "pass"
    facts = {"driver.version": "470.05", "os.system": "Windows"}
    assert judge(look(facts)).outcome == "pass"


def test_no_driver_is_no_old_driver(look: Look) -> None:
    assert judge(look({"driver.version": None, "driver.branch": None})).outcome == "pass"
