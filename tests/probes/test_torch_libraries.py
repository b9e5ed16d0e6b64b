from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.model.facts import Fact, by_path
from flashdoctor.probes.torch_libraries import TorchLibraries, read_torch, torch_facts

C10 = """
#include <string>
namespace c10 {
struct SourceLocation { const char *function, *file; unsigned line; };
struct Error { Error(SourceLocation, std::string); };
Error::Error(SourceLocation, std::string) {}
}
"""


@pytest.fixture(scope="module", params=[0, 1], ids=["old-abi", "new-abi"])
def abi(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def c10(abi: int, compile_library: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = compile_library(
        tmp_path_factory.mktemp("c10") / "libc10.so",
        C10,
        f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
        language="c++",
    )
    return path


@pytest.fixture
def install(compile_library: Any, tmp_path: Path) -> Any:
    """Lay out torch/lib beside NVIDIA's packages; libtorch_cpu needs a cuDNN that is there."""

    def build(c10: Path | None = None) -> Path:
        site: Path = tmp_path / "lib/python3.12/site-packages"
        cudnn = compile_library(site / "nvidia/cu13/lib/libcudnn.so.9")
        lib = site / "torch/lib"
        core = compile_library(lib / "libc10.so")
        if c10:
            core.write_bytes(c10.read_bytes())
        flags = ("", "-Wl,-rpath,$ORIGIN:$ORIGIN/../../nvidia/cu13/lib")
        cpu = compile_library(lib / "libtorch_cpu.so", *flags, needs=[core, cudnn])
        driver = compile_library(lib / "libcuda.so.1")
        compile_library(lib / "libtorch_python.so", *flags, needs=[cpu, core, driver])
        driver.unlink()
        return lib

    return build


def facts_of(lib: Path) -> Mapping[str, Fact]:
    return by_path(torch_facts(read_torch(lib)))


def test_the_abi_is_read_from_the_exception(install: Any, c10: Path, abi: int) -> None:
    assert facts_of(install(c10))["torch.cxx11_abi"].value is bool(abi)


def test_without_the_exception_the_abi_is_left_to_others(install: Any) -> None:
    assert "torch.cxx11_abi" not in facts_of(install())


def test_nothing_is_missing_but_the_driver(install: Any) -> None:
    torch = read_torch(install())
    assert torch.closure.missing == {"libcuda.so.1"}
    assert {path.name for path in torch.own} == {
        "libc10.so",
        "libtorch_cpu.so",
        "libtorch_python.so",
    }
    fact = by_path(torch_facts(torch))["torch.library_missing"]
    assert (fact.state, fact.value) == ("known", [])


def test_a_library_that_was_removed_is_missing(install: Any) -> None:
    lib = install()
    (lib.parent.parent / "nvidia/cu13/lib/libcudnn.so.9").unlink()
    assert facts_of(lib)["torch.library_missing"].value == ["libcudnn.so.9"]


def test_without_nvidia_packages_nobody_knows_where_they_are(install: Any) -> None:
    lib = install()
    (lib.parent.parent / "nvidia").rename(lib.parent.parent / "elsewhere")
    fact = facts_of(lib)["torch.library_missing"]
    assert fact.state == "unknown"
    assert "libcudnn.so.9" in fact.reason


def test_without_the_loaders_cache_the_system_is_not_judged(
    install: Any, compile_library: Any
) -> None:
    lib = install()
    gomp = compile_library(lib / "libgomp-of-nobody.so.1")
    compile_library(lib / "libtorch_python.so", needs=[lib / "libtorch_cpu.so", gomp])
    gomp.unlink()
    torch = read_torch(lib)
    blind = replace(torch, loader=replace(torch.loader, cache=b""))
    seeing = replace(torch, loader=replace(torch.loader, cache=b"glibc-ld.so.cache1.1"))
    assert missing(blind).state == "unknown"
    assert missing(seeing).value == ["libgomp-of-nobody.so.1"]


def missing(torch: TorchLibraries) -> Fact:
    return by_path(torch_facts(torch))["torch.library_missing"]


@pytest.mark.parametrize("lost", ["libc10.so", "libtorch_cpu.so"])
def test_without_its_core_nothing_is_said(install: Any, lost: str) -> None:
    lib = install()
    (lib / lost).unlink()
    torch = read_torch(lib)
    assert lost in torch.problem
    assert missing(torch).state == "unknown"


def test_a_damaged_core_library_is_a_reason(install: Any) -> None:
    lib = install()
    (lib / "libtorch_cpu.so").write_bytes(b"\x7fELF\x02\x01\x01")
    assert read_torch(lib).problem.startswith("libtorch_cpu.so: ")


def test_a_folder_without_torch_is_a_reason(tmp_path: Path) -> None:
    assert "not found" in read_torch(tmp_path / "torch/lib").problem
    assert [fact.state for fact in torch_facts(read_torch(tmp_path))] == ["unknown"]
