from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.coverage import (
    cover,
    cover_with_torch,
    read_capability,
    torch_targets,
)
from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model.facts import known
from flashdoctor.model.snapshot import of
from flashdoctor.model.versions import Capability


@pytest.mark.parametrize(
    ("targets", "on", "how"),
    [
        (["sm_80", "sm_86"], (8, 9), "sass"),
        (["sm_86"], (8, 0), None),
        (["sm_80", "compute_80"], (9, 0), "ptx"),
        (["sm_90a"], (9, 0), "sass"),
        (["sm_90a"], (10, 0), None),
        (["sm_120"], (12, 1), "sass"),
        (["sm_100"], (12, 0), None),
        (["compute_90"], (8, 9), None),
        ([], (9, 0), None),
    ],
)
def test_machine_code_before_ptx(targets: list[str], on: tuple[int, int], how: str | None) -> None:
    assert cover(targets, Capability(*on)) == how


@given(st.lists(st.text(max_size=12), max_size=5), st.integers(3, 20), st.integers(0, 9))
def test_no_text_crashes_it(targets: list[str], major: int, minor: int) -> None:
    assert cover(targets, Capability(major, minor)) in {"sass", "ptx", None}


def test_a_device_may_lack_its_capability() -> None:
    assert read_capability({"compute_capability": "9.0"}) == Capability(9, 0)
    assert read_capability({"index": 0}) is None


def view(**facts: object) -> View:
    paths = {name.replace("__", "."): value for name, value in facts.items()}
    return View(of(known(path, paths[path], "a test") for path in paths), load_tables())


def test_an_empty_list_of_a_live_import_says_nothing() -> None:
    seen = view(live__arch_list=[], torch__arch_list=["sm_90"])
    assert torch_targets(seen) == (["sm_90"], "torch.arch_list")
    assert torch_targets(view(live__arch_list=[])) is None


def test_an_unlisted_variant_is_what_its_neighbours_agree_on() -> None:
    seen = view(torch__version="2.7.1", torch__cuda="12.7")
    assert cover_with_torch(seen, Capability(9, 0)) == ("sass", "torch.cuda")
    with pytest.raises(MissingFactError):
        cover_with_torch(seen, Capability(7, 0))  # in cu126, not in cu128


def test_a_nightly_is_what_the_releases_around_it_agree_on() -> None:
    seen = view(torch__version="2.8.0.dev20250601+cu128", torch__cuda="12.8")
    assert cover_with_torch(seen, Capability(8, 9)) == ("sass", "torch.cuda")
    assert cover_with_torch(seen, Capability(6, 1)) == (None, "torch.cuda")
    with pytest.raises(MissingFactError):
        cover_with_torch(seen, Capability(7, 0))  # in 2.8, not in 2.7


@pytest.mark.parametrize(
    ("version", "cuda"),
    [
        ("2.10.0a0+git", "12.9"),
        ("2.7.0.dev20250226+cu128", "12.8"),  # 2.6 has no such variant
        ("2.99.0.dev20300101+cu130", "13.0"),
        ("2.8.0", "14.0"),
    ],
)
def test_a_build_at_an_end_lies_between_nothing(version: str, cuda: str) -> None:
    with pytest.raises(MissingFactError):
        cover_with_torch(view(torch__version=version, torch__cuda=cuda), Capability(9, 0))


def test_neighbours_are_those_of_the_same_machine() -> None:
    facts = {"torch__version": "2.10.0.dev20251101+cu126", "torch__cuda": "12.6"}
    arm = view(**facts, os__platform="linux_aarch64")
    assert cover_with_torch(arm, Capability(7, 5)) == (None, "torch.cuda")
    assert cover_with_torch(view(**facts), Capability(7, 5)) == ("sass", "torch.cuda")
