"""The flags of a vLLM that lies in a folder, and (with a network) of real releases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.errors import TargetNotFoundError
from flashdoctor.tune.flags import Flag, read_table
from flashdoctor.tune.vllm_ast import read_flags
from flashdoctor.vllm_sources import MAX_FILE_BYTES, read_installed, read_sources

SOURCE = """
class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--only-here", type=int)
"""
NETWORK = "FLASHDOCTOR_NETWORK"
DOWNLOAD_S = 300


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Return a virtual environment's folder with a vLLM that is nothing but sources."""
    site = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    (site / "vllm" / "engine").mkdir(parents=True)
    (site / "vllm" / "engine" / "arg_utils.py").write_text(SOURCE, encoding="utf-8")
    (site / "vllm-0.10.2+cu128.dist-info").mkdir()
    (tmp_path / "env" / "bin").mkdir()
    (tmp_path / "env" / "bin" / "python").symlink_to(sys.executable)
    return tmp_path / "env"


def test_an_installed_vllm_is_found_and_read(environment: Path) -> None:
    found = read_installed(str(environment))
    assert found is not None
    assert found.version == "0.10.2+cu128"
    assert found.flags == {"only-here": Flag("only-here", takes="int")}


def test_a_target_without_vllm(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text("#!/bin/sh\n", encoding="utf-8")
    python.chmod(0o755)
    assert read_installed(str(python)) is None
    with pytest.raises(TargetNotFoundError):
        read_installed(str(tmp_path / "nowhere"))


def test_files_that_are_too_large_or_no_files_are_left_out(environment: Path) -> None:
    site = environment / "lib" / "python3.11" / "site-packages"
    (site / "vllm" / "config.py").mkdir()
    (site / "vllm" / "scripts.py").write_text("#" * (MAX_FILE_BYTES + 1), encoding="utf-8")
    (site / "vllm" / "config").mkdir()
    (site / "vllm" / "config" / "a.py").write_bytes(b"x = '\xff'\n")
    assert set(read_sources(site)) == {"vllm/engine/arg_utils.py", "vllm/config/a.py"}


@pytest.mark.network
@pytest.mark.skipif(not os.environ.get(NETWORK), reason=f"{NETWORK} is not set")
@pytest.mark.parametrize("version", ["0.6.6", "0.10.2", "0.25.1"])
def test_the_table_is_what_a_real_release_defines(version: str, tmp_path: Path) -> None:
    read = read_flags(read_sources(source_tree(version, tmp_path)))
    table = read_table(load_tables(), version).flags
    assert set(read) == set(table)
    assert {name: flag.kind for name, flag in read.items()} == {
        name: flag.kind for name, flag in table.items()
    }
    for name, flag in read.items():
        # -O is no option of the parser: what the parser makes of it stands in its own code
        assert {*flag.aliases, "-O"} == {*table[name].aliases, "-O"}, name
        assert (flag.many, flag.optional) == (table[name].many, table[name].optional), name
        if flag.choices is not None:
            assert set(flag.choices) == set(table[name].choices or ()), name


def source_tree(version: str, folder: Path) -> Path:
    """Let pip unpack a source distribution. It cannot build one without torch, nor has to."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
         "--no-build-isolation", "--no-clean", "--dest", str(folder), f"vllm=={version}"],
        check=False, timeout=DOWNLOAD_S, capture_output=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    [found] = folder.glob("pip-download-*/vllm_*")
    return found
