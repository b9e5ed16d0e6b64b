from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.torch_unknown_cuda_variant import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


def test_the_published_variants_are_listed_and_one_is_offered(look: Look) -> None:
    judgement = judge(look({"torch.version": "2.5.1+cu122", "gpu.name": "A100"}))
    assert "cu118, cu121, cu124" in judgement.detail
    assert judgement.values == {"advice.torch": "2.5.1", "advice.index": "cu124"}


@pytest.mark.parametrize("version", ["2.9.1", "2.9.1+cpu", "2.9.0a0+cu122", "2.99.0+cu122"])
def test_only_a_tag_of_a_known_release_can_be_wrong(look: Look, version: str) -> None:
    assert judge(look({"torch.version": version})).outcome == "pass"


def test_a_build_that_exists_and_runs_is_somebodys_own(look: Look) -> None:
    facts = {"torch.version": "2.5.1+cu122", "live.torch_version": "2.5.1+cu122"}
    assert judge(look(facts)).outcome == "pass"
