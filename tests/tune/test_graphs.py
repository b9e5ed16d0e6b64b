"""Capture sizes, their memory, and whether the budget pays for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.model.versions import Capability
from flashdoctor.tune.config import parse_config
from flashdoctor.tune.defaults import Case, fill
from flashdoctor.tune.graphs import capture_sizes, graphs_bytes, pays_for_graphs
from flashdoctor.tune.memory import Gpu, Settings

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
TABLES = load_tables()
H200 = Gpu(name="NVIDIA H200", total_bytes=139 << 30, capability=Capability(9, 0))
B200 = Gpu(name="NVIDIA B200", total_bytes=178 << 30, capability=Capability(10, 0))


def case_of(
    version: str, settings: Settings | None = None, gpu: Gpu = H200, name: str = "llama3.1-8b"
) -> Case:
    model = parse_config((MODELS / name / "config.json").read_text(encoding="utf-8"), name)
    return fill(model, gpu, settings or Settings(), version, TABLES)


@pytest.mark.parametrize(
    ("version", "settings", "count", "largest"),
    [
        ("0.6.3", Settings(), 35, 256),
        ("0.6.3", Settings(max_num_seqs=20), 6, 24),
        ("0.8.5", Settings(), 67, 512),
        ("0.10.2", Settings(max_num_seqs=16), 7, 32),
        ("0.25.1", Settings(), 51, 512),
        ("0.25.1", Settings(max_num_seqs=1), 2, 2),
        ("0.25.1", Settings(max_num_seqs=64), 19, 128),
        ("0.25.1", Settings(max_num_seqs=128), 35, 256),
        ("0.25.1", Settings(max_cudagraph_capture_size=16), 5, 16),
        ("0.25.1", Settings(cudagraph_capture_sizes=(8, 4, 8, 99999)), 2, 8),
    ],
)
def test_sizes(version: str, settings: Settings, count: int, largest: int) -> None:
    sizes = capture_sizes(case_of(version, settings))
    assert sizes == tuple(sorted(set(sizes)))
    assert (len(sizes), sizes[-1]) == (count, largest)


def test_more_sizes_on_blackwell() -> None:
    assert capture_sizes(case_of("0.33.0", gpu=B200))[-1] == 1024
    assert capture_sizes(case_of("0.25.1", gpu=B200))[-1] == 512


def test_nothing_in_eager_mode() -> None:
    case = case_of("0.25.1", Settings(enforce_eager=True))
    assert capture_sizes(case) == ()
    assert graphs_bytes(case) == 0
    assert not pays_for_graphs(case)


def test_one_mode_takes_half_of_two() -> None:
    both = graphs_bytes(case_of("0.25.1"))
    one = graphs_bytes(case_of("0.25.1", Settings(cudagraph_mode="PIECEWISE")))
    full = graphs_bytes(case_of("0.25.1", Settings(cudagraph_mode="FULL_DECODE_ONLY")))
    assert one == full
    assert abs(both - 2 * one) <= 1
    few = Settings(max_num_seqs=8, cudagraph_capture_sizes=(1, 8, 64))
    assert graphs_bytes(case_of("0.25.1", few)) == pytest.approx(5 * 32 * 0.32 * (1 << 20), abs=1)


@pytest.mark.parametrize(
    ("version", "name", "pays"),
    [
        ("0.17.1", "llama3.1-8b", False),
        ("0.19.1", "llama3.1-8b", False),
        ("0.20.0", "llama3.1-8b", True),
        ("0.25.1", "llama3.1-8b", False),
        ("0.25.1", "qwen3-30b-a3b", True),
        ("0.33.0", "llama3.1-8b", True),
    ],
)
def test_who_pays(version: str, name: str, pays: bool) -> None:
    assert pays_for_graphs(case_of(version, name=name)) is pays


def test_the_variable_decides_where_there_is_an_estimate() -> None:
    name = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"
    on, off = (Settings(environment=((name, value),)) for value in "10")
    assert pays_for_graphs(case_of("0.18.0", on))
    assert not pays_for_graphs(case_of("0.33.0", off))
    assert not pays_for_graphs(case_of("0.25.1", on))
    assert not pays_for_graphs(case_of("0.10.2", on))
