from __future__ import annotations

from collections.abc import Callable

from flashdoctor.engine.checks.torch_needs_other_python import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


def test_a_torch_that_this_python_can_have_is_offered(look: Look) -> None:
    judgement = judge(look({"torch.version": "2.3.1+cu121", "python.version": "3.13.1"}))
    assert "cp313" in judgement.detail
    assert judgement.values["advice.index"].startswith("cu")
    offered = {"torch.version": judgement.values["advice.torch"], "python.version": "3.13.1"}
    assert judge(look(offered)).outcome == "pass"


def test_conda_builds_for_pythons_that_the_index_has_not(look: Look) -> None:
    facts = {"torch.version": "2.5.1", "python.version": "3.14.0"}
    assert judge(look(facts)).outcome == "fail"
    assert judge(look({**facts, "python.environment": "conda"})).outcome == "pass"


def test_free_threaded_python_needs_wheels_of_its_own(look: Look) -> None:
    facts = {"torch.version": "2.13.0", "python.version": "3.13.2"}
    assert judge(look({**facts, "python.tag": "cp313"})).outcome == "pass"
    assert judge(look({**facts, "python.tag": "cp313t"})).outcome == "fail"
