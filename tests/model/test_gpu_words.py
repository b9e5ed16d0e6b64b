from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.gpu_words import (
    DRIVER_MODELS,
    cuda_version,
    failure_status,
    nth,
    program_name,
    throttle_words,
)


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0, []),
        (0x1, ["idle"]),
        (0x48, ["hw-slowdown", "hw-thermal"]),
        (0x600, ["0x600"]),
        (0x1FF, [
            "idle", "application-clocks", "power-cap", "hw-slowdown", "sync-boost",
            "sw-thermal", "hw-thermal", "power-brake", "display-clocks",
        ]),
    ],
)  # fmt: skip
def test_throttle_words(bits: int, words: list[str]) -> None:
    assert throttle_words(bits) == words


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/python3", "python3"),
        ("...proj/.venv/bin/python3", "python3"),
        ("/opt/venv/bin/python train.py --token=secret /home/me/x", "python"),
        ("ray::Worker.run --key x", "ray::Worker.run"),
        ("VLLM::Worker_TP0", "VLLM::Worker_TP0"),
        ("C:\\Program Files\\App\\my tool.exe", "my tool.exe"),
        ("", None),
        ("   ", None),
        ("-", None),
        ("/", None),
    ],
)
def test_program_name(command: str, name: str | None) -> None:
    assert program_name(command) == name


@given(st.text())
def test_a_program_name_holds_no_folder(command: str) -> None:
    name = program_name(command)
    assert name is None or ("/" not in name and "\\" not in name)


@pytest.mark.parametrize(
    ("number", "version"), [(13000, "13.0"), (12040, "12.4"), (11080, "11.8"), (0, None)]
)
def test_cuda_version(number: int, version: str | None) -> None:
    assert cuda_version(number) == version


def test_words_of_an_enum() -> None:
    assert nth(DRIVER_MODELS, 1) == "TCC"
    assert nth(DRIVER_MODELS, 3) is None
    assert nth(DRIVER_MODELS, -1) is None
    assert nth(DRIVER_MODELS, None) is None


def test_what_is_no_failure() -> None:
    assert failure_status("NVIDIA H200") is None
