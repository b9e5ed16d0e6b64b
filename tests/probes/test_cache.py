from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flashdoctor.probes.cache as cache_module
from flashdoctor.probes.cache import FILE_NAME, default_folder, open_cache, parse_entries


class Counter:
    """A computation that knows how often it ran."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.runs = 0

    def __call__(self) -> Any:
        self.runs += 1
        return self.value


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a file that counts as settled although it was written just now."""
    monkeypatch.setattr(cache_module, "_SETTLED_NS", -1)
    path = tmp_path / "library.so"
    path.write_bytes(b"first")
    return path


def remember(
    folder: Path | None, library: Path, value: Any, label: str = "headers"
) -> tuple[Any, int]:
    """Ask a fresh process's cache once, and save it."""
    cache, compute = open_cache(folder), Counter(value)
    found = cache.remember(label, [library], compute)
    cache.save()
    return found, compute.runs


def test_the_second_run_does_not_compute(tmp_path: Path, library: Path) -> None:
    value = {"sass": ["sm_90"], "glibc": None}
    assert remember(tmp_path / "cache", library, value) == (value, 1)
    assert remember(tmp_path / "cache", library, "other") == (value, 0)


def test_labels_do_not_mix(tmp_path: Path, library: Path) -> None:
    assert remember(tmp_path, library, "a", "headers") == ("a", 1)
    assert remember(tmp_path, library, "b", "targets") == ("b", 1)
    assert remember(tmp_path, library, "c", "headers") == ("a", 0)


def test_without_a_folder_nothing_is_kept(library: Path) -> None:
    assert remember(None, library, 1) == (1, 1)
    assert remember(None, library, 2) == (2, 1)


@pytest.mark.parametrize("how", ["size", "time", "inode", "in-place"])
def test_another_file_is_computed_again(tmp_path: Path, library: Path, how: str) -> None:
    remember(tmp_path, library, "old")
    before = library.stat()
    if how == "size":
        library.write_bytes(b"longer than before")
        os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif how == "time":
        os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    elif how == "inode":
        fresh = library.with_name("fresh")
        fresh.write_bytes(b"2nd 5")
        os.utime(fresh, ns=(before.st_atime_ns, before.st_mtime_ns))
        fresh.replace(library)
    else:  # same inode, size and mtime: the change time tells
        library.write_bytes(b"other")
        os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert remember(tmp_path, library, "new") == ("new", 1)


def test_every_file_of_an_answer_counts(tmp_path: Path, library: Path) -> None:
    torch = tmp_path / "libtorch.so"
    torch.write_bytes(b"torch 1")
    for expected in (1, 0):
        cache, compute = open_cache(tmp_path), Counter(["missing"])
        cache.remember("missing", [library, torch], compute)
        cache.save()
        assert compute.runs == expected
    torch.write_bytes(b"torch 22")
    cache, compute = open_cache(tmp_path), Counter([])
    assert cache.remember("missing", [library, torch], compute) == []


