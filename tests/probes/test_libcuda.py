from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import Fact, by_path
from flashdoctor.probes import libcuda
from flashdoctor.probes.libcuda import (
    PATHS,
    classify,
    parse_answer,
    parse_library_version,
    read_libcuda,
)

Compile = Callable[..., Path]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the loader of Linux")
ANSWERS = "int cuDriverGetVersion(int *out) {{ *out = {number}; return {status}; }}"


@pytest.fixture
def install(tmp_path: Path, compile_library: Compile) -> Callable[..., Path]:
    """Compile a libcuda below a root and link it as drivers do."""

    def build(folder: str, version: str, source: str = "", *, link: bool = False) -> Path:
        root = tmp_path / "root"
        file = root / folder.lstrip("/") / f"libcuda.so.{version}"
        text = source or ANSWERS.format(number=12040, status=0)
        compile_library(file, text, soname="libcuda.so.1")
        file.with_name("libcuda.so.1").symlink_to(file.name)
        if link:
            file.with_name("libcuda.so").symlink_to("libcuda.so.1")
        return root

    return build


def read(root: Path, **environ: str) -> dict[str, Any]:
    facts = read_libcuda(root, environ)
    assert sorted(fact.path for fact in facts) == sorted(PATHS)
    return {fact.path.removeprefix("driver.libcuda_"): fact.value for fact in facts}


def fact(root: Path, path: str) -> Fact:
    return by_path(read_libcuda(root, {}))[path]


def test_the_drivers_own_library(install: Callable[..., Path]) -> None:
    root = install("/usr/lib/x86_64-linux-gnu", "535.161.07", link=True)
    assert read(root) == {
        "path": "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "origin": "driver",
        "version": "535.161.07",
        "cuda": "12.4",
        "link": True,
        "candidates": ["/usr/lib/x86_64-linux-gnu/libcuda.so.1"],
    }


def test_a_compat_library_in_front_of_the_drivers(install: Callable[..., Path]) -> None:
    install("/usr/lib64", "535.161.07")
    source = ANSWERS.format(number=13000, status=0)
    root = install("/usr/local/cuda-13.0/compat", "580.65.06", source)
    found = read(root, LD_LIBRARY_PATH="/usr/local/cuda-13.0/compat")
    assert found["path"] == "/usr/local/cuda-13.0/compat/libcuda.so.1"
    assert (found["origin"], found["version"], found["cuda"]) == ("compat", "580.65.06", "13.0")
    assert found["link"] is False
    assert found["candidates"] == [
        "/usr/local/cuda-13.0/compat/libcuda.so.1",
        "/usr/lib64/libcuda.so.1",
    ]
    assert read(root)["origin"] == "driver"


def test_the_toolkits_stub_reports_no_version(install: Callable[..., Path]) -> None:
    root = install("/usr/local/cuda/lib64/stubs", "1.0", ANSWERS.format(number=0, status=34))
    facts = by_path(
        read_libcuda(root, {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64/stubs"}),
    )
    assert facts["driver.libcuda_origin"].value == "stub"
    assert facts["driver.libcuda_cuda"].reason == "it reports no version"
    assert facts["driver.libcuda_version"].state == "unknown"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("#include <stdlib.h>\n__attribute__((constructor)) void f(void) { abort(); }",
         "loading it failed: exit status -6"),
        ("#include <unistd.h>\n__attribute__((constructor)) void f(void) { sleep(60); }",
         "loading it failed: timeout"),
        ("int other(void) { return 0; }", "undefined symbol: cuDriverGetVersion"),
    ],
)  # fmt: skip
def test_a_library_that_does_not_load_costs_one_fact(
    source: str, reason: str, install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libcuda, "_ASK_TIMEOUT_S", 1.0)
    root = install("/usr/lib64", "550.54.15", source)
    asked = fact(root, "driver.libcuda_cuda")
    assert asked.state == "unknown"
    assert reason in asked.reason
    assert fact(root, "driver.libcuda_version").value == "550.54.15"


def test_an_empty_file_is_taken_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "usr/lib64").mkdir(parents=True)
    (tmp_path / "usr/lib64/libcuda.so.1").touch()
    assert "file too short" in fact(tmp_path, "driver.libcuda_cuda").reason
    assert fact(tmp_path, "driver.libcuda_path").value == "/usr/lib64/libcuda.so.1"


def test_no_library_is_a_fact(tmp_path: Path) -> None:
    facts = by_path(read_libcuda(tmp_path, {}))
    assert facts["driver.libcuda_candidates"].value == []
    assert {facts[path].state for path in PATHS[:-1]} == {"absent"}


@pytest.mark.parametrize(
    ("name", "target", "origin"),
    [
        ("/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.570.1",
         "driver"),
        ("/usr/local/nvidia/lib64/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.550.54.15",
         "driver"),
        ("/usr/local/cuda/compat/libcuda.so.1",
         "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15", "compat"),
        ("/usr/lib64/libcuda.so.1", "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15", "compat"),
        ("/opt/conda/cuda-compat/libcuda.so.1", "/opt/conda/cuda-compat/libcuda.so.1", "compat"),
        ("/opt/x/libcuda.so.1", "/usr/local/cuda/lib64/stubs/libcuda.so", "stub"),
        ("/usr/lib/wsl/lib/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "wsl"),
        ("/opt/conda/lib/libcuda.so.1", "/opt/conda/lib/libcuda.so.1", "other"),
    ],
)  # fmt: skip
def test_whose_library_it_is(name: str, target: str, origin: str) -> None:
    assert classify(name, target) == origin


@given(st.text(), st.text())
def test_any_name_has_an_origin(name: str, target: str) -> None:
    assert classify(name, target) in {"driver", "compat", "stub", "wsl", "other"}


@given(st.integers(100, 9999), st.integers(0, 999), st.integers(0, 99))
def test_a_driver_version_in_a_name_is_read(branch: int, minor: int, patch: int) -> None:
    for version in (f"{branch}.{minor}", f"{branch}.{minor}.{patch:02}"):
        assert parse_library_version(f"libcuda.so.{version}") == version


@pytest.mark.parametrize(
    "name", ["libcuda.so.1", "libcuda.so", "libcuda.so.1.1", "libcudart.so.12"]
)
def test_a_name_without_a_version_has_none(name: str) -> None:
    assert parse_library_version(name) is None


@given(st.text())
def test_any_answer_is_read(text: str) -> None:
    for line in (text, f"0 {text}"):
        assert parse_answer(line) is None or "." in str(parse_answer(line))
    assert parse_answer("0 12040\n") == "12.4"
    assert parse_answer("0 13000") == "13.0"
    assert parse_answer("34 12040") is None
