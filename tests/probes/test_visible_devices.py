from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.probes.visible_devices import (
    Device,
    Instance,
    Seen,
    Visible,
    mask,
    resolve_visible,
)

A = "GPU-9a2b3c4d-0000-0000-0000-000000000001"
B = "GPU-8932f937-0000-0000-0000-000000000002"
PAIR = (Device(0, "H200", A), Device(1, "H200", B))
SIX = tuple(Device(number, "H200", f"GPU-{number}0000000-0000") for number in range(6))
MIG = (
    Device(0, "A100", A, instances=(Instance("MIG-aa", 1, 0), Instance("MIG-ab", 2, 0))),
    Device(1, "A100", B),
)


def numbers(visible: Visible) -> list[int]:
    assert not visible.unresolved
    return [seen.number for seen in visible.order]


# Each of these was put to cuInit and cuDeviceGetUuid of driver 580.159.04 on two H200 or on one.
@pytest.mark.parametrize(
    ("text", "order"),
    [
        (None, [0, 1]),
        ("", []),
        ("  ", []),
        ("0", [0]),
        ("1,0", [1, 0]),
        ("0,0", []),
        ("1,1,0", []),
        ("0,1,0", []),
        ("0,-1,1", [0]),
        ("-1", []),
        ("2", []),
        ("0,2,1", [0]),
        (" 1", [1]),
        ("1 ,0", [1, 0]),
        ("0, 1", [0, 1]),
        ("0;1", [0]),
        ("0x1", [0]),
        ("01", [1]),
        ("+1", [1]),
        ("-0", [0]),
        ("1gpu,0", [1, 0]),
        ("abc", []),
        ("0,abc,1", [0]),
        ("1.0", [1]),
        ("0 1", [0]),
        ("99999999999,0", []),
        ("0,", [0]),
        (",0", []),
        ("0,,1", [0]),
        ("NoDevFiles", []),
        ("none", []),
        ("all", []),
        (A, [0]),
        (A[:8], [0]),
        (A[:12].upper(), [0]),
        (A.replace("GPU", "gpu"), []),
        ("GPU-", []),
        (f"{A},{A}", []),
        (f"{A[:8]},{A[:9]}", []),
        (f"{B},0", [1]),
        (f"0,{B}", [0]),
        (f"1,{B}", [1]),
        (f"{B},{A},1", [1, 0]),
        ("GPU-bad,0", []),
        (f"{A},GPU-bad,{B}", [0]),
        ("0,GPU-bad,1", [0]),
        (f"{A} ,{B}", [0, 1]),
        (f"{B}, {A}", [1]),
        (f"{A}x", [0]),
        (f"{A}/0", [0]),
        (A[4:], []),
        (f"GPU-{A[4:].replace('-', '')}", [0]),
        (f"{A}00", [0]),
        (f"{A[:8]}zz", []),
        (f"{A[:8]} ", []),
        (f"{A[:12]}-", [0]),
        ("GPU-zz", []),
        ("GPU", []),
        ("0,-1,0", [0]),
        ("0,9,0", [0]),
        (f"MIG-{A}/0/0", []),
        ("MIG-x", []),
    ],
)
def test_as_the_driver_does(text: str | None, order: list[int]) -> None:
    assert numbers(resolve_visible(text, PAIR)) == order


@pytest.mark.parametrize(
    ("text", "order"), [("2,1", [2, 1]), ("0,2,-1,1", [0, 2]), ("5,4,3,2,1,0", [5, 4, 3, 2, 1, 0])]
)
def test_the_programming_guides_examples(text: str, order: list[int]) -> None:
    assert numbers(resolve_visible(text, SIX)) == order


@pytest.mark.parametrize(
    ("text", "invalid"),
    [
        ("0,1", ()),
        ("-1", ()),
        ("0,-1", ()),
        ("", ()),
        ("0,7,1,9", ("7", "9")),
        ("0,0", ("0",)),
        (f"0,{B}", ("GPU-…",)),
        (f"{A},GPU-00ff", ("GPU-…",)),
        ("MIG-GPU-0a1b/1/2", ("MIG-GPU-…/1/2",)),
        ("NoDevFiles", ("NoDevFiles",)),
    ],
)
def test_entries_that_name_nothing(text: str, invalid: tuple[str, ...]) -> None:
    assert resolve_visible(text, PAIR).invalid == invalid


def test_a_single_gpu_needs_digits_too() -> None:
    assert numbers(resolve_visible("GPU-", PAIR[:1])) == []


def test_a_prefix_must_be_unique() -> None:
    twins = (Device(0, "H200", "GPU-abc1"), Device(1, "H200", "GPU-abc2"))
    assert numbers(resolve_visible("GPU-abc", twins)) == []
    assert numbers(resolve_visible("GPU-abc2", twins)) == [1]


