from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parsers._gpu_lines import GpuLines
from flashdoctor.model.log import Found, Line


def values(found: Iterable[Found]) -> dict[str, object]:
    return {item.fact.path: item.fact.value for item in found}


def test_one_gpu_behind_the_label_is_the_only_one() -> None:
    lines = GpuLines("x")
    found = values(lines.begin("GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-0)", Line(1, "")))
    assert found == {"gpu.name": "NVIDIA GeForce RTX 4090", "gpu.count": 1}
    assert not lines.open


def test_several_gpus_behind_the_label() -> None:
    found = values(GpuLines("x").begin("GPU 0: NVIDIA L4 GPU 1: NVIDIA L4", Line(1, "")))
    assert found == {"gpu.name": "NVIDIA L4", "gpu.count": 2}


def test_another_maker_s_gpu() -> None:
    found = values(GpuLines("x").begin("AMD Radeon RX 7900 XTX (gfx1100)", Line(1, "")))
    assert found == {"gpu.name": "AMD Radeon RX 7900 XTX", "os.rocm": True}


def test_a_list_ends_at_the_first_line_that_is_no_gpu() -> None:
    lines = GpuLines("x")
    assert values(lines.begin("", Line(1, ""))) == {}
    assert lines.open
    assert values(lines.feed(Line(2, "GPU 0: Tesla V100-SXM2-32GB"))) == {
        "gpu.name": "Tesla V100-SXM2-32GB"
    }
    assert values(lines.feed(Line(3, "Nvidia driver version: 535.54.03"))) == {"gpu.count": 1}
    assert not lines.open


def test_nothing_behind_the_label_and_nothing_below() -> None:
    lines = GpuLines("x")
    assert [*lines.begin("", Line(1, "")), *lines.feed(Line(2, "")), *lines.end()] == []


@given(st.lists(st.text() | st.integers(0, 99).map(lambda number: f"GPU {number}: x")))
def test_the_count_is_bounded(texts: list[str]) -> None:
    lines = GpuLines("x")
    found = list(lines.begin("", Line(0, "")))
    for number, text in enumerate(texts):
        if lines.open:
            found += lines.feed(Line(number, text))
    found += lines.end()
    counts = [item.fact.value for item in found if item.fact.path == "gpu.count"]
    assert all(1 <= count <= 64 for count in counts)
