from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model import versions
from flashdoctor.model.versions import Capability


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.6.0+cu124", (2, 6)),
        ("2.8.0a0+34c6371d24.nv25.08", (2, 8)),
        ("535.161.07", (535, 161, 7)),
        ("v0.10.2", (0, 10, 2)),
        ("13.0", (13,)),
        ("0", (0,)),
        ("", None),
        ("abc", None),
    ],
)
def test_release(text: str, expected: tuple[int, ...] | None) -> None:
    assert versions.release(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5.2.0.dev0", True),
        ("0.16.0rc2.dev147+gf120bd42d", True),
        ("2.10.0.dev20251024+cu130", True),
        ("2.8.0a0+34c6371d24.nv25.08", False),
        ("0.10.2rc1", False),
        ("2.9.1+cu130", False),
        ("2.9.1+dev1", False),
    ],
)
def test_a_development_release(text: str, expected: bool) -> None:
    assert versions.is_development(text) is expected


def test_versions_order_as_releases_do() -> None:
    ordered = ["2.7.4", "2.7.4.post1", "2.8.0", "2.8.0.post2", "2.8.3", "2.10.0"]
    assert sorted(ordered, key=versions.order) == ordered  # type: ignore[arg-type]


def test_a_vendor_build_counts_as_the_release_it_names() -> None:
    assert versions.order("2.8.0a0+nv25") == versions.order("2.8.0")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("cu124", "12.4"), ("cu130", "13.0"), ("cu118", "11.8"), ("cpu", None), ("cu12", None)],
)
def test_cuda_of_tag(text: str, expected: str | None) -> None:
    assert versions.cuda_of_tag(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9.0", (9, 0)),
        ("sm_86", (8, 6)),
        ("sm_120", (12, 0)),
        ("compute_90a", (9, 0)),
        ("121", (12, 1)),
        ("9", None),
        ("sm_", None),
        ("nine", None),
    ],
)
def test_capability(text: str, expected: tuple[int, int] | None) -> None:
    assert versions.capability(text) == expected


@pytest.mark.parametrize(
    ("target", "on", "runs"),
    [
        ("sm_86", (8, 9), True),
        ("sm_80", (8, 6), True),
        ("sm_86", (8, 0), False),
        ("sm_120", (12, 1), True),
        ("sm_100", (10, 3), True),
        ("sm_90", (10, 0), False),
        ("sm_90a", (9, 0), True),
        ("sm_100a", (10, 3), False),
        ("sm_100f", (10, 3), True),
        ("sm_75", (7, 0), False),
        ("rubbish", (9, 0), False),
    ],
)
def test_machine_code_runs_within_its_major(
    target: str, on: tuple[int, int], *, runs: bool
) -> None:
    assert versions.sass_runs(target, Capability(*on)) is runs


@pytest.mark.parametrize(
    ("target", "on", "runs"),
    [
        ("compute_80", (9, 0), True),
        ("compute_80", (12, 1), True),
        ("compute_90", (8, 9), False),
        ("compute_90a", (10, 0), False),
        ("compute_120", (12, 0), True),
    ],
)
def test_ptx_runs_on_later_capabilities(target: str, on: tuple[int, int], *, runs: bool) -> None:
    assert versions.ptx_runs(target, Capability(*on)) is runs


@given(st.text())
def test_nothing_raises_on_any_text(text: str) -> None:
    versions.release(text)
    versions.order(text)
    versions.minor(text)
    versions.major(text)
    versions.local_tag(text)
    versions.cuda_of_tag(text)
    versions.capability(text)
    assert isinstance(versions.public(text), str)
