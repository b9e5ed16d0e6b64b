from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.probes.libstdcxx import parse_file_name, parse_glibcxx, read_libstdcxx

Lay = Callable[[Mapping[str, str | bytes]], Path]


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of Linux")
def test_the_compilers_own_runtime_has_what_a_program_asks_for(
    tmp_path: Path, compile_library: Callable[..., Path]
) -> None:
    source = "#include <string>\nstd::string f(const char *x) { return std::string(x) + x; }"
    library = compile_library(tmp_path / "libneeds.so", source, language="c++")
    needed = parse_glibcxx(library.read_bytes())
    (fact,) = read_libstdcxx(Path("/"), {"LD_LIBRARY_PATH": str(tmp_path)})
    assert needed is not None
    assert fact.state == "known"
    assert int(fact.value.split(".")[2]) >= int(needed.split(".")[2])
    assert fact.source.endswith("libstdc++.so.6")


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of Linux")
def test_what_cannot_be_told(lay: Lay, tmp_path: Path) -> None:
    assert read_libstdcxx(tmp_path, {})[0].state == "absent"
    root = lay({"/usr/lib64/libstdc++.so.6": b""})
    assert "cannot be read" in read_libstdcxx(root, {})[0].reason
    root = lay({"/usr/lib64/libstdc++.so.6": b"\x7fELF no names"})
    assert read_libstdcxx(root, {})[0].reason == "it names no GLIBCXX version"


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of Linux")
def test_the_files_name_says_it_as_well(lay: Lay) -> None:
    root = lay({"/usr/lib64/libstdc++.so.6.0.29": b"not looked at"})
    (root / "usr/lib64/libstdc++.so.6").symlink_to("libstdc++.so.6.0.29")
    assert read_libstdcxx(root, {})[0].value == "3.4.29"


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of Linux")
def test_name_and_symbols_of_this_machine_agree() -> None:
    (fact,) = read_libstdcxx(Path("/"), {})
    file = Path(fact.source).resolve()
    named = parse_file_name(file.name)
    assert named is None or named == parse_glibcxx(file.read_bytes())


@pytest.mark.parametrize("name", ["libstdc++.so.6", "libstdc++.so.6.0", "libstdc++.so.6.0.30.bak",
                                  "libstdc++.so.5.0.7", "libstdc++.so.6.1.2"])  # fmt: skip
def test_a_name_that_does_not_say_it(name: str) -> None:
    assert parse_file_name(name) is None


@given(st.lists(st.integers(0, 60), min_size=1), st.binary(max_size=20))
def test_the_highest_number_wins(numbers: list[int], noise: bytes) -> None:
    names = [f"GLIBCXX_3.4.{number}\0".encode() for number in numbers]
    data = noise.replace(b"GLIBCXX", b"") + b"\0" + b"x".join(names) + b"GLIBCXX_3.4.99x"
    assert parse_glibcxx(data) == f"3.4.{max(numbers)}"


@given(st.binary())
def test_any_bytes_are_read(data: bytes) -> None:
    assert parse_glibcxx(data) is None
