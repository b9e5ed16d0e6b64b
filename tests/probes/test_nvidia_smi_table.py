from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.probes.gpu_answer import Answer
from flashdoctor.probes.nvidia_smi_table import parse_table
from flashdoctor.probes.visible_devices import Seen

Recorded = Callable[[str], str]


def need(answer: Answer | None) -> Answer:
    assert answer is not None
    return answer


def order(answer: Answer) -> tuple[Seen, ...]:
    assert answer.visible is not None
    assert not answer.visible.unresolved
    return answer.visible.order


@pytest.mark.parametrize(
    ("name", "driver", "cuda", "device"),
    [
        (
            "375_titanx_no_cuda_field.txt",
            "375.39",
            None,
            {"name": "TITAN X (Pascal)", "memory_used_mib": 63, "memory_total_mib": 12186},
        ),
        (
            "470_container_compat_cuda_12.4.txt",
            "470.256.02",
            "12.4",
            {"memory_used_mib": 0, "memory_total_mib": 1998, "mig_enabled": False},
        ),
        (
            "470_t4.txt",
            "470.57.02",
            "11.4",
            {
                "name": "Tesla T4",
                "ecc_enabled": True,
                "memory_used_mib": 0,
                "memory_total_mib": 15109,
                "mig_enabled": False,
            },
        ),
        (
            "535_mig_a30.txt",
            "535.274.02",
            "12.2",
            {
                "name": "NVIDIA A30",
                "ecc_enabled": True,
                "memory_used_mib": 50,
                "memory_total_mib": 24576,
                "mig_enabled": True,
                "mig_instances": 4,
                "mig_memory": [(5952, 12)] * 4,
            },
        ),
        (
            "610_kmd_umd_header.txt",
            "610.57.04",
            "13.3",
            {
                "name": "NVIDIA GeForce GTX 1650",
                "memory_used_mib": 580,
                "memory_total_mib": 4096,
                "mig_enabled": False,
            },
        ),
        (
            "h200_580.txt",
            "580.159.04",
            "13.0",
            {
                "name": "NVIDIA H200",
                "ecc_enabled": True,
                "memory_used_mib": 0,
                "memory_total_mib": 143771,
                "mig_enabled": False,
            },
        ),
        (
            "windows_551_wddm.txt",
            "551.76",
            "12.4",
            {
                "name": "NVIDIA GeForce GTX 1650",
                "driver_model": "WDDM",
                "memory_used_mib": 0,
                "memory_total_mib": 4096,
                "mig_enabled": False,
            },
        ),
        (
            "windows_555_tcc.txt",
            "555.85",
            "12.5",
            {
                "name": "NVIDIA L40S",
                "driver_model": "TCC",
                "ecc_enabled": True,
                "memory_used_mib": 9,
                "memory_total_mib": 46068,
                "mig_enabled": False,
            },
        ),
        (
            "wsl_545_cuda_err.txt",
            "546.80",
            None,
            {"memory_used_mib": 816, "memory_total_mib": 6144, "mig_enabled": False},
        ),
        (
            "wsl_580_versions_differ.txt",
            "580.97",
            "13.0",
            {"memory_used_mib": 1016, "memory_total_mib": 6144, "mig_enabled": False},
        ),
    ],
)
def test_recorded_tables(
    recorded: Recorded, name: str, driver: str, cuda: str | None, device: dict[str, object]
) -> None:
    answer = need(parse_table(recorded(name), {}))
    assert (answer.driver, answer.cuda, answer.count) == (driver, cuda, 1)
    assert answer.devices == ({"index": 0, **device},)


def test_a_table_of_two_gpus_with_processes(recorded: Recorded) -> None:
    text = recorded("580_h100x2_busy.txt")
    answer = need(parse_table(text, {"CUDA_VISIBLE_DEVICES": "1"}))
    assert [device["memory_used_mib"] for device in answer.devices] == [18903, 18905]
    assert order(answer) == (Seen(1),)
    by_uuid = need(parse_table(text, {"CUDA_VISIBLE_DEVICES": "GPU-0123abcd"}))
    assert by_uuid.visible is not None
    assert by_uuid.visible.unresolved, "the table prints no UUIDs"


def test_a_header_alone() -> None:
    answer = need(
        parse_table("| NVIDIA-SMI 580.1.2   Driver Version: 580.1.2  CUDA Version: 13.0", {})
    )
    assert (answer.driver, answer.cuda, answer.count) == ("580.1.2", "13.0", None)


@given(st.text(), st.integers(0, 1600), st.integers(0, 60))
def test_damaged_tables_never_raise(recorded: Recorded, junk: str, place: int, length: int) -> None:
    text = recorded("535_mig_a30.txt")
    answer = parse_table(text[:place] + junk + text[place + length :], {})
    assert answer is None or answer.driver
