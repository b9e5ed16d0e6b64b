from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.cli.anchors import parse_facts, parse_pins, read_facts, read_pins

REQUIREMENTS = """\
# torch is pinned below
--extra-index-url https://example.org/whl/cu126
numpy
torch==2.7.1+cu126
flash_attn [cuda] @ https://example.org/flash_attn-2.8.3.whl
vllm[audio]>=0.9; python_version < "3.13"
torch==2.6.0
sphinx==8.0
"""
UV = """\
[[package]]
name = "torch"
version = "2.7.1"
dependencies = [
    { name = "triton", marker = "sys_platform == 'linux'" },
]

[[package]]
name = "triton"
"""
PIPFILE_LOCK = '{\n    "default": {\n        "torch": {\n            "version": "==2.7.1"\n'
CONDA = "dependencies:\n  - python=3.11\n  - pytorch=2.5\n  - pip:\n      - transformers==4.55\n"
PYPROJECT = """\
[project]
dependencies = [
  "torch>=2.7",
  'flash-attn',
]
[tool.poetry.dependencies]
vllm = "^0.9"
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (REQUIREMENTS, {"numpy": 3, "torch": 4, "flash_attn": 5, "vllm": 6}),
        (UV, {"torch": 2, "triton": 9}),
        (PIPFILE_LOCK, {"torch": 3}),
        (CONDA, {"python": 2, "torch": 3, "transformers": 5}),
        (PYPROJECT, {"torch": 3, "flash_attn": 4, "vllm": 7}),
        ("", {}),
    ],
)
def test_the_line_that_asks_for_a_package(text: str, lines: dict[str, int]) -> None:
    assert parse_pins(text) == lines


def test_what_was_resolved_goes_before_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS, encoding="utf-8")
    (tmp_path / "uv.lock").write_text(UV, encoding="utf-8")
    (tmp_path / "pyproject.toml").mkdir()
    pins = read_pins(tmp_path)
    assert pins["torch"] == ("uv.lock", 2)
    assert pins["vllm"] == ("requirements.txt", 6)


def test_a_folder_without_such_files_asks_for_nothing(tmp_path: Path) -> None:
    assert read_pins(tmp_path) == {}
    assert read_pins(tmp_path / "missing") == {}


def test_facts_of_a_snapshot_have_lines(tmp_path: Path) -> None:
    text = '{"facts": {\n "gpu.name": {"value": "torch.version"},\n "no.such": {},\n'
    text += ' "torch.version": {\n'
    assert parse_facts(text) == {"gpu.name": 2, "torch.version": 4}
    file = tmp_path / "s.json"
    file.write_text(text, encoding="utf-8")
    assert read_facts(file) == parse_facts(text)


@given(st.text() | st.text("name = \"torch'{}:-[]\n ,"))
def test_any_text_has_its_lines(text: str) -> None:
    count = len(text.splitlines())
    found = [*parse_pins(text).values(), *parse_facts(text).values()]
    assert all(1 <= line <= count for line in found)
