from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.probes.command import run
from flashdoctor.probes.library_search import (
    DEFAULT_FOLDERS,
    find_libraries,
    parse_fits,
    split_search_path,
)

Compile = Callable[..., Path]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the loader of Linux")
SONAME = "libthing.so.1"


@pytest.fixture
def library(tmp_path: Path, compile_library: Compile) -> Path:
    return compile_library(tmp_path / "built" / "libthing.so.1.2", soname=SONAME)


def put(library: Path, root: Path, folder: str, name: str = SONAME) -> Path:
    target = root / folder.lstrip("/") / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(library.read_bytes())
    return target


def test_the_variable_comes_before_the_default_folders(library: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(library, root, "/usr/lib64")
    put(library, root, "/opt/a")
    environ = {"LD_LIBRARY_PATH": "/nowhere:/opt/a/"}
    found = find_libraries(root, environ, SONAME)
    assert [(item.name, item.via) for item in found] == [
        ("/opt/a/libthing.so.1", "LD_LIBRARY_PATH"),
        ("/usr/lib64/libthing.so.1", "default folder"),
    ]
    assert [item.name for item in find_libraries(root, {}, SONAME)] == ["/usr/lib64/libthing.so.1"]


def test_two_names_of_one_file_count_once(library: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    real = put(library, root, "/usr/lib64", "libthing.so.1.2")
    real.with_name(SONAME).symlink_to(real.name)
    (root / "lib64").symlink_to("usr/lib64")
    (found,) = find_libraries(root, {}, SONAME)
    assert found.name == "/lib64/libthing.so.1"
    assert found.target == "/usr/lib64/libthing.so.1.2"


def test_a_library_for_another_machine_is_passed_over(library: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder, place, byte in (("/opt/a", 4, 1), ("/opt/b", 18, 0xF3)):
        other = put(library, root, folder)
        data = bytearray(other.read_bytes())
        data[place] = byte  # the ELF class; the machine
        other.write_bytes(data)
    put(library, root, "/usr/lib64")
    environ = {"LD_LIBRARY_PATH": "/opt/a:/opt/b"}
    assert [item.name for item in find_libraries(root, environ, SONAME)] == [
        "/usr/lib64/libthing.so.1"
    ]


def test_a_file_that_is_no_library_is_taken_as_the_loader_takes_it(
    library: Path, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    put(library, root, "/usr/lib64")
    empty = root / "opt" / SONAME
    empty.parent.mkdir(parents=True)
    empty.touch()
    found = find_libraries(root, {"LD_LIBRARY_PATH": "/opt"}, SONAME)
    assert found[0].name == "/opt/libthing.so.1"


def test_a_dangling_link_and_a_folder_are_not_there(library: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(library, root, "/usr/lib64")
    (root / "a").mkdir()
    (root / "a" / SONAME).symlink_to("gone")
    (root / "b" / SONAME).mkdir(parents=True)
    found = find_libraries(root, {"LD_LIBRARY_PATH": "/a:/b"}, SONAME)
    assert [item.name for item in found] == ["/usr/lib64/libthing.so.1"]


def write_cache(root: Path, names: list[tuple[int, str]]) -> None:
    """Write a loader cache whose entries are files of one soname; the key ends each path."""
    strings, rows = b"", b""
    base = 48 + 24 * len(names)
    for flags, name in names:
        start = base + len(strings)
        key = start + len(name) - len(SONAME)
        rows += struct.pack("<iIIIQ", flags, key, start, 0, 0)
        strings += name.encode() + b"\0"
    head = b"glibc-ld.so.cache1.1" + struct.pack("<II", len(names), len(strings)) + bytes(20)
    (root / "etc").mkdir(parents=True)
    (root / "etc/ld.so.cache").write_bytes(head + rows + strings)


OWN = {"x86_64": 0x0303, "aarch64": 0x0A03}.get(os.uname().machine if hasattr(os, "uname") else "")
OTHER = 0x0003


@pytest.mark.skipif(OWN is None, reason="cache flags of this machine are not known")
def test_the_cache_comes_before_the_default_folders(library: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder in ("/usr/lib64", "/opt/c", "/opt/d", "/opt/other"):
        put(library, root, folder)
    entries = [(OTHER, "/opt/other"), (OWN or 0, "/opt/c"), (OWN or 0, "/opt/d")]
    write_cache(root, [(flags, f"{folder}/{SONAME}") for flags, folder in entries])
    assert [(item.name, item.via) for item in find_libraries(root, {}, SONAME)] == [
        ("/opt/c/libthing.so.1", "ld.so.cache"),
        ("/opt/d/libthing.so.1", "ld.so.cache"),
        ("/usr/lib64/libthing.so.1", "default folder"),
    ]


@pytest.mark.skipif(OWN is None, reason="cache flags of this machine are not known")
def test_a_stale_first_entry_sends_the_loader_on(library: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder in ("/usr/lib64", "/opt/d"):
        put(library, root, folder)
    write_cache(root, [(OWN or 0, f"/opt/gone/{SONAME}"), (OWN or 0, f"/opt/d/{SONAME}")])
    assert [item.name for item in find_libraries(root, {}, SONAME)] == ["/usr/lib64/libthing.so.1"]


def test_the_real_loader_takes_the_same_file(library: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        put(library, Path("/"), str(folder))
    environ = {"LD_LIBRARY_PATH": f"{tmp_path}/none:{folders[0]}:{folders[1]}"}
    found = find_libraries(Path("/"), environ, SONAME)
    script = (
        "import ctypes; ctypes.CDLL('libthing.so.1');"
        "print([l.split()[-1] for l in open('/proc/self/maps') if 'libthing' in l][0])"
    )
    answer = run([sys.executable, "-c", script], timeout_s=20, env={**os.environ, **environ})
    assert answer.stdout.strip() == found[0].name


def test_nothing_is_found_on_other_systems(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(library, tmp_path, DEFAULT_FOLDERS[0])
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(os, "uname")
    assert find_libraries(tmp_path, {"LD_LIBRARY_PATH": "/x"}, SONAME) == []


@pytest.mark.parametrize(
    ("value", "folders"),
    [("", []), ("/a:/b", ["/a", "/b"]), ("/a;/b", ["/a", "/b"]), (":/a:", [".", "/a", "."])],
)
def test_a_search_path_is_split_as_the_loader_splits_it(value: str, folders: list[str]) -> None:
    assert split_search_path(value) == folders


@given(st.binary(max_size=32), st.sampled_from(["x86_64", "aarch64", "riscv64", ""]))
def test_any_head_is_judged(head: bytes, cpu: str) -> None:
    assert isinstance(parse_fits(head, cpu), bool)
    assert parse_fits(b"\x7fELF" + b"\x01" + head.ljust(20), cpu) is False
