from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import Fact, by_path
from flashdoctor.probes.wsl import PATHS, parse_dpkg_status, parse_kernel, read_wsl

Lay = Callable[[Mapping[str, str | bytes]], Path]
KERNEL = "/proc/sys/kernel/osrelease"
WSL2 = "5.15.167.4-microsoft-standard-WSL2"


def read(root: Path, **environ: str) -> Mapping[str, Fact]:
    facts = by_path(read_wsl(root, environ))
    assert sorted(facts) == sorted(PATHS)
    return facts


def stanza(name: str, status: str = "install ok installed", extra: str = "") -> str:
    return f"Package: {name}\n{extra}Status: {status}\nPriority: optional\nVersion: 1\n\n"


def test_outside_wsl_everything_else_is_absent(lay: Lay) -> None:
    facts = read(lay({KERNEL: "6.8.0-45-generic\n", "/dev/dxg": ""}))
    assert facts["wsl.version"].value == 0
    assert {facts[path].state for path in PATHS[1:]} == {"absent"}


def test_a_sound_wsl(lay: Lay) -> None:
    root = lay(
        {
            KERNEL: f"{WSL2}\n",
            "/dev/dxg": "",
            "/usr/lib/wsl/lib/libcuda.so.1": "",
            "/usr/lib/wsl/drivers/nv_dispi.inf_amd64/libnvdxgdmal.so.1": "",
            "/var/lib/dpkg/status": stanza("bash") + stanza("cuda-toolkit-12-4"),
        }
    )
    assert {path: fact.value for path, fact in read(root).items()} == {
        "wsl.version": 2,
        "wsl.dxg": True,
        "wsl.library_path": True,
        "wsl.dxgdmal": True,
        "wsl.linux_driver_packages": [],
    }


def test_a_bare_wsl(lay: Lay) -> None:
    facts = read(lay({KERNEL: WSL2}))
    assert [facts[path].value for path in PATHS[1:4]] == [False, False, False]
    assert facts["wsl.linux_driver_packages"].state == "unknown"


@pytest.mark.parametrize(
    ("release", "version"),
    [
        (WSL2, 2),
        ("4.19.84-microsoft-standard", 2),
        ("6.6.87.2-microsoft-standard-WSL2+", 2),
        ("5.15.90-custom-WSL2", 2),
        ("4.4.0-19041-Microsoft", 1),
        ("6.8.0-45-generic", 0),
        ("5.15.0-1053-azure", 0),
        ("", 0),
    ],
)
def test_the_version_in_a_kernel_release(release: str, version: int) -> None:
    assert parse_kernel(release) == version


def test_a_kernel_of_ones_own_is_told_by_variable_and_device(lay: Lay) -> None:
    root = lay({KERNEL: "6.12.0-mine"})
    assert read(root, WSL_DISTRO_NAME="Ubuntu")["wsl.version"].value == 0
    lay({"/dev/dxg": ""})
    assert read(root)["wsl.version"].value == 0
    assert read(root, WSL_DISTRO_NAME="Ubuntu")["wsl.version"].value == 2


def test_driver_packages_that_are_installed_are_named() -> None:
    there = [
        "cuda-drivers", "cuda-drivers-550", "libcuda1", "libnvidia-compute-535",
        "libnvidia-gl-535", "libnvidia-ml1", "nvidia-driver-535", "nvidia-driver-550-open",
        "nvidia-utils-535-server", "nvidia-dkms-535",
    ]  # fmt: skip
    harmless = [
        "nvidia-cuda-toolkit", "libnvidia-container1", "libnvidia-container-tools", "bash",
        "nvidia-container-toolkit", "cuda-toolkit-12-4", "cuda-driver-dev-12-4", "nvidia-settings",
        "cuda-compat-12-4",
    ]  # fmt: skip
    removed = stanza("nvidia-utils-470", "deinstall ok config-files")
    text = "".join(map(stanza, harmless)) + removed + "".join(map(stanza, there))
    assert parse_dpkg_status(text) == sorted(there)


def test_fields_before_the_status_and_none_at_all() -> None:
    assert parse_dpkg_status(stanza("libcuda1", extra="Essential: yes\n")) == ["libcuda1"]
    broken = "Package: libcuda1\nPriority: optional\n\n" + stanza("bash")
    assert parse_dpkg_status(broken) == []


@given(st.text(), st.lists(st.sampled_from(["libcuda1", "bash", "nvidia-driver-535"]), max_size=5))
def test_any_database_is_read(noise: str, names: list[str]) -> None:
    text = "".join(map(stanza, names)) + "\n" + noise.replace("Package:", "")
    assert parse_dpkg_status(text) == sorted({name for name in names if name != "bash"})


@given(st.text())
def test_any_release_is_read(release: str) -> None:
    assert parse_kernel(release) in {0, 1, 2}
