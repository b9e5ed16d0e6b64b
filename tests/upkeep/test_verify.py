from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.tables import Tables
from flashdoctor.errors import TargetError
from flashdoctor.model.upkeep import Difference, Published
from flashdoctor.upkeep import run
from flashdoctor.upkeep.fields import agree
from flashdoctor.upkeep.index import Index, batches
from flashdoctor.upkeep.verify import Subject, Wanted, sample, subjects, wanted_wheel

Change = Callable[[dict[str, str]], Tables]


def quiet(_done: int, _total: int, _what: str) -> None:
    """Show nothing."""


def differing(rows: list[Subject], index: Index) -> list[Difference]:
    return list(run.verify(rows, len(rows), index, quiet).differences)


def test_the_tables_agree_with_what_was_recorded(
    recorded_rows: list[Subject], index: Index
) -> None:
    found = run.verify(recorded_rows, 207, index, quiet)
    assert found.differences == ()
    assert found.unread == ()
    assert found.exit_code == 0
    assert {row.key.table for row in recorded_rows} == {
        "torch", "vllm", "transformers", "flash_attn",
    }  # fmt: skip
    assert found.values > 2 * len(recorded_rows)
    assert index.calls == 9  # four listings, and thirteen wheels in five questions


MISTAKES: list[tuple[str, str, str, str, Any]] = [
    ("torch", "2.8.0", "requires_python", ">=3.8.0", ">=3.9.0"),
    ("torch", "2.8.0", "triton", "==3.3.0", "==3.4.0"),
    ("torch", "2.8.0", "cudnn", "9.1.0.70", "9.10.2.21"),
    ("torch", "2.8.0", "nccl", "2.1", "2.27.3"),
    ("torch", "2.6.0", "cuda_runtime_pin", "12.6.77", "12.4.127"),
    ("torch", "2.14.1", "cuda_runtime_pin", "13.0.2", "13.0.3"),
    ("torch", "2.8.0", "linux_x86_64_tag", "manylinux1_x86_64", "manylinux_2_28_x86_64"),
    ("vllm", "0.33.0", "torch", "==2.15.0", "==2.14.0"),
    ("vllm", "0.33.0", "cutlass_dsl", "==4.8.0", "[cu13]==4.8.0"),
    ("vllm", "0.10.2", "xformers", "==0.0.31", "==0.0.32.post1"),
    ("transformers", "5.24.0", "torch", ">=2.4", ">=2.6"),
    ("transformers", "5.23.0", "kernels_pin", ">=0.1", "<0.19,>=0.18.2"),
    ("transformers", "4.57.6", "kernels_pin", ">=0.1", "<=0.9,>=0.6.1"),
    ("flash_attn", "2.8.3", "requires_python", ">=3.8", ">=3.9"),
    ("flash_attn", "2.8.3", "on_index", "false", True),
]


def changed(text: str, version: str, field: str, value: str) -> str:
    """Return a table's TOML with one field of one release changed."""
    start = text.index(f'version = "{version}"\n')
    place = text.index(f"\n{field} = ", start) + 1
    end = text.index("\n", place)
    written = value if value in ("true", "false") else f'"{value}"'
    return f"{text[:place]}{field} = {written}{text[end:]}"


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda item: "-".join(item[:3]))
def test_a_wrong_value_is_a_difference(
    texts: dict[str, str], older: Change, index: Index, mistake: tuple[str, str, str, str, Any]
) -> None:
    table, version, field, wrong, right = mistake
    tables = older({table: changed(texts[table], version, field, wrong)})
    rows = [row for row in subjects(tables) if row.key == (table, "release", version)]
    ours = {"true": True, "false": False}.get(wrong, wrong)
    found = differing(rows, index)
    assert [(one.field, one.ours, one.theirs) for one in found] == [(field, ours, right)]


def test_a_pin_that_metadata_lacks_and_a_release_that_is_not_there(
    texts: dict[str, str], older: Change, index: Index
) -> None:
    text = texts["torch"].replace('cudnn = "8.5.0.96"', 'triton = "==2.0.0"\ncudnn = "8.5.0.96"', 2)
    rows = [row for row in subjects(older({"torch": text})) if row.key.version == "1.13.1"]
    [found] = differing(rows, index)
    assert (found.field, found.ours, found.theirs) == ("triton", "==2.0.0", None)
    gone = [row for row in subjects(older({})) if row.key.version == "2.13.0"]
    [found] = differing(gone, index)
    assert (found.field, found.ours, found.theirs) == ("version", "2.13.0", None)


