from __future__ import annotations

import pytest

from flashdoctor import pipeline
from flashdoctor.resolve.change import Change, is_outside_tables, least_first, wanted_under
from flashdoctor.resolve.machine import Machine, read_machine
from flashdoctor.resolve.wants import Want

NOTHING: frozenset[str] = frozenset()
HOST = ("gpu=H100", "driver=580", "python=3.12", "platform=linux_x86_64", "glibc=2.35")


def machine(*installed: str) -> Machine:
    return read_machine(pipeline.assume([*HOST, *installed]), pipeline.tables())


def test_the_least_change_comes_first() -> None:
    on = machine("torch=2.8.0", "vllm=0.10.2", "flash_attn=2.8.3")
    found = least_first(on, ("vllm", "flash-attn"), frozenset({"flash-attn"}))
    assert found[0] == Change("stays", frozenset({"flash-attn"}))
    assert found[-1] == Change("free", frozenset({"vllm", "flash-attn"}))
    sizes = [len(item.packages) + (item.torch != "stays") for item in found]
    assert sizes == sorted(sizes)


def test_of_two_the_engine_moves_last() -> None:
    on = machine("torch=2.8.0", "vllm=0.10.2", "transformers=4.57.6")
    found = least_first(on, ("vllm", "transformers"), NOTHING)
    single = [item.packages for item in found if item.torch == "stays" and len(item.packages) == 1]
    assert single == [{"transformers"}, {"vllm"}]


def test_the_variant_moves_before_the_release() -> None:
    found = least_first(machine("torch=2.8.0"), ("torch",), NOTHING)
    assert [item.torch for item in found] == ["stays", "variant", "free"]


@pytest.mark.parametrize("torch", ["2.9.0a0+nv25.9", "2.9.0.dev20250801+cu128", "99.1.0"])
def test_a_torch_that_no_index_has_is_not_replaced_for_others(torch: str) -> None:
    found = least_first(machine(f"torch={torch}", "flash_attn=2.8.3"), ("flash-attn",), NOTHING)
    assert {item.torch for item in found} == {"stays"}


def test_it_is_where_it_is_itself_what_is_broken() -> None:
    on = machine("torch=2.9.0.dev20250801+cu128")
    assert least_first(on, ("torch",), frozenset({"torch"})) == [Change("free", NOTHING)]


def test_neither_is_the_torch_of_a_vllm_outside_the_tables() -> None:
    found = least_first(machine("torch=2.8.0", "vllm=99.0"), ("torch",), NOTHING)
    assert {item.torch for item in found} == {"stays"}


def test_without_torch_every_one_will_do() -> None:
    assert least_first(machine("torch=absent"), ("flash-attn",), NOTHING) == [
        Change("free", NOTHING)
    ]


@pytest.mark.parametrize(
    ("name", "item", "outside"),
    [
        ("vllm", "vllm=0.10.2", False),
        ("vllm", "vllm=0.10.2rc1.dev3", True),
        ("vllm", "vllm=99.0", True),
        ("vllm", "vllm=absent", False),
        ("transformers", "transformers=4.57.6", False),
        ("transformers", "transformers=99.0.0", True),
        ("flash-attn", "flash_attn=99.0.0", False),
    ],
)
def test_outside_the_tables(name: str, item: str, outside: bool) -> None:
    assert is_outside_tables(machine(item), name) is outside


def test_what_stays_is_searched_for_by_its_release() -> None:
    on = machine("torch=2.8.0", "vllm=0.10.2", "transformers=4.57.3", "flash_attn=2.8.3")
    names = ("vllm", "flash-attn", "transformers")
    assert list(wanted_under(on, names, Change("stays", NOTHING))) == [Want("vllm", "==0.10.2")]
    assert list(wanted_under(on, names, Change("variant", frozenset({"vllm"})))) == [
        Want("torch", "==2.8.0"),
        Want("vllm"),
        Want("flash-attn", "==2.8.3"),
    ]
    assert list(wanted_under(on, ("fa4", "torch"), Change("free", NOTHING))) == [
        Want("torch"),
        Want("fa4"),
    ]
