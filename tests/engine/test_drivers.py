from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.engine import drivers
from flashdoctor.engine.derive import derive
from flashdoctor.engine.view import View
from flashdoctor.model.facts import known
from flashdoctor.model.snapshot import of
from flashdoctor.model.versions import Capability

TABLES = load_tables()


@pytest.mark.parametrize(
    ("cuda", "branch"),
    [("11.8", 520), ("12.8", 570), ("12.9", 575), ("13.0", 580), ("10.0", 450), ("99.0", None)],
)
def test_the_first_branch_with_a_cuda(cuda: str, branch: int | None) -> None:
    assert drivers.first_branch_with(TABLES, cuda) == branch


def test_branches_follow_one_another() -> None:
    assert drivers.next_branch(TABLES, 580) == 590
    assert drivers.next_branch(TABLES, 10_000) is None
    branches = [row["branch"] for row in drivers.branch_rows(TABLES)]
    assert branches == sorted(set(branches))


@pytest.mark.parametrize(
    ("capability", "floor", "listed"),
    [
        ((7, 0), 384, 384),
        ((7, 5), 410, 410),
        ((8, 9), 520, 525),
        ((10, 3), 575, 580),
        ((5, 0), None, None),
    ],
)
def test_an_architecture_has_a_floor_whatever_its_products_lists_say(
    capability: tuple[int, int], floor: int | None, listed: int | None
) -> None:
    assert drivers.architecture_floor(TABLES, Capability(*capability)) == floor
    assert drivers.listed_floor(TABLES, Capability(*capability)) == listed


def test_a_floor_depends_on_the_system() -> None:
    linux, wsl = View(of([]), TABLES), View(of([known("wsl.version", 2, "a test")]), TABLES)
    assert drivers.cuda_floor(linux, "12.8") == "525.60.13"
    assert drivers.cuda_floor(wsl, "12.8") == "528.33"
    assert drivers.cuda_floor(linux, "9.2") is None


def test_versions_are_compared_number_by_number() -> None:
    assert drivers.is_below("525.60.12", "525.60.13")
    assert not drivers.is_below("525.105.17", "525.60.13")
    assert not drivers.is_below("580", "580.0")
    assert not drivers.is_below("no number", "525.60.13")


def test_a_bare_branch_means_its_latest_release() -> None:
    assert not drivers.is_below("525", "525.60.13")
    assert drivers.is_below("515", "525.60.13")
    assert drivers.is_below("527.56", "528.33")


@pytest.mark.parametrize(
    ("name", "driver", "cuda", "taken"),
    [
        ("A100", "535.161.07", "13.0", True),
        ("A100", "565.57.01", "13.0", True),
        ("A100", "565.57.01", "13.1", False),
        ("A100", "545.23.08", "13.0", False),
        ("A100", "535.161.07", "13.4", True),
        ("A100", "450.119.03", "12.1", True),
        ("A100", "450.119.03", "12.4", False),
        ("A100", "470.82.01", "12.8", True),
        ("A100", "470.82.01", "12.9", False),
        ("A100", "450.119.03", "11.8", False),
        ("RTX 4090", "535.161.07", "13.0", False),
    ],
)
def test_a_compat_libcuda_is_for_data_centre_gpus_on_the_branches_of_its_image(
    name: str, driver: str, cuda: str, *, taken: bool
) -> None:
    facts = [known("gpu.name", name, "a test"), known("driver.version", driver, "a test")]
    seen = View(derive(of(facts), TABLES), TABLES)
    assert drivers.takes_forward_compat(seen, cuda) is taken


@given(st.text(max_size=20), st.text(max_size=20))
def test_nothing_is_below_what_cannot_be_read(left: str, right: str) -> None:
    assert not (drivers.is_below(left, right) and drivers.is_below(right, left))
