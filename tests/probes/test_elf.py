from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashdoctor.probes.elf import ElfError, Region, open_elf, parse_elf

HASH_STYLES = ("gnu", "sysv", "both")

SOURCE = """
#include <stdio.h>
int wanted(void); extern int wanted_data; int maybe(void) __attribute__((weak));
int answer = 42; static int hidden(void) { return 7; }
int ask(void) { printf("%d", hidden()); return wanted() + wanted_data + (maybe ? maybe() : 0); }
"""
MANY = "\n".join(f"int symbol_{number}(void) {{ return {number}; }}" for number in range(300))


@pytest.fixture(scope="module", params=HASH_STYLES)
def library(
    request: pytest.FixtureRequest, compile_library: Any, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    other = compile_library(folder / "libother.so.1", "int wanted(void) { return 1; }")
    path: Path = compile_library(
        folder / "libasks.so",
        SOURCE + MANY,
        f"-Wl,--hash-style={request.param}",
        "-Wl,-rpath,$ORIGIN/../nvidia/lib:/opt/lib",
        needs=[other],
    )
    return path


def test_reads_what_a_library_needs(library: Path) -> None:
    with open_elf(library) as elf:
        assert elf.machine == os.uname().machine
        assert elf.needed[:1] == ("libother.so.1",)
        assert elf.run_path == ("$ORIGIN/../nvidia/lib", "/opt/lib")
        assert any(name.startswith("GLIBC_2.") for name in elf.versions_needed())


def test_undefined_symbols_are_the_strong_ones(library: Path) -> None:
    with open_elf(library) as elf:
        undefined = set(elf.undefined())
    assert {"wanted", "wanted_data", "printf"} <= undefined
    assert undefined.isdisjoint({"maybe", "ask", "answer", "__gmon_start__", ""})


def test_exports_are_the_defined_ones(library: Path) -> None:
    with open_elf(library) as elf:
        assert all(elf.exports(f"symbol_{number}") for number in range(300))
        absent = ["wanted", "maybe", "hidden", "printf", "symbol_300", "symbol_", ""]
        assert not any(elf.exports(name) for name in absent)


def test_without_section_headers_the_segments_tell(library: Path) -> None:
    stripped = bytearray(library.read_bytes())
    struct.pack_into("<Q", stripped, 40, 0)
    struct.pack_into("<HHH", stripped, 58, 0, 0, 0)
    bare = parse_elf(bytes(stripped))
    with open_elf(library) as elf:
        assert set(bare.undefined()) == set(elf.undefined())
        assert (bare.needed, bare.run_path) == (elf.needed, elf.run_path)
    assert not bare.sections
    assert bare.exports("symbol_7")
    assert not bare.exports("wanted")
    with pytest.raises(ElfError, match="no section headers"):
        bare.versions_needed()


def readelf(option: str, library: Path) -> str:
    program = shutil.which("readelf")
    if program is None:
        pytest.skip("needs readelf of binutils to compare with")
    command = [program, "--wide", option, str(library)]
    done = subprocess.run(
        command, env={"LC_ALL": "C"}, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_agrees_with_readelf_on_names(library: Path) -> None:
    dynamic, versions = readelf("--dynamic", library), readelf("--version-info", library)
    with open_elf(library) as elf:
        assert list(elf.needed) == re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        assert ":".join(elf.run_path) in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", dynamic)
        assert sorted(elf.versions_needed()) == sorted(
            re.findall(r"Name: (\S+)\s+Flags: .*Version:", versions)
        )


def test_agrees_with_readelf_on_symbols(library: Path) -> None:
    rows = re.findall(
        r"^ *\d+: +\w+ +\w+ +\w+ +(\w+) +\w+ (?:\[.*\])? *(\w+) ([^\s@]+)",
        readelf("--dyn-syms", library),
        re.MULTILINE,
    )
    assert len(rows) > 300
    with open_elf(library) as elf:
        assert sorted(elf.undefined()) == sorted(
            name for bind, index, name in rows if index == "UND" and bind != "WEAK"
        )
        for _, index, name in rows:
            assert elf.exports(name) is (index != "UND")


def test_agrees_with_readelf_on_sections(library: Path) -> None:
    rows = re.findall(
        r"\] (\.\S+) +(\w+) +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", readelf("--sections", library)
    )
    expected = {
        name: Region(int(offset, 16), int(size, 16))
        for name, kind, offset, size in rows
        if kind != "NOBITS"
    }
    with open_elf(library) as elf:
        assert {name: region for name, region in elf.sections.items() if name} == expected


def test_a_library_that_exports_nothing_still_tells_what_it_wants(
    compile_library: Any, tmp_path: Path
) -> None:
    source = "int wanted(void); __attribute__((constructor)) static void on(void) { wanted(); }"
    path = compile_library(tmp_path / "silent.so", source, "-Wl,--hash-style=gnu")
    with open_elf(path) as elf:
        assert "wanted" in set(elf.undefined())
        assert not elf.exports("wanted")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not an ELF file"),
        (b"\x7fEL", "not an ELF file"),
        (b"MZ\x90\x00" + bytes(200), "a Windows file"),
        (b"\x7fELF\x01\x01\x01" + bytes(200), "not a 64-bit little-endian"),
        (b"\x7fELF\x02\x02\x01" + bytes(200), "not a 64-bit little-endian"),
        (b"\x7fELF\x02\x01\x01", "the file is damaged"),
        (b"version https://git-lfs.github.com/spec/v1\n", "not an ELF file"),
    ],
)
def test_what_is_no_library_says_why(data: bytes, why: str) -> None:
    with pytest.raises(ElfError, match=why):
        parse_elf(data)


