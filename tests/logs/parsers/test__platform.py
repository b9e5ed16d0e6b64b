from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.parsers._platform import (
    state_gcc,
    state_libc,
    state_os,
    state_platform,
    state_python,
    wsl_version,
)
from flashdoctor.model.catalog import FACTS

LINUX = {"os.system": "Linux", "os.platform": "linux_x86_64"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Linux-5.15.0-78-generic-x86_64-with-glibc2.35",
            {**LINUX, "os.kernel": "5.15.0-78-generic", "os.glibc": "2.35"},
        ),
        (
            "Linux-4.18.0-553.22.1.el8_10.x86_64-x86_64-with-glibc2.28",
            {**LINUX, "os.kernel": "4.18.0-553.22.1.el8_10.x86_64", "os.glibc": "2.28"},
        ),
        (
            "Linux-3.10.0-957.el7.x86_64-x86_64-with-centos-7.6.1810-Core",
            {**LINUX, "os.kernel": "3.10.0-957.el7.x86_64"},
        ),
        (
            "Linux-6.6.87.2-microsoft-standard-WSL2-x86_64-with-glibc2.39",
            {
                **LINUX,
                "os.kernel": "6.6.87.2-microsoft-standard-WSL2",
                "wsl.version": 2,
                "os.glibc": "2.39",
            },
        ),
        ("Linux-microsoft-standard-WSL2-x86_64", {**LINUX, "wsl.version": 2}),
        (
            "Linux-5.15.148-tegra-aarch64-with-glibc2.35",
            {
                "os.system": "Linux",
                "os.platform": "linux_aarch64",
                "os.kernel": "5.15.148-tegra",
                "os.jetson": True,
                "os.glibc": "2.35",
            },
        ),
        ("Windows-11-10.0.26100-SP0", {"os.system": "Windows"}),
        ("macOS-14.5-arm64-arm-64bit", {"os.system": "Darwin"}),
        ("Linux", {}),
    ],
)
def test_platform(text: str, expected: dict[str, Any]) -> None:
    assert {fact.path: fact.value for fact in state_platform(text, "x")} == expected


@pytest.mark.parametrize(
    ("kernel", "version"),
    [
        ("5.15.167.4-microsoft-standard-WSL2", 2),
        ("5.10.16.3-microsoft-standard", 2),
        ("4.4.0-19041-Microsoft", 1),
        ("6.8.0-47-generic", None),
    ],
)
def test_wsl_by_its_kernel(kernel: str, version: int | None) -> None:
    assert wsl_version(kernel) == version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("(Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", "11.4.0"),
        ("(GCC) 8.5.0 20210514 (Red Hat 8.5.0-4)", "8.5.0"),
        ("(conda-forge gcc 13.2.0-7) 13.2.0", "13.2.0"),
        ("(Debian 12.2.0-14) 12.2.0", "12.2.0"),
        ("9.4.0", "9.4.0"),
        ("Could not collect", None),
        ("(x86_64-win32-seh-rev0, Built by MinGW-W64 project) 8.1.0", None),
    ],
)
def test_gcc(text: str, version: str | None) -> None:
    found = {fact.path: fact.value for fact in state_gcc(text, "x")}
    assert found.get("os.compiler_version") == version
    assert found.get("os.compiler") == (f"gcc {version}" if version else None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.8 (64-bit runtime)", {"python.version": "3.8"}),
        ("3.12.3 (main, Aug 31 2026) [GCC 13.3.0]", {"python.version": "3.12.3"}),
        ("3.13.0rc1 (main)", {"python.version": "3.13.0rc1"}),
        (
            "3.14.7 (tags/v3.14.7) [MSC v.1944 64 bit (AMD64)] (64-bit runtime)",
            {
                "python.version": "3.14.7",
                "os.system": "Windows",
                "os.platform": "win_amd64",
            },
        ),
        (
            "3.13.2 experimental free-threading build (main) [GCC 13.3.0]",
            {"python.version": "3.13.2", "python.tag": "cp313t"},
        ),
        ("Could not collect", {}),
        ("10.0.1.2", {}),
    ],
)
def test_python(text: str, expected: dict[str, Any]) -> None:
    assert {fact.path: fact.value for fact in state_python(text, "x")} == expected


@pytest.mark.parametrize(("text", "version"), [("glibc-2.35", "2.35"), ("N/A", None), ("-", None)])
def test_libc(text: str, version: str | None) -> None:
    assert [fact.value for fact in state_libc(text, "x")] == ([version] if version else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Microsoft Windows 10 \u4e13\u4e1a\u7248 (10.0.19045 64 \u4f4d)",
            {
                "os.system": "Windows",
                "os.distribution": "Microsoft Windows 10 \u4e13\u4e1a\u7248",
                "os.platform": "win_amd64",
            },
        ),
        (
            "Microsoft Windows 11 Pro (10.0.26100 ARM 64-bit Processor)",
            {
                "os.system": "Windows",
                "os.distribution": "Microsoft Windows 11 Pro",
                "os.platform": "win_arm64",
            },
        ),
        ("linux (x86_64)", LINUX),
        (
            "Red Hat Enterprise Linux 8.9 (Ootpa) (x86_64)",
            {**LINUX, "os.distribution": "Red Hat Enterprise Linux 8.9"},
        ),
        ("BeOS", {}),
    ],
)
def test_os(text: str, expected: dict[str, Any]) -> None:
    assert {fact.path: fact.value for fact in state_os(text, "x")} == expected


@given(st.text(alphabet=st.characters() | st.sampled_from("Linux-WSL2()x86_64 .0123456789")))
def test_any_text(text: str) -> None:
    for read in (state_platform, state_os, state_gcc, state_libc, state_python):
        assert {fact.path for fact in read(text, "x")} <= set(FACTS)
