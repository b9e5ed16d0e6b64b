from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flashdoctor.probes.cache as cache_module
from flashdoctor.probes.loader import Loader, find_libraries, is_file, read_loader


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Make a site-packages with torch/lib, as in an environment."""
    folder = tmp_path / "env/lib/python3.12/site-packages"
    (folder / "torch/lib").mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    "file",
    [
        "torch/lib/libcudnn.so.9",
        "nvidia/cudnn/lib/libcudnn.so.9",  # CUDA 12: a folder a library
        "nvidia/cu13/lib/libcudnn.so.9",  # CUDA 13: one for most of them
        "../../libcudnn.so.9",  # conda: the environment's own lib
    ],
)
def test_finds_libraries_where_torch_looks(site: Path, file: str) -> None:
    touch(site / file)
    found = read_loader(site / "torch/lib").locate("libcudnn.so.9", site / "x.so", [])
    assert found is not None
    assert found.samefile(site / file)


def test_the_library_path_of_the_environment_counts(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = touch(tmp_path / "opt/libcudnn.so.9")
    monkeypatch.setenv("LD_LIBRARY_PATH", f":{path.parent}:/nowhere")
    assert read_loader(site / "torch/lib").locate(path.name, site / "x.so", []) == path


@pytest.mark.parametrize("origin", ["$ORIGIN", "${ORIGIN}"])
def test_a_run_path_starts_at_the_library(tmp_path: Path, origin: str) -> None:
    path = touch(tmp_path / "lib/../libs/libprivate.so")
    loader = Loader(folders=())
    run_path = ["$LIB/nothing", f"{origin}/../libs"]
    found = loader.locate("libprivate.so", tmp_path / "lib/x.so", run_path)
    assert found is not None
    assert found.samefile(path)
    assert loader.locate("libother.so", tmp_path / "lib/x.so", run_path) is None


def test_the_system_knows_its_own(tmp_path: Path) -> None:
    touch(tmp_path / "libm.so.6")
    cache = b"glibc-ld.so.cache1.1\0libz.so.1\0/usr/lib/libgomp.so.1\0"
    loader = Loader(folders=(), system=(tmp_path,), cache=cache)
    assert all(map(loader.in_system, ["libm.so.6", "libz.so.1", "libgomp.so.1"]))
    assert not any(map(loader.in_system, ["libm.so", "gomp.so.1", "libcudnn.so.9"]))


def test_follows_libraries_and_names_what_is_missing(compile_library: Any, tmp_path: Path) -> None:
    lost = compile_library(tmp_path / "liblost.so.1")
    inner = compile_library(tmp_path / "sub/libinner.so", needs=[lost])
    lost.unlink()
    outer = compile_library(
        tmp_path / "libouter.so", "", "-Wl,-rpath,$ORIGIN/sub", "-nostdlib", needs=[inner]
    )
    loader = Loader(folders=())
    closure = find_libraries(loader, [outer])
    assert closure.found == {"libinner.so": tmp_path / "sub/libinner.so"}
    assert closure.missing == {"liblost.so.1"}
    assert not closure.damaged
    assert find_libraries(loader, [outer], {"libinner.so": inner}).missing == set()


def test_one_that_finds_it_is_enough(compile_library: Any, tmp_path: Path) -> None:
    shared = compile_library(tmp_path / "away/libshared.so")
    blind = compile_library(tmp_path / "libblind.so", needs=[shared])
    seeing = compile_library(
        tmp_path / "libseeing.so", "", "-Wl,-rpath,$ORIGIN/away", needs=[shared]
    )
    closure = find_libraries(Loader(folders=()), [blind, seeing])
    assert closure.missing == set()
    assert closure.found == {"libshared.so": shared}


def test_libraries_that_need_each_other_end(compile_library: Any, tmp_path: Path) -> None:
    second = compile_library(tmp_path / "libsecond.so")
    first = compile_library(tmp_path / "libfirst.so", needs=[second])
    compile_library(tmp_path / "libsecond.so", needs=[first])
    closure = find_libraries(Loader(folders=(tmp_path,)), [first])
    assert set(closure.found) == {"libfirst.so", "libsecond.so"}


def test_the_cache_keeps_what_is_needed_but_not_where_it_was(
    compile_library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_SETTLED_NS", -1)
    cache = cache_module.open_cache(None)
    inner = compile_library(tmp_path / "libinner.so")
    outer = compile_library(tmp_path / "libouter.so", needs=[inner])
    loader = Loader(folders=(tmp_path,))
    assert set(find_libraries(loader, [outer], cache=cache).found) == {"libinner.so"}
    monkeypatch.delattr("flashdoctor.probes.loader.open_elf")
    assert set(find_libraries(loader, [outer], cache=cache).found) == {"libinner.so"}
    inner.unlink()
    assert find_libraries(loader, [outer], cache=cache).missing == {"libinner.so"}


def test_a_damaged_library_is_named_with_its_reason(compile_library: Any, tmp_path: Path) -> None:
    inner = compile_library(tmp_path / "libinner.so")
    outer = compile_library(tmp_path / "libouter.so", needs=[inner])
    inner.write_bytes(inner.read_bytes()[:900])
    closure = find_libraries(Loader(folders=(tmp_path,)), [outer, tmp_path / "gone.so"])
    assert closure.damaged == {
        "libinner.so": "the file is cut short",
        "gone.so": "not a regular file",
    }


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "missing"])
def test_a_path_that_no_system_takes_is_no_file(tmp_path: Path, name: str) -> None:
    assert not is_file(tmp_path / name)
