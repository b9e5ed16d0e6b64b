from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.errors import InputError
from flashdoctor.upkeep.answers import (
    by_version,
    last_error,
    parse_listing,
    parse_pip_version,
    parse_report,
)

LISTING = """\
Found index url https://index.example/simple/torch/
  Skipping link: none of the wheel's tags (cp314-cp314t-win_amd64) are compatible (run pip debug \
--verbose to show compatible tags): https://index.example/f/torch-2.9.1-cp314-cp314t-win_amd64.whl \
(from https://index.example/simple/torch/) (requires-python:>=3.10)
  Found link https://index.example/f/torch-2.9.1-cp311-cp311-manylinux_2_28_x86_64.whl#sha256=ab \
(from https://index.example/simple/torch/) (requires-python:>=3.10), version: 2.9.1
  Skipping link: yanked for reason: it: is broken: https://index.example/f/torch-2.9.2-cp311-cp311\
-manylinux_2_28_x86_64.whl (from https://index.example/simple/torch/) (requires-python:>=3.10)
  Link requires a different Python (3.11.7 not in: '<3.11'): https://index.example/f/torch-1.0.tar.gz\
 (from https://index.example/simple/torch/) (requires-python:<3.11)
Found link file:///wheels/torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl, version: 2.13.0+cpu
Skipping link: not a file: https://index.example/simple/torch/
"""


def test_a_listing_holds_what_the_index_serves_and_nothing_else() -> None:
    files = parse_listing(LISTING)
    assert [(one.file, one.version, one.python_tag, one.requires_python) for one in files] == [
        ("torch-2.9.1-cp314-cp314t-win_amd64.whl", "2.9.1", "cp314t", ">=3.10"),
        ("torch-2.9.1-cp311-cp311-manylinux_2_28_x86_64.whl", "2.9.1", "cp311", ">=3.10"),
        ("torch-1.0.tar.gz", "1.0", "", "<3.11"),
    ]
    assert set(by_version(files)) == {"2.9.1", "1.0"}


@given(st.text() | st.lists(st.sampled_from(LISTING.split(" "))).map(" ".join))
def test_any_text_can_be_read_as_a_listing(text: str) -> None:
    assert all(one.file and one.version for one in parse_listing(text))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"install": [{}]}', '{"install": 3}'])
def test_what_is_no_report_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match="pip's report cannot be read"):
        parse_report(text)


def test_a_report_without_requirements_is_one() -> None:
    item = {
        "download_info": {"url": "https://index.example/f/x-1.0-py3-none-any.whl"},
        "metadata": {"name": "x", "version": "1.0"},
    }
    [found] = parse_report(json.dumps({"install": [item]}))
    assert (found.file, found.requires, found.requires_python) == (
        "x-1.0-py3-none-any.whl", (), None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("pip 25.3 from /x (python 3.12)\n", (25, 3)),
        ("pip 26.0.1 from /x", (26, 0, 1)),
        ("No module named pip", None),
    ],
)
def test_pip_says_its_version(text: str, numbers: tuple[int, ...] | None) -> None:
    assert parse_pip_version(text) == numbers


def test_an_error_is_told_with_its_constraint_and_without_addresses() -> None:
    text = (
        "WARNING: slow\nERROR: Cannot install torch==2.15.0 because of conflicts.\n"
        "ERROR: ResolutionImpossible: see https://pip.example/x\n"
        "    The user requested (constraint) torch<=2.14.1\n"
    )
    said = "Cannot install torch==2.15.0 because of conflicts."
    assert last_error(text) == f"{said}; The user requested (constraint) torch<=2.14.1"
    assert last_error("ERROR: no route to https://index.example/simple") == "no route to the index"
    assert last_error("") == "it said nothing"
