from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import Fact, by_path
from flashdoctor.probes.container import (
    PATHS,
    find_kind,
    parse_cgroup,
    parse_environ,
    parse_mounts,
    read_container,
)

Lay = Callable[[Mapping[str, str | bytes]], Path]
DOCKER = {"/.dockerenv": ""}
KINDS = {None, "docker", "podman", "kubernetes", "lxc", "containerd", "other"}


def read(root: Path, **environ: str) -> Mapping[str, Fact]:
    facts = by_path(read_container(root, environ))
    assert sorted(facts) == sorted(PATHS)
    return facts


def mounts(root_line: str) -> str:
    return (
        f"22 27 0:21 / /proc rw - proc proc rw\n{root_line}\n24 1 0:6 / /dev rw - tmpfs tmpfs rw\n"
    )


OVERLAY = "1 0 0:50 / / rw - overlay overlay rw,lowerdir={0}/a,upperdir={0}/b"


@pytest.mark.parametrize(
    ("files", "environ", "kind"),
    [
        ({}, {}, None),
        (DOCKER, {}, "docker"),
        ({"/run/.containerenv": ""}, {"container": "podman"}, "podman"),
        (DOCKER, {"KUBERNETES_SERVICE_HOST": "x"}, "kubernetes"),
        ({**DOCKER, "/proc/1/cgroup": "0::/kubepods.slice/x"}, {}, "kubernetes"),
        ({}, {"container": "lxc"}, "lxc"),
        ({}, {"container": "systemd-nspawn"}, "other"),
        ({"/proc/1/environ": "A=b\0container=lxc\0"}, {}, "lxc"),
        ({"/run/systemd/container": "wsl\n"}, {}, None),
        ({"/run/systemd/container": "docker\n"}, {}, "docker"),
        ({"/proc/1/cgroup": "12:memory:/docker/0123\n"}, {}, "docker"),
        ({"/proc/self/cgroup": "0::/machine.slice/libpod-0123.scope\n"}, {}, "podman"),
        ({"/proc/1/cgroup": "0::/lxc.payload.box\n"}, {}, "lxc"),
        ({"/proc/1/cgroup": "0::/init.scope\n"}, {}, None),
        ({"/proc/self/cgroup": "0::/system.slice/docker.service\n"}, {}, None),
        ({"/proc/self/cgroup": "0::/system.slice/containerd.service\n"}, {}, None),
        ({"/proc/self/mountinfo": mounts(OVERLAY.format("/var/lib/docker/overlay2/l"))}, {},
         "docker"),
        ({"/proc/self/mountinfo": mounts(OVERLAY.format("/x/containers/storage/overlay"))}, {},
         "podman"),
        ({"/proc/self/mountinfo": mounts(OVERLAY.format("/cow"))}, {}, None),
        ({"/proc/self/mountinfo": mounts("1 0 8:1 / / rw - ext4 /dev/sda1 rw")}, {}, None),
        ({"/.singularity.d/x": ""}, {}, "other"),
        ({}, {"APPTAINER_CONTAINER": "/x.sif"}, "other"),
    ],
)  # fmt: skip
def test_the_kind_of_container(
    files: Mapping[str, str], environ: dict[str, str], kind: str | None, lay: Lay
) -> None:
    assert find_kind(lay(files), environ) == kind


def test_outside_a_container_its_variables_do_not_count(lay: Lay) -> None:
    facts = read(lay({}), NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DISABLE_REQUIRE="1")
    assert {fact.state for fact in facts.values()} == {"absent"}


def test_the_runtimes_variables(lay: Lay) -> None:
    require = "cuda>=12.4 brand=tesla,driver>=470,driver<471"
    facts = read(
        lay(DOCKER),
        NVIDIA_VISIBLE_DEVICES="all",
        NVIDIA_DRIVER_CAPABILITIES="compute,utility",
        NVIDIA_REQUIRE_CUDA=require,
        NVIDIA_DISABLE_REQUIRE="true",
    )
    assert [facts[path].value for path in PATHS] == [
        "docker", "all", "compute,utility", require, True,
    ]  # fmt: skip


def test_variables_that_are_not_set(lay: Lay) -> None:
    facts = read(lay(DOCKER))
    assert [facts[path].state for path in PATHS[1:4]] == ["absent"] * 3
    assert facts["container.require_disabled"].value is False


@given(st.lists(st.uuids(), min_size=1, max_size=3))
def test_uuids_of_gpus_are_masked(uuids: list[UUID]) -> None:
    environ = {
        "container": "docker",
        "NVIDIA_VISIBLE_DEVICES": ",".join(f"GPU-{uuid}" for uuid in uuids),
    }
    facts = by_path(read_container(Path("/nowhere"), environ))
    assert facts["container.visible_devices"].value == ",".join(["GPU-<uuid>"] * len(uuids))


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert parse_cgroup(text) in KINDS
    assert parse_mounts(text) in KINDS
    assert parse_cgroup(f"0::/{text}") in KINDS
    assert parse_mounts(f"1 0 0:50 / / {text}") in KINDS
    assert all("\0" not in name for name in parse_environ(text))


@given(st.dictionaries(st.from_regex(r"[A-Z]{1,8}", fullmatch=True), st.text("ab=/", max_size=5)))
def test_an_environment_block_comes_back(variables: dict[str, str]) -> None:
    block = "".join(f"{name}={value}\0" for name, value in variables.items())
    assert parse_environ(block) == variables
