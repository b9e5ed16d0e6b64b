from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.traceback import MARKS, Traceback

PLAIN = """\
Traceback (most recent call last):
  File "/srv/app.py", line 3, in <module>
    import model
  File "/venv/lib/python3.10/site-packages/transformers/utils/import_utils.py", line 1, in x
    return importlib.import_module("." + module_name, self.__name__)
  File "/venv/lib/python3.10/site-packages/flash_attn/__init__.py", line 3, in <module>
    from flash_attn.flash_attn_interface import (
  File "/venv/lib/python3.10/site-packages/flash_attn/flash_attn_interface.py", line 10, in <module>
    import flash_attn_2_cuda as flash_attn_cuda
ImportError: undefined symbol: _ZN3c105Error
"""
RICH = """\
/usr/lib/python3.10/dist-packages/vllm/worker.py:123 in init_device
   120   x = 1
C:\\env\\Lib\\site-packages\\xformers\\ops\\fmha.py:12 in forward
torch.cuda.OutOfMemoryError: CUDA out of memory.
"""


def read(text: str) -> Traceback:
    traceback = Traceback()
    for number, line in enumerate(text.splitlines(), start=1):
        if any(mark in line.lower() for mark in MARKS):
            traceback.feed(line, number)
    return traceback


def test_the_packages_of_the_frames_stand_innermost_first() -> None:
    traceback = read(PLAIN)
    assert traceback.packages == ["flash_attn", "transformers"]
    assert traceback.exception == "ImportError"


def test_frames_as_rich_prints_them() -> None:
    traceback = read(RICH)
    assert traceback.packages == ["xformers", "vllm"]
    assert traceback.exception == "OutOfMemoryError"


@pytest.mark.parametrize(
    ("line", "exception"),
    [
        ("ERROR 05-27 11:47:57 [core.py:396] torch.OutOfMemoryError: CUDA", "OutOfMemoryError"),
        ("ERROR 04-29 17:19:20 worker_base.py:157] AssertionError: no", "AssertionError"),
        ("ERROR:root:ValueError: x", "ValueError"),
        ("2025-05-27 11:47:57,123 ERROR ValueError: x", "ValueError"),
        ("[ERROR] RuntimeError: x", "RuntimeError"),
        ("E       ImportError: x", "ImportError"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("ERROR 05-27 11:47:57 [core.py:396] EngineCore failed to start.", ""),
        ("the RuntimeError: x", ""),
    ],
)
def test_an_exception_is_read_behind_what_a_logger_writes(line: str, exception: str) -> None:
    assert read(line).exception == exception


def test_a_chained_traceback_starts_anew() -> None:
    chained = PLAIN + (
        "\nThe above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/venv/lib/python3.10/site-packages/peft/model.py", line 1, in y\n'
        "RuntimeError: Failed to import transformers.models.llama because of the following error\n"
    )
    traceback = read(chained)
    assert traceback.packages == ["peft"]
    assert traceback.exception == "RuntimeError"


def test_an_exception_without_frames_has_no_packages() -> None:
    traceback = read(PLAIN + "ValueError: something later\n")
    assert (traceback.packages, traceback.exception) == ([], "ValueError")


def test_a_line_read_twice_ends_its_traceback_once() -> None:
    traceback = read(PLAIN)
    last = len(PLAIN.splitlines())
    assert (
        traceback.feed("ImportError: undefined symbol: _ZN3c105Error and the rest", last) is False
    )
    assert traceback.packages == ["flash_attn", "transformers"]


def test_the_word_error_alone_is_no_exception() -> None:
    traceback = read("ERROR 01-01 something\nError log:\nnvcc fatal error\n")
    assert traceback.exception in {"", "Error"}
    assert traceback.packages == []


@given(st.lists(st.text(max_size=120), max_size=20))
def test_any_lines_are_taken(lines: list[str]) -> None:
    traceback = Traceback()
    for number, line in enumerate(lines):
        traceback.feed(line, number)
    assert len(traceback.packages) <= 12


def test_a_frame_of_a_long_line_is_read_from_its_end() -> None:
    long = "x" * 3000 + ' File "/venv/site-packages/vllm/worker.py", line 3, in f'
    assert read(long).packages == ["vllm"]
    assert read("File " * 800).packages == []
    assert read("x" * 3000 + " /site-packages/xformers/ops.py:12 in f").packages == ["xformers"]
