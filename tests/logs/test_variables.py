from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.variables import facts_of, is_kept, toolkit_of
from flashdoctor.model.catalog import FACTS


def test_which_variables_are_kept() -> None:
    assert all(map(is_kept, ["CUDA_HOME", "VLLM_USE_V1", "NCCL_P2P_DISABLE", "MAX_JOBS"]))
    others = ["HF_TOKEN", "VLLM_API_KEY", "HOME", "USER", "AWS_SECRET", "cuda_home", "SGLANG_PASS"]
    assert not any(map(is_kept, others))


@pytest.mark.parametrize(
    ("name", "value", "version"),
    [
        ("CUDA_HOME", "/usr/local/cuda-12.1", "12.1"),
        ("CUDACXX", "/usr/local/cuda-11.8/bin/nvcc", "11.8"),
        ("CUDA_PATH", "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.4", "12.4"),
        ("CUDA_HOME", "/usr/local/cuda", None),
        ("PYTHONPATH", "/usr/local/cuda-12.1", None),
    ],
)
def test_the_toolkit_in_a_folders_name(name: str, value: str, version: str | None) -> None:
    assert toolkit_of(name, value) == version


@pytest.mark.parametrize(
    ("value", "folders"),
    [("/a:/b:$LD_LIBRARY_PATH", ["/a", "/b"]), ("C:\\a;D:\\b", ["C:\\a", "D:\\b"]), ("", []),
     ("${LD_LIBRARY_PATH}:/a", ["/a"])],
)  # fmt: skip
def test_search_paths(value: str, folders: list[str]) -> None:
    assert dict(facts_of("LD_LIBRARY_PATH", value)) == {"env.ld_library_path": folders}


@given(st.sampled_from(["CUDA_HOME", "LD_LIBRARY_PATH", "NVIDIA_DISABLE_REQUIRE", "X"]), st.text())
def test_any_value_is_survived(name: str, value: str) -> None:
    assert all(path in FACTS for path, _ in facts_of(name, value))
    toolkit_of(name, value)
