from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.ld_library_path_shadows_cuda_libs import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


WHEELS = {"torch.cuda_majors": ["12"]}
SITE = "/venv/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    "symbol",
    ["__nvJitLinkComplete_12_4", "cublasLtGetVersion", "cuptiActivityEnableDriverApi"],
)
def test_a_symbol_of_a_toolkit_library_names_it(look: Look, symbol: str) -> None:
    words = f"ImportError: libx.so: undefined symbol: {symbol}, version y"
    assert judge(look({"live.error": words})).evidence[0] == "live.error"


def test_a_strange_library_that_does_no_harm_is_a_warning(look: Look) -> None:
    mapped = ["/usr/local/cuda-12.4/lib64/libcublas.so.12.4.5.8", f"{SITE}/torch/lib/libc10.so"]
    facts = {**WHEELS, "live.libraries": mapped}
    working = judge(look({**facts, "live.status": "ok"}))
    assert working.severity == "warning"
    assert "/usr/local/cuda-12.4" in working.detail
    assert judge(look({**facts, "live.status": "crashed"})).severity is None


@pytest.mark.parametrize(
    "path",
    [
        f"{SITE}/nvidia/cublas/lib/libcublas.so.12",
        f"{SITE}/nvidia/cu13/lib/libcudart.so.13",
        f"{SITE}/torch/lib/libcudart-9335f6a2.so.12",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
    ],
)
def test_libraries_of_wheels_driver_and_system_are_no_strangers(look: Look, path: str) -> None:
    facts = {**WHEELS, "live.libraries": [path], "live.status": "ok"}
    assert judge(look(facts)).outcome == "pass"


def test_a_folder_on_the_path_alone_is_a_hint(look: Look) -> None:
    facts = {**WHEELS, "env.ld_library_path": ["/opt/lib", "/usr/local/cuda/lib64"]}
    assert judge(look(facts)).severity == "info"
    harmless = {**WHEELS, "env.ld_library_path": ["/opt/barracuda/lib"]}
    assert judge(look(harmless)).outcome == "pass"