def test_uuids_without_known_uuids_cannot_be_told() -> None:
    unknown = (Device(0), Device(1))
    assert resolve_visible("GPU-8932f937", unknown).unresolved
    assert resolve_visible("MIG-8932f937", (Device(0, instances=(Instance("", 1, 0),)),)).unresolved
    assert numbers(resolve_visible("1", unknown)) == [1]


@pytest.mark.parametrize(
    ("text", "order"),
    [
        (None, (Seen(0, 0),)),
        ("0", (Seen(0, 0),)),
        ("1", (Seen(1),)),
        ("1,0", (Seen(0, 0),)),
        (A, (Seen(0, 0),)),
        ("MIG-ab", (Seen(0, 1),)),
        ("MIG-ab,MIG-aa", (Seen(0, 1),)),
        ("MIG-a", ()),
        (f"MIG-{A}/2/0", (Seen(0, 1),)),
        (f"MIG-{A}/2/1", ()),
        (f"MIG-{B}/2/0", ()),
        ("MIG-GPU--/2/0", ()),
        ("MIG-", ()),
    ],
)
def test_mig(text: str | None, order: tuple[Seen, ...]) -> None:
    assert resolve_visible(text, MIG).order == order


def test_a_mig_gpu_without_mig_devices_is_not_enumerated() -> None:
    bare = (Device(0, "A100", A, instances=()), Device(1, "A100", B))
    assert numbers(resolve_visible(None, bare)) == [1]
    assert resolve_visible("0,1", bare) == Visible(invalid=("0",))


def test_unlike_gpus_come_fastest_first_unless_the_bus_decides() -> None:
    unlike = (
        Device(0, "GTX 1080 Ti", A, (6, 1), 11264),
        Device(1, "RTX 3090", B, (8, 6), 24576),
    )
    assert resolve_visible("0", unlike) == Visible((Seen(1),), guessed=True)
    assert resolve_visible("0", unlike, "FASTEST_FIRST").guessed
    assert resolve_visible("0", unlike, "PCI_BUS_ID") == Visible((Seen(0),))
    assert resolve_visible(A, unlike) == Visible((Seen(0),)), "a UUID needs no order"


_ENTRIES = st.one_of(
    st.integers(-3, 9).map(str),
    st.sampled_from([A, B, A[:8], "GPU-", "MIG-aa", "MIG-ab", f"MIG-{A}/1/0", "", " ", "none"]),
    st.text(max_size=6),
)
_LISTS = st.lists(_ENTRIES, max_size=6).map(",".join)
_MACHINES = st.sampled_from([(), PAIR, SIX, MIG, (Device(0), Device(1, instances=()))])


@given(_LISTS, _MACHINES, st.sampled_from([None, "PCI_BUS_ID", "FASTEST_FIRST", "?"]))
def test_any_text_leaves_a_subset_each_device_once(
    text: str, devices: tuple[Device, ...], order: str | None
) -> None:
    visible = resolve_visible(text, devices, order)
    shown = [seen.number for seen in visible.order]
    assert len(shown) == len(set(shown))
    assert set(shown) <= {device.number for device in devices}
    assert len(visible.invalid) <= text.count(",") + 1
    if any(seen.instance is not None for seen in visible.order):
        assert len(visible.order) == 1


@given(st.permutations(range(6)), st.integers(0, 6))
def test_valid_numbers_are_kept_in_their_order(order: list[int], length: int) -> None:
    chosen = order[:length]
    assert numbers(resolve_visible(",".join(map(str, chosen)), SIX)) == chosen


@given(st.lists(st.integers(0, 5), max_size=4, unique=True), st.integers(6, 10**12))
def test_nothing_behind_an_index_out_of_range_is_visible(before: list[int], beyond: int) -> None:
    text = ",".join(map(str, [*before, beyond, 0, 1, 2]))
    assert numbers(resolve_visible(text, SIX)) == before


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0,1", "0,1"),
        (f"{A},{B}", "GPU-…,GPU-…"),
        ("MIG-GPU-8932f937-d72c/1/2,0", "MIG-GPU-…/1/2,0"),
        ("8932f937-d72c-4106-c12f-000000000000", "…"),
        ("-1", "-1"),
    ],
)
def test_mask(text: str, shown: str) -> None:
    assert mask(text) == shown


@given(st.uuids(), st.sampled_from(["GPU-", "MIG-", "MIG-GPU-", "gpu-", ""]), st.text(max_size=5))
def test_no_uuid_survives_the_mask(uuid: object, prefix: str, rest: str) -> None:
    shown = mask(f"{rest},{prefix}{uuid},{rest}")
    assert str(uuid) not in shown
    assert str(uuid)[:8] not in shown or str(uuid)[:8] in rest