def test_a_torch_range_is_held_against_both_of_its_ends(
    texts: dict[str, str], older: Change, index: Index
) -> None:
    last = texts["vllm"].replace('first = "0.33.0"\nlast = "0.33.0"\ntorch = "2.14.0"',
                                 'first = "0.32.0"\nlast = "0.33.0"\ntorch = "2.14.0"')  # fmt: skip
    rows = [row for row in subjects(older({"vllm": last})) if row.versions == ("0.32.0", "0.33.0")]
    [found] = differing(rows, index)
    assert (found.theirs, found.read_in.split("-")[1]) == ("2.13.0", "0.32.0")


def test_what_cannot_be_read_is_said_and_the_rest_compared(tables: Tables, index: Index) -> None:
    rows = [row for row in subjects(tables) if row.key.version in ("2.8.0", "0.10.2", "4.57.6")]
    assert len(rows) > 3
    lost = [row for row in subjects(tables) if row.key[:3] == ("vllm", "release", "0.23.0")]
    found = run.verify([*rows, *lost], 207, index, quiet)
    assert [one.field for one in found.differences] == ["version"]  # not in the short listing
    assert found.exit_code == 1

    class Partial(type(index)):  # type: ignore[misc]  # the recorded index, with one wheel lost
        def metadata(self, wanted: list[Wanted]) -> Any:
            if any(one.version == "0.10.2" for one in wanted):
                raise TargetError("constraint vllm<0.10")
            return super().metadata(wanted)

    found = run.verify(rows, 207, Partial(), quiet)
    assert {str(one.row) for one in found.unread} == {
        "vllm release 0.10.2", "vllm torch_range 0.10.2",
    } or [str(one.row) for one in found.unread] == ["vllm release 0.10.2"]  # fmt: skip
    assert found.differences == ()
    assert found.values > 10


def test_a_sample_is_drawn_by_its_seed(tables: Tables) -> None:
    rows = subjects(tables)
    assert sample(rows, None, 0) == sample(rows, len(rows), 3) == rows
    first, second = sample(rows, 20, 1), sample(rows, 20, 2)
    assert first == sample(rows, 20, 1) != second
    assert [row for row in rows if row in first] == first


def published(tags: str) -> Published:
    python, abi, platform = tags.split("-")
    return Published(f"x-1-{tags}.whl", "1", python, abi, tuple(platform.split(".")))


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [
        (["cp310-cp310-win_amd64"], None),
        (["py3-none-any"], ("3.11", "any")),
        (["cp38-abi3-manylinux_2_31_x86_64"], ("3.11", "manylinux_2_31_x86_64")),
        (["cp312-abi3-linux_x86_64"], ("3.12", "linux_x86_64")),
        (["cp39-cp39-manylinux1_x86_64", "cp311-cp311-manylinux1_x86_64"],
         ("3.11", "manylinux1_x86_64")),
        (["cp314-cp314t-linux_x86_64", "cp313-cp313-linux_x86_64"], ("3.14", "linux_x86_64")),
        (["cp39-cp39-manylinux1_x86_64", "cp310-cp310-manylinux1_x86_64"],
         ("3.10", "manylinux1_x86_64")),
    ],
)  # fmt: skip
def test_the_wheel_that_is_asked_about(tags: list[str], wanted: tuple[str, str] | None) -> None:
    found = wanted_wheel("x", "1", [published(item) for item in tags])
    assert (found and (found.python, found.platform)) == wanted


def test_questions_hold_each_package_once_and_one_python() -> None:
    wheels = [Wanted(name, str(number), "3.11", "any") for number in range(3) for name in "ab"]
    asked = batches([*wheels, Wanted("a", "9", "3.12", "any")])
    assert [len(batch) for batch in asked] == [2, 2, 2, 1]
    for batch in asked:
        assert len({item.name for item in batch}) == len(batch)
        assert len({item.python for item in batch}) == 1


CLAUSES = st.lists(st.sampled_from([">=3.8", "<3.13", "!=3.9.7", "==2.*"]), unique=True)


@given(CLAUSES, st.randoms())
def test_the_order_of_clauses_means_nothing(clauses: list[str], random: Any) -> None:
    shuffled = list(clauses)
    random.shuffle(shuffled)
    assert agree(",".join(clauses), ", ".join(shuffled))
    assert agree(clauses, shuffled)
    assert not agree(",".join([*clauses, ">1"]), ",".join(shuffled))
