from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.probes.ld_cache import Entry, parse_ld_cache

LDCONFIG = shutil.which("ldconfig", path="/sbin:/usr/sbin")
X86_64 = 0x0303
I386 = 0x0003
SONAME = "libcuda.so.1"

Rows = list[tuple[int, str, str]]


def pack_strings(rows: Rows) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the strings, and where each row's name and path start among them."""
    block, places = b"", []
    for _, name, path in rows:
        place = len(block)
        block += f"{path}\0{name}\0".encode("utf-8", "surrogateescape")
        places.append((place + len(path.encode("utf-8", "surrogateescape")) + 1, place))
    return block, places


def pack_new(rows: Rows, order: str = "<") -> bytes:
    strings, places = pack_strings(rows)
    base = 48 + 24 * len(rows)
    flag = b"\x03" if order == ">" else b"\x02"
    head = b"glibc-ld.so.cache1.1" + struct.pack(f"{order}II", len(rows), len(strings))
    head += flag + bytes(19)
    table = b"".join(
        struct.pack(f"{order}iIIIQ", flags, base + key, base + value, 0, 0)
        for (flags, _, _), (key, value) in zip(rows, places, strict=True)
    )
    return head + table + strings


def pack_old(rows: Rows) -> bytes:
    strings, places = pack_strings(rows)
    head = b"ld.so-1.7.0\0" + struct.pack("<I", len(rows))
    table = b"".join(
        struct.pack("<iII", flags, key, value)
        for (flags, _, _), (key, value) in zip(rows, places, strict=True)
    )
    return head + table + strings


def pack_both(rows: Rows) -> bytes:
    old = b"ld.so-1.7.0\0" + struct.pack("<I", len(rows)) + bytes(12 * len(rows))
    return old + bytes(-len(old) % 8) + pack_new(rows)


ROWS: Rows = [
    (X86_64, SONAME, "/usr/local/cuda/compat/libcuda.so.1"),
    (X86_64, "libcuda.so.12", "/opt/libcuda.so.12"),
    (I386, SONAME, "/usr/lib32/libcuda.so.1"),
    (X86_64, SONAME, "/lib/x86_64-linux-gnu/libcuda.so.1"),
    (X86_64, "libz.so.1", "/lib/libz.so.1"),
]


@pytest.mark.parametrize(
    "data", [pack_new(ROWS), pack_new(ROWS, ">"), pack_old(ROWS), pack_both(ROWS)]
)
def test_every_format_gives_the_entries_in_order(data: bytes) -> None:
    assert parse_ld_cache(data, SONAME) == [
        Entry(X86_64, "/usr/local/cuda/compat/libcuda.so.1"),
        Entry(I386, "/usr/lib32/libcuda.so.1"),
        Entry(X86_64, "/lib/x86_64-linux-gnu/libcuda.so.1"),
    ]
    assert parse_ld_cache(data, "libcuda.so") == []


def test_a_name_may_be_the_end_of_a_path() -> None:
    path = b"/lib/libcuda.so.1\0"
    base = 48 + 24
    data = b"glibc-ld.so.cache1.1" + struct.pack("<II", 1, len(path)) + bytes(20)
    data += struct.pack("<iIIIQ", X86_64, base + 5, base, 0, 0) + path
    assert parse_ld_cache(data, SONAME) == [Entry(X86_64, "/lib/libcuda.so.1")]


@pytest.mark.skipif(LDCONFIG is None, reason="ldconfig is not here")
@pytest.mark.parametrize("style", ["new", "old", "compat"])
def test_what_ldconfig_writes_is_read(
    style: str, tmp_path: Path, compile_library: Callable[..., Path]
) -> None:
    library = compile_library(tmp_path / "lib" / "libcuda.so.550.54.15", soname=SONAME)
    (tmp_path / "conf").write_text(f"{library.parent}\n")
    args = ["-X", "-f", tmp_path / "conf", "-C", tmp_path / "cache", "-c", style]
    subprocess.run([str(LDCONFIG), *map(str, args)], check=True, timeout=60, capture_output=True)
    entries = parse_ld_cache((tmp_path / "cache").read_bytes(), SONAME)
    assert library.with_name(SONAME).as_posix() in [entry.path for entry in entries]


@pytest.mark.skipif(LDCONFIG is None, reason="ldconfig is not here")
def test_this_systems_cache_reads_as_ldconfig_prints_it() -> None:
    cache = Path("/etc/ld.so.cache")
    if not cache.is_file():
        pytest.skip("this system has no loader cache")
    printed = subprocess.run(
        [str(LDCONFIG), "-p"], check=True, timeout=60, capture_output=True, text=True
    )
    lines = [line.split(" => ") for line in printed.stdout.splitlines() if " => " in line]
    data = cache.read_bytes()
    for soname in sorted({left.split()[0] for left, _ in lines})[:40]:
        expected = [path for left, path in lines if left.split()[0] == soname]
        assert [entry.path for entry in parse_ld_cache(data, soname)] == expected


TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=20)
RANDOM_ROWS = st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), TEXT, TEXT), max_size=6)


@given(RANDOM_ROWS, st.sampled_from([pack_new, pack_old, pack_both]))
def test_any_entries_come_back(rows: Rows, pack: Callable[[Rows], bytes]) -> None:
    for _, soname, _ in rows:
        expected = [Entry(flags, path) for flags, name, path in rows if name == soname]
        assert parse_ld_cache(pack(rows), soname) == expected


MAGICS = st.sampled_from([b"", b"ld.so-1.7.0", b"ld.so-1.7.0\0", b"glibc-ld.so.cache1.1"])


@given(MAGICS, st.binary(max_size=200), st.text(max_size=8))
def test_nonsense_is_no_error(magic: bytes, rest: bytes, soname: str) -> None:
    for entry in parse_ld_cache(magic + rest, soname):
        assert isinstance(entry.path, str)


@given(
    st.sampled_from([pack_new(ROWS), pack_old(ROWS), pack_both(ROWS)]),
    st.data(),
)
def test_a_damaged_cache_is_no_error(data: bytes, draw: st.DataObject) -> None:
    cut = draw.draw(st.integers(0, len(data)))
    place = draw.draw(st.integers(0, len(data) - 1))
    damaged = bytearray(data)
    damaged[place] ^= draw.draw(st.integers(1, 255))
    for broken in (data[:cut], bytes(damaged)):
        assert len(parse_ld_cache(broken, SONAME)) <= len(ROWS) + 1
