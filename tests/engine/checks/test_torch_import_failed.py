from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.torch_import_failed import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


def test_the_error_is_the_detail(look: Look) -> None:
    words = "ImportError: libcudnn.so.9: cannot open shared object file"
    judgement = judge(look({"live.status": "error", "live.error": words}))
    assert judgement.detail == words


@pytest.mark.parametrize("status", ["ok", "not-run", "timeout"])
def test_other_ends_are_no_failed_import(look: Look, status: str) -> None:
    assert judge(look({"live.status": status})).outcome == "pass"


def test_a_start_of_cuda_that_crashed_came_after_the_import(look: Look) -> None:
    facts = {"live.status": "crashed", "live.torch_version": "2.9.1"}
    assert judge(look(facts)).outcome == "pass"
