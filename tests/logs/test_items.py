from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs import items
from flashdoctor.logs.items import CERTAIN, GUESSED, Item
from flashdoctor.model.catalog import FACTS

READERS = (
    items.os_items,
    items.system_items,
    items.gpu_items,
    items.capability_items,
    items.bare_capability_items,
    items.driver_items,
    items.cuda_items,
    items.python_items,
    items.torch_items,
    items.compiler_items,
    items.memory_items,
    items.model_items,
    items.cuda_reader("torch.cuda"),
    items.value_reader("gpu.count"),
)


@pytest.mark.parametrize(
    ("reader", "text", "expected"),
    [
        (items.os_items, "Ubuntu 22.04.3 LTS", [("os.distribution", "Ubuntu 22.04.3", CERTAIN)]),
        (items.os_items, "WSL2", [("wsl.version", 2, CERTAIN)]),
        (items.os_items, "Windows 11 x64",
         [("os.system", "Windows", CERTAIN), ("os.platform", "win_amd64", CERTAIN)]),
        (items.driver_items, "550.54.14", [("driver.version", "550.54.14", CERTAIN)]),
        (items.driver_items, "12.4", [("driver.cuda", "12.4", CERTAIN)]),
        (items.driver_items, "nouveau", []),
        (items.cuda_items, "12.4", [("toolkit.version", "12.4", GUESSED)]),
        (items.cuda_items, "12.4 (nvcc)", [("toolkit.version", "12.4", CERTAIN)]),
        (items.cuda_items, "12.4 from nvidia-smi", [("driver.cuda", "12.4", CERTAIN)]),
        (items.cuda_items, "12.1 (torch)", [("torch.cuda", "12.1", CERTAIN)]),
        (items.cuda_items, "550.54", []),
        (items.torch_items, "2.4.0 (CUDA 12.1)",
         [("torch.version", "2.4.0", CERTAIN), ("torch.cuda", "12.1", CERTAIN)]),
        (items.capability_items, "(sm_86)", [("gpu.compute_capability", "8.6", CERTAIN)]),
        (items.bare_capability_items, "(9, 0)", [("gpu.compute_capability", "9.0", CERTAIN)]),
        (items.memory_items, "24 GB", [("gpu.memory_mib", 24576, CERTAIN)]),
        (items.memory_items, "16384MiB", [("gpu.memory_mib", 16384, CERTAIN)]),
        (items.model_items, "bfloat16", []),
        (items.model_items, "ab/cd, quantized", [("model.name", "ab/cd", CERTAIN)]),
        (items.python_items, "3.10.12", [("python.version", "3.10.12", CERTAIN)]),
        (items.python_items, "/usr/bin/python3.10", []),
    ],
)  # fmt: skip
def test_a_value(reader: Callable[[str], Iterator[Item]], text: str, expected: list[Item]) -> None:
    assert list(reader(text)) == expected


@pytest.mark.parametrize(
    ("label", "name"),
    [("pytorch", "torch"), ("flash attention version", "flash-attn"), ("flash_attn", "flash-attn"),
     ("vllm", "vllm"), ("hf transformers", "transformers"), ("weather", None)],
)  # fmt: skip
def test_the_package_that_a_label_means(label: str, name: str | None) -> None:
    assert items.package_name(label) == name


@pytest.mark.parametrize("reader", READERS)
@given(text=st.text())
def test_any_text_is_survived(reader: Callable[[str], Iterator[Item]], text: str) -> None:
    assert all(path in FACTS for path, _, _ in reader(text))
