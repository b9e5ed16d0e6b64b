from __future__ import annotations

import re

from flashdoctor.model.catalog import FACTS, SHORT_NAMES, nearest


def test_every_path_is_group_and_snake_names() -> None:
    assert all(re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)+", path) for path in FACTS)


def test_short_names_point_at_facts() -> None:
    assert set(SHORT_NAMES.values()) <= set(FACTS)


def test_every_fact_says_what_it_means() -> None:
    assert all(spec.meaning for spec in FACTS.values())


def test_records_list_what_they_may_hold() -> None:
    assert {
        path for path, spec in FACTS.items() if (spec.kind == "records") != bool(spec.keys)
    } == set()


def test_a_mistyped_path_finds_its_neighbour() -> None:
    assert nearest("torch.versoin") == "torch.version"
    assert nearest("drivr") == "driver"