def test_a_file_written_just_now_is_not_kept(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    assert remember(tmp_path, library, 1) == (1, 1)
    assert remember(tmp_path, library, 2) == (2, 1)


def test_a_file_that_changes_meanwhile_is_not_kept(tmp_path: Path, library: Path) -> None:
    def rewrite() -> str:
        library.write_bytes(b"changed while it was read")
        return "old"

    cache = open_cache(tmp_path)
    assert cache.remember("headers", [library], rewrite) == "old"
    assert cache.remember("headers", [library], Counter("new")) == "new"


def test_what_computing_raises_is_not_kept(tmp_path: Path, library: Path) -> None:
    def fail() -> None:
        raise LookupError("damaged")

    cache = open_cache(tmp_path)
    with pytest.raises(LookupError):
        cache.remember("headers", [library], fail)
    assert remember(tmp_path, library, 3) == (3, 1)


def test_a_file_that_is_gone_is_computed(tmp_path: Path) -> None:
    assert remember(tmp_path, tmp_path / "gone.so", 1) == (1, 1)
    assert remember(tmp_path, tmp_path / "gone.so", 2) == (2, 1)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, library: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert remember(tmp_path / "file" / "cache", library, 1) == (1, 1)
    (tmp_path / "folder" / FILE_NAME).mkdir(parents=True)
    assert remember(tmp_path / "folder", library, 1) == (1, 1)
    os.mkfifo(tmp_path / FILE_NAME)
    assert remember(tmp_path, library, 1) == (1, 1)


def test_nothing_is_left_beside_the_cache(tmp_path: Path, library: Path) -> None:
    remember(tmp_path / "cache", library, 1)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [FILE_NAME]


def test_old_entries_make_room(tmp_path: Path, library: Path) -> None:
    cache = open_cache(tmp_path)
    for number in range(600):
        cache.remember(f"label {number}", [library], Counter(number))
    cache.save()
    kept = open_cache(tmp_path)
    compute = Counter("again")
    assert kept.remember("label 599", [library], compute) == 599
    assert kept.remember("label 0", [library], compute) == "again"


def test_a_changed_value_is_not_believed(tmp_path: Path, library: Path) -> None:
    remember(tmp_path, library, ["sm_90"])
    path = tmp_path / FILE_NAME
    path.write_text(path.read_text().replace("sm_90", "sm_10"))
    assert remember(tmp_path, library, ["sm_90"]) == (["sm_90"], 1)


@pytest.mark.parametrize("field", ["format", "tool"])
def test_a_cache_of_another_version_is_dropped(tmp_path: Path, library: Path, field: str) -> None:
    remember(tmp_path, library, 1)
    body = json.loads((tmp_path / FILE_NAME).read_text())
    (tmp_path / FILE_NAME).write_text(json.dumps(body | {field: "0.0"}))
    assert remember(tmp_path, library, 2) == (2, 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=1000)
@given(damage=st.one_of(st.binary(max_size=200), st.integers(0, 400)), seed=st.binary(max_size=3))
def test_a_damaged_cache_is_never_an_error(
    tmp_path: Path, library: Path, damage: bytes | int, seed: bytes
) -> None:
    remember(tmp_path, library, ["sm_90"])
    path = tmp_path / FILE_NAME
    if isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        data = path.read_bytes()
        path.write_bytes(data[:damage] + seed + data[damage + len(seed) + 1 :])
    assert remember(tmp_path, library, ["sm_90"])[0] == ["sm_90"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=1000)
@given(value=json_values)
def test_an_entry_of_any_shape_is_never_an_error(tmp_path: Path, library: Path, value: Any) -> None:
    cache = open_cache(tmp_path)
    cache._entries[f"headers\0{library}"] = value
    assert cache.remember("headers", [library], Counter(5)) == 5


def test_deep_nesting_is_no_error() -> None:
    assert parse_entries("[" * 100_000) == {}


def test_many_writers_leave_one_whole_file(tmp_path: Path, library: Path) -> None:
    threads = [
        threading.Thread(target=remember, args=(tmp_path, library, "x" * 5000, f"label {number}"))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert parse_entries((tmp_path / FILE_NAME).read_text())


@pytest.mark.parametrize(
    ("environ", "platform", "folder"),
    [
        ({"XDG_CACHE_HOME": "/var/cache/me"}, "linux", Path("/var/cache/me/flashdoctor")),
        ({"XDG_CACHE_HOME": "relative"}, "linux", Path.home() / ".cache/flashdoctor"),
        ({}, "linux", Path.home() / ".cache/flashdoctor"),
        ({}, "darwin", Path.home() / "Library/Caches/flashdoctor"),
        ({"LOCALAPPDATA": "/c/local"}, "win32", Path("/c/local/flashdoctor")),
    ],
)
def test_the_users_cache_folder(environ: dict[str, str], platform: str, folder: Path) -> None:
    assert default_folder(environ, platform) == folder
