from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.torch_newer_than_matrix import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


@pytest.mark.parametrize("version", ["2.99.0", "1.12.1", "3.0.0+cu140"])
def test_releases_on_either_side_of_the_tables_are_told(look: Look, version: str) -> None:
    assert version in judge(look({"torch.version": version})).detail


@pytest.mark.parametrize("version", ["1.13.1", "2.15.0", "2.9.7", "2.99.0.dev20270101+cu140"])
def test_known_minors_and_other_peoples_builds_are_not(look: Look, version: str) -> None:
    assert judge(look({"torch.version": version})).outcome == "pass"
