from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import Fact, by_path
from flashdoctor.probes import toolkit
from flashdoctor.probes.toolkit import (
    PATHS,
    describe_problem,
    parse_nvcc,
    parse_problem,
    parse_version_json,
    parse_version_txt,
    read_toolkit,
)

Install = Callable[..., Path]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="shell scripts stand for nvcc")

NVCC = (
    "nvcc: NVIDIA (R) Cuda compiler driver\n"
    "Built on Thu_Mar_28_02:18:24_PDT_2024\n"
    "Cuda compilation tools, release {0}, V{0}.131\n"
    "Build cuda_{0}.r{0}/compiler.34097967_0"
)


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Put a toolkit below a root: nvcc is a shell script, `files` stand beside bin."""

    def write(home: str, version: str, *, script: str = "", **files: str) -> Path:
        root = tmp_path / "root"
        program = root / home.lstrip("/") / "bin" / "nvcc"
        program.parent.mkdir(parents=True)
        said = script or f"cat <<'END'\n{NVCC.format(version)}\nEND"
        program.write_text(f"#!/bin/sh\n{said}\n")
        program.chmod(0o755)
        for name, text in files.items():
            (root / home.lstrip("/") / name.replace("_", ".")).write_text(text)
        return root

    return write


def read(root: Path, **environ: str) -> Mapping[str, Fact]:
    facts = by_path(read_toolkit(root, {"PATH": "/none", **environ}))
    assert sorted(facts) == sorted(PATHS)
    return facts


def chosen(root: Path, **environ: str) -> tuple[Any, Any, str]:
    facts = read(root, **environ)
    version, path = facts["toolkit.version"], facts["toolkit.path"]
    return version.value, path.value, version.source


def version_json(**parts: str) -> str:
    return json.dumps({name: {"name": name, "version": text} for name, text in parts.items()})


def test_a_build_takes_cuda_home_then_cuda_path_then_path_then_the_usual_folder(
    install: Install,
) -> None:
    for home, version in (("/a", "12.1"), ("/b", "12.2"), ("/c", "12.3")):
        install(home, version)
    root = install("/usr/local/cuda", "12.4")
    everything = {"CUDA_HOME": "/a", "CUDA_PATH": "/b", "PATH": "/none:/c/bin"}
    assert chosen(root, **everything) == ("12.1", "/a", "CUDA_HOME")
    del everything["CUDA_HOME"]
    assert chosen(root, **everything) == ("12.2", "/b", "CUDA_PATH")
    del everything["CUDA_PATH"]
    assert chosen(root, **everything) == ("12.3", "/c", "PATH")
    assert chosen(root) == ("12.4", "/usr/local/cuda", "/usr/local/cuda")
    installs = read(root, **everything)["toolkit.installs"].value
    assert installs == [
        {"path": "/c", "version": "12.3", "via": "PATH"},
        {"path": "/usr/local/cuda", "version": "12.4", "via": "/usr/local/cuda"},
    ]


def test_no_toolkit_at_all(tmp_path: Path) -> None:
    facts = read(tmp_path)
    assert facts["toolkit.installs"].value == []
    assert {facts[path].state for path in PATHS[:-1]} == {"absent"}


def test_links_to_one_nvcc_are_one_install(install: Install) -> None:
    root = install("/usr/local/cuda-12.4", "12.4")
    (root / "usr/local/cuda").symlink_to("cuda-12.4")
    (root / "usr/bin").mkdir()
    (root / "usr/bin/nvcc").symlink_to("../local/cuda/bin/nvcc")
    facts = read(root, PATH="/usr/bin", CUDA_PATH="")
    assert facts["toolkit.installs"].value == [
        {"path": "/usr/local/cuda-12.4", "version": "12.4", "via": "PATH"}
    ]
    assert facts["toolkit.path"].value == "/usr"


def test_a_link_to_a_compiler_cache_is_not_followed(install: Install) -> None:
    root = install("/opt/cache", "12.4")
    (root / "opt/cache/bin/nvcc").rename(root / "opt/cache/bin/ccache")
    (root / "usr/local/cuda/bin").mkdir(parents=True)
    (root / "usr/local/cuda/bin/nvcc").symlink_to("../../../../opt/cache/bin/ccache")
    assert read(root)["toolkit.installs"].value[0]["path"] == "/usr/local/cuda"


def test_every_usual_place_is_looked_at(install: Install) -> None:
    homes = ["/opt/conda", "/usr/local/cuda-11.8", "/usr/local/cuda-12.4", "/opt/cuda"]
    for number, home in enumerate(homes):
        root = install(home, f"12.{number}")
    found = read(root, CONDA_PREFIX="/opt/conda")["toolkit.installs"].value
    assert [item["path"] for item in found] == homes


def test_files_tell_the_version_without_a_process(install: Install) -> None:
    failing = "exit 1"
    parts = version_json(cuda="12.4.1", cuda_nvcc="12.4.131")
    root = install("/a", "", script=failing, version_json=parts)
    install("/b", "", script=failing, version_txt="CUDA Version 10.2.89\n")
    assert chosen(root, CUDA_HOME="/a")[0] == "12.4"
    assert chosen(root, CUDA_HOME="/b")[0] == "10.2"


@pytest.mark.parametrize("script", ["exit 1", "echo no", "sleep 60"])
def test_an_nvcc_that_does_not_answer_is_still_an_install(
    script: str, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolkit, "_TIMEOUT_S", 0.5)
    facts = read(install("/usr/local/cuda", "", script=script))
    assert facts["toolkit.version"].reason == "nvcc does not say its version"
    assert facts["toolkit.path"].value == "/usr/local/cuda"
    assert facts["toolkit.installs"].value == [
        {"path": "/usr/local/cuda", "via": "/usr/local/cuda"}
    ]


def test_a_run_time_image_has_the_folder_but_no_nvcc(tmp_path: Path) -> None:
    (tmp_path / "usr/local/cuda/lib64").mkdir(parents=True)
    version = read(tmp_path)["toolkit.version"]
    assert version.state == "absent"
    assert version.reason == "/usr/local/cuda leads to a folder without bin/nvcc"


@pytest.mark.parametrize(
    ("home", "problem"),
    [
        ("/a", None),
        ("/a/", None),
        ("/a:/usr/local/cuda", "it is a list of folders, not one folder"),
        (":/a", "it is a list of folders, not one folder"),
        ("/gone", "it does not exist"),
        ("/empty", "it holds no bin/nvcc"),
        ("/a/bin", "it names the bin folder, not the folder above it"),
        ("/a/bin/nvcc", "it names a file, not the folder that holds bin/nvcc"),
        (" /a", "it has quotes or blanks around it"),
        ('"/a"', "it has quotes or blanks around it"),
        ("opt/cuda", "it is not an absolute path"),
        ("~/cuda", "it is not an absolute path"),
    ],
)
def test_a_bad_cuda_home_is_named_and_taken_all_the_same(
    home: str, problem: str | None, install: Install
) -> None:
    root = install("/a", "12.1")
    (root / "empty").mkdir()
    install("/usr/local/cuda", "12.4")
    facts = read(root, CUDA_HOME=home)
    assert facts["toolkit.home"].value == home
    assert facts["toolkit.home_problem"].value == problem
    assert facts["toolkit.version"].value == ("12.1" if problem is None else None)
    assert "/usr/local/cuda" in [item["path"] for item in facts["toolkit.installs"].value]


def test_a_windows_folder_is_one_folder() -> None:
    assert parse_problem("C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.4") is None
    assert parse_problem("C:\\a;C:\\b") == "it is a list of folders, not one folder"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (version_json(cuda="11.8.20220929", cuda_nvcc="11.8.89"), "11.8"),
        (version_json(cuda="13.0.1"), "13.0"),
        (version_json(other="1.0"), None),
        ('{"cuda": "12.4"}', None),
        ("[]", None),
        ("", None),
        ("[" * 100_000, None),
    ],
)
def test_version_json(text: str, version: str | None) -> None:
    assert parse_version_json(text) == version


@given(st.integers(1, 99), st.integers(0, 9), st.integers(0, 999))
def test_versions_are_read(major: int, minor: int, patch: int) -> None:
    version = f"{major}.{minor}"
    assert parse_nvcc(NVCC.format(version)) == version
    assert parse_version_txt(f"CUDA Version {version}.{patch}") == version
    assert parse_version_json(version_json(cuda=f"{version}.{patch}")) == version


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    for parse in (parse_nvcc, parse_version_txt, parse_version_json):
        assert parse(text) is None
    assert parse_version_json(json.dumps({"cuda": {"version": text}})) is None or text[0].isdigit()
    assert parse_problem(text) is None or text != "/a"
    assert isinstance(describe_problem(Path("/nowhere-at-all"), text), str)