def test_a_file_that_cannot_be_mapped_is_an_os_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.so")
    for path in (tmp_path, tmp_path / "pipe.so", tmp_path / "missing.so"):
        with pytest.raises(OSError, match="not a regular file"), open_elf(path):
            pass


def test_an_empty_file_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "empty.so").touch()
    with pytest.raises(ElfError), open_elf(tmp_path / "empty.so"):
        pass


def test_every_truncation_is_noticed(library: Path) -> None:
    data = library.read_bytes()
    for size in range(0, len(data), 97):
        with pytest.raises(ElfError):
            parse_elf(data[:size])


def test_a_chain_without_an_end_is_given_up(compile_library: Any, tmp_path: Path) -> None:
    path = compile_library(tmp_path / "libring.so", MANY, "-Wl,--hash-style=sysv")
    data = bytearray(path.read_bytes())
    with open_elf(path) as elf:
        start = elf.sections[".hash"].offset
    buckets, chains = struct.unpack_from("<II", data, start)
    for number in range(chains):  # every symbol is followed by itself
        struct.pack_into("<I", data, start + 8 + 4 * (buckets + number), number)
    started = time.monotonic()
    with pytest.raises(ElfError, match="damaged"):
        parse_elf(bytes(data)).exports("symbol_300")
    assert time.monotonic() - started < 20


def test_counts_beyond_the_file_are_given_up(library: Path) -> None:
    data = bytearray(library.read_bytes())
    with open_elf(library) as elf:
        tables = [elf.sections[name] for name in (".gnu.hash", ".hash") if name in elf.sections]
    for table in tables:
        struct.pack_into("<I", data, table.offset, 0xFFFFFFFF)
    with pytest.raises(ElfError, match="damaged"):
        parse_elf(bytes(data)).exports("symbol_7")


@settings(
    max_examples=150, deadline=10_000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(damage=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), max_size=6))
def test_damage_never_raises_anything_else(
    library: Path, damage: list[tuple[float, bytes]]
) -> None:
    data = bytearray(library.read_bytes())
    for place, junk in damage:
        # Half of the damage goes to the headers and tables, which stand in the first pages.
        span = len(data) if place > 0.5 else 2048
        at = int(place * (span - 8))
        data[at : at + len(junk)] = junk
    try:
        elf = parse_elf(bytes(data))
        found = [*elf.needed, *elf.run_path, *elf.versions_needed(), *elf.undefined()]
        assert all(text.isascii() for text in found)
        assert elf.exports("symbol_7") in {True, False}
    except ElfError as error:
        assert error.message  # noqa: PT017 - either outcome is right, nothing else is


@settings(max_examples=200, deadline=1000)
@given(st.binary(max_size=400))
def test_random_bytes_behind_the_magic_never_raise_anything_else(tail: bytes) -> None:
    try:
        elf = parse_elf(b"\x7fELF\x02\x01\x01" + tail)
        assert elf.needed == tuple(elf.needed)
    except ElfError as error:
        assert error.message  # noqa: PT017 - either outcome is right, nothing else is
