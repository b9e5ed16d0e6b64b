from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch_files: Any = importlib.import_module("flashdoctor.agents.torch_files")
requirements: Any = importlib.import_module("flashdoctor.agents.requirements")

NEW = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.11.0+cu130'
debug = False
cuda: Optional[str] = '13.0'
git_version = '0123abc'
hip: Optional[str] = None
rocm: Optional[str] = None
xpu: Optional[str] = None
"""
OLD = "__version__ = '1.13.1+cu117'\ndebug = False\ncuda = '11.7'\ngit_version = '0'\nhip = None\n"


@pytest.mark.parametrize(
    ("text", "version", "cuda", "kind"),
    [
        (NEW, "2.11.0+cu130", "13.0", "cuda"),
        (OLD, "1.13.1+cu117", "11.7", "cuda"),
        (NEW.replace("'13.0'", "None").replace("cu130", "cpu"), "2.11.0+cpu", None, "cpu"),
        (NEW.replace("'13.0'", "None").replace("hip: Optional[str] = None", "hip = '6.2.4'"),
         "2.11.0+cu130", None, "rocm"),
        (NEW.replace("'13.0'", "None").replace("cu130", "xpu"), "2.11.0+xpu", None, "xpu"),
        ("", None, None, "cpu"),
    ],
)  # fmt: skip
def test_reads_version_py(text: str, version: str | None, cuda: str | None, kind: str) -> None:
    values = torch_files.parse_version_file(text)
    assert (values.get("__version__"), values.get("cuda")) == (version, cuda)
    assert torch_files.build_kind(values) == kind


@given(st.text())
def test_any_version_py_is_read(text: str) -> None:
    values = torch_files.parse_version_file(text)
    assert all(value is None or isinstance(value, str) for value in values.values())


def test_reads_the_abi_flag() -> None:
    line = 'set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=%d")'
    assert torch_files.parse_abi(line % 0) is False
    assert torch_files.parse_abi(line % 1) is True
    assert torch_files.parse_abi("set(TORCH_CXX_FLAGS)") is None


@pytest.mark.parametrize(
    ("line", "majors"),
    [
        ("nvidia-cublas-cu12==12.4.5.8", ["12"]),
        ("nvidia-cudnn-cu13==9.19.0.56", ["13"]),
        ("cuda-toolkit[cublas]==13.0.2", ["13"]),
        ("nvidia-cublas==13.1.0.3.*", ["13"]),
        ("nvidia-cufft==12.0.0.61.*", []),
        ("triton==3.6.0", []),
    ],
)
def test_a_requirement_tells_its_cuda_major(line: str, majors: list[str]) -> None:
    assert torch_files.cuda_majors(requirements.parse_requirement(line)) == majors


def test_reads_the_versions_in_the_headers(tmp_path: Path) -> None:
    for kind, name, prefix, patch in (
        ("cudnn", "cudnn_version.h", "CUDNN", "PATCHLEVEL"),
        ("nccl", "nccl.h", "NCCL", "PATCH"),
    ):
        folder = tmp_path / "nvidia" / kind / "include"
        folder.mkdir(parents=True)
        assert torch_files.header_version(str(tmp_path), kind) is None
        text = f"#define {prefix}_MAJOR 9\n#define {prefix}_MINOR 10\n#define {prefix}_{patch} 2\n"
        (folder / name).write_text(text, encoding="utf-8")
        assert torch_files.header_version(str(tmp_path), kind) == "9.10.2"
