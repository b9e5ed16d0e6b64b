from __future__ import annotations

import os
import platform
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import Fact, by_path
from flashdoctor.probes.system import (
    PATHS,
    parse_board,
    parse_glibc,
    parse_os_release,
    read_system,
    wheel_platform,
)

Lay = Callable[[Mapping[str, str | bytes]], Path]
UBUNTU = 'PRETTY_NAME="Ubuntu 22.04.4 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\n'


def read(root: Path) -> Mapping[str, Fact]:
    facts = by_path(read_system(root, {}))
    assert sorted(facts) == sorted(PATHS)
    return facts


@pytest.fixture
def as_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    for name in ("uname", "confstr", "sched_getaffinity", "statvfs", "sysconf"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.setattr(platform, "release", lambda: "11")
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    monkeypatch.setattr(platform, "version", lambda: "10.0.22631")
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "win-amd64")


def test_this_machine_is_described_as_python_describes_it() -> None:
    facts = read(Path("/"))
    assert facts["os.system"].value == platform.system()
    assert facts["os.kernel"].value == platform.release()
    assert facts["os.cpu_count"].value >= 1
    assert wheel_platform() == sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if platform.libc_ver()[0] == "glibc":
        assert facts["os.glibc"].value == platform.libc_ver()[1]


@pytest.mark.skipif(sys.platform != "linux", reason="files of Linux")
def test_a_laid_out_machine(lay: Lay) -> None:
    root = lay(
        {
            "/etc/os-release": UBUNTU,
            "/proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
            "/dev/kfd": "",
            "/sys/module/amdgpu/version": "6",
        }
    )
    facts = read(root)
    assert facts["os.distribution"].value == "Ubuntu 22.04"
    assert facts["os.kernel"].value == "6.8.0-45-generic"
    assert facts["os.rocm"].value is True
    assert facts["os.jetson"].value is False


@pytest.mark.skipif(sys.platform != "linux", reason="files of Linux")
def test_a_distribution_that_does_not_name_itself(lay: Lay) -> None:
    assert read(lay({"/etc/os-release": "garbage"}))["os.distribution"].state == "absent"
    root = lay({"/usr/lib/os-release": UBUNTU})
    assert read(root)["os.distribution"].source == "/usr/lib/os-release"


@pytest.mark.parametrize(
    "files",
    [
        {"/etc/nv_tegra_release": "# R36"},
        {"/proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0"},
        {"/proc/device-tree/compatible": "nvidia,p3737-0000\0nvidia,tegra234\0"},
    ],
)
def test_a_jetson(files: Mapping[str, str], lay: Lay) -> None:
    assert read(lay(files))["os.jetson"].value is True


@pytest.mark.parametrize("answer", [None, "", ValueError("unrecognized configuration name")])
def test_another_c_library_has_no_glibc(
    answer: str | ValueError | None, lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(_name: str) -> str | None:
        if isinstance(answer, ValueError):
            raise answer
        return answer

    monkeypatch.setattr(os, "confstr", ask, raising=False)
    glibc = read(lay({"/lib/ld-musl-x86_64.so.1": ""}))["os.glibc"]
    assert (glibc.state, glibc.reason) == ("absent", "the C library is musl")


@pytest.mark.usefixtures("as_windows")
def test_windows_says_what_it_can(tmp_path: Path) -> None:
    facts = read(tmp_path)
    assert {path: fact.value for path, fact in facts.items() if fact.state == "known"} == {
        "os.system": "Windows",
        "os.distribution": "Windows 10.0.22631",
        "os.kernel": "11",
        "os.platform": "win_amd64",
        "os.cpu_count": os.cpu_count(),
        "os.jetson": False,
        "os.rocm": False,
    }
    assert facts["os.glibc"].state == "absent"


@pytest.mark.usefixtures("as_windows")
def test_macos_says_what_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platform, "mac_ver", lambda: ("14.5", ("", "", ""), "arm64"))
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "macosx-14.0-arm64")
    facts = read(tmp_path)
    assert facts["os.distribution"].value == "macOS 14.5"
    assert facts["os.platform"].value == "macosx_14_0_arm64"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (UBUNTU, "Ubuntu 22.04"),
        ('NAME="Arch Linux"\nID=arch\n', "Arch Linux"),
        ("NAME='Red Hat Enterprise Linux'\nVERSION_ID=\"9.4\"\n", "Red Hat Enterprise Linux 9.4"),
        ('PRETTY_NAME="Thing \\"X\\""\n', 'Thing "X"'),
        ("ID=alpine\nVERSION_ID=3.20.1\n", "alpine 3.20.1"),
        ("# nothing\n", None),
    ],
)
def test_names_of_distributions(text: str, name: str | None) -> None:
    assert parse_os_release(text) == name


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert parse_os_release(text) is None or parse_os_release(text) != ""
    assert parse_board(text) in {True, False}
    assert parse_glibc(text) is None
    assert parse_os_release(f"NAME={text}\n") != ""


@given(st.integers(1, 9), st.integers(0, 99))
def test_a_glibc_version_is_read(major: int, minor: int) -> None:
    assert parse_glibc(f"glibc {major}.{minor}") == f"{major}.{minor}"
