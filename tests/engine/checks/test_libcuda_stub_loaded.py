from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.libcuda_stub_loaded import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_a_stub_on_the_path_is_only_harmful_where_cuda_did_not_start(look: Look) -> None:
    facts = {"driver.libcuda_origin": "stub"}
    assert judge(look(facts)).outcome == "fail"
    works = {"live.status": "ok", "live.cuda_available": True}
    assert judge(look({**facts, **works})).outcome == "pass"


def test_cudas_words_are_enough(look: Look) -> None:
    words = "CUDA error: CUDA_ERROR_STUB_LIBRARY"
    assert judge(look({"live.error": words, "driver.libcuda_origin": "driver"})).outcome == "fail"


def test_an_unknown_origin_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"driver.libcuda_origin"):
        judge(look({}))
