from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flashdoctor.probes.cache as cache_module
from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact, by_path
from flashdoctor.probes.extension import audit, highest_version, parse_python_tag

NAME = "flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so"

TORCH = """
#include <string>
namespace c10 {
struct SourceLocation { const char *function, *file; unsigned line; };
struct Error { Error(SourceLocation, std::string); };
namespace cuda { int device_count(); }
}
namespace at { struct Tensor { Tensor transpose(int, int) const; void added_later(); }; }
"""
C10 = TORCH + "c10::Error::Error(SourceLocation, std::string) {}"
CPU = TORCH + "at::Tensor at::Tensor::transpose(int, int) const { return *this; }"

EXTENSION = (
    TORCH
    + """
extern "C" void *PyInit_flash_attn_2_cuda() {
  at::Tensor tensor;
  tensor.transpose(0, 1);
  throw c10::Error({"f", "f.cpp", 1}, "a message");
}
"""
)
LATER = "void later(at::Tensor t) { t.added_later(); c10::cuda::device_count(); }"
WEAK = """
namespace at { void __attribute__((weak)) perhaps(); }
void weakly() { if (at::perhaps) at::perhaps(); }
"""


def abi_flag(abi: bool) -> str:
    return f"-D_GLIBCXX_USE_CXX11_ABI={int(abi)}"


@pytest.fixture(scope="module")
def install(compile_library: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Lay out a torch of one C++ ABI and hash style, once each."""
    made: dict[tuple[bool, str], Path] = {}

    def build(*, abi: bool = True, hash_style: str = "gnu") -> Path:
        if (abi, hash_style) not in made:
            lib = tmp_path_factory.mktemp("torch") / "lib/python3.10/site-packages/torch/lib"
            flags = (abi_flag(abi), f"-Wl,--hash-style={hash_style}", "-Wl,-rpath,$ORIGIN")
            core = compile_library(lib / "libc10.so", C10, *flags, language="c++")
            cpu = compile_library(
                lib / "libtorch_cpu.so", CPU, *flags, needs=[core], language="c++"
            )
            compile_library(lib / "libtorch_python.so", needs=[core, cpu])
            made[abi, hash_style] = lib
        return made[abi, hash_style]

    return build


@pytest.fixture(scope="module")
def extension(install: Any, compile_library: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Compile an extension of one C++ ABI against a torch of that ABI, once each."""
    made: dict[tuple[bool, str], Path] = {}

    def build(*, abi: bool = True, more: str = "") -> Path:
        if (abi, more) not in made:
            lib = install(abi=abi)
            made[abi, more] = compile_library(
                tmp_path_factory.mktemp("extension") / NAME,
                EXTENSION + more,
                abi_flag(abi),
                needs=[lib / "libc10.so", lib / "libtorch_cpu.so"],
                language="c++",
            )
        return made[abi, more]

    return build


def facts_of(
    extension: Path | None, lib: Path | None, cache: Path | None = None, prefix: str = "flash_attn"
) -> Mapping[str, Fact]:
    files = {
        "torch_lib": str(lib) if lib else None,
        "extensions": {prefix: str(extension)} if extension else {},
    }
    return by_path(audit(files, cache))


@pytest.mark.parametrize("hash_style", ["gnu", "sysv", "both"])
def test_an_extension_that_fits_its_torch(install: Any, extension: Any, hash_style: str) -> None:
    facts = facts_of(extension(), install(hash_style=hash_style))
    assert facts["flash_attn.missing_symbols"].value == []
    assert facts["flash_attn.abi_by_symbols"].value is True
    assert facts["torch.cxx11_abi"].value is True


def test_what_its_headers_say(install: Any, extension: Any) -> None:
    facts = facts_of(extension(), install())
    assert facts["flash_attn.extension"].value == str(extension())
    assert facts["flash_attn.extension_machine"].value == os.uname().machine
    assert facts["flash_attn.extension_python"].value == "cp310"
    assert facts["flash_attn.extension_needed"].value[:2] == ["libc10.so", "libtorch_cpu.so"]
    assert facts["flash_attn.extension_glibcxx"].value.startswith("3.4")
    assert facts["flash_attn.extension_glibc"].value.startswith("2.")
    assert facts["flash_attn.sass"].value == facts["flash_attn.ptx"].value == []


@pytest.mark.parametrize("abi", [False, True])
@pytest.mark.parametrize("hash_style", ["gnu", "sysv"])
def test_the_other_abi_lacks_the_exception(
    install: Any, extension: Any, abi: bool, hash_style: str
) -> None:
    facts = facts_of(extension(abi=abi), install(abi=not abi, hash_style=hash_style))
    assert facts["flash_attn.abi_by_symbols"].value is abi
    assert facts["torch.cxx11_abi"].value is not abi
    (symbol,) = facts["flash_attn.missing_symbols"].value
    assert symbol.startswith("_ZN3c105ErrorC")
    assert symbol.endswith("Ss") is not abi


def test_a_later_torch_had_more_symbols(install: Any, extension: Any) -> None:
    facts = facts_of(extension(more=LATER), install())
    assert facts["flash_attn.missing_symbols"].value == [
        "_ZN2at6Tensor11added_laterEv",
        "_ZN3c104cuda12device_countEv",
    ]


def test_a_weak_symbol_may_be_missing(install: Any, extension: Any) -> None:
    assert facts_of(extension(more=WEAK), install())["flash_attn.missing_symbols"].value == []


def test_a_private_library_may_define_it(
    install: Any, compile_library: Any, tmp_path: Path
) -> None:
    lib = install()
    private = compile_library(
        tmp_path / "libs/libprivate.so",
        TORCH + "void at::Tensor::added_later() {}",
        language="c++",
    )
    path = compile_library(
        tmp_path / "_C.abi3.so",
        TORCH + LATER.replace("c10::cuda::device_count();", ""),
        "-Wl,-rpath,$ORIGIN/libs",
        needs=[lib / "libc10.so", private],
        language="c++",
    )
    fact = facts_of(path, lib)["flash_attn.missing_symbols"]
    assert (fact.state, fact.value) == ("known", [])
    private.unlink()
    fact = facts_of(path, lib)["flash_attn.missing_symbols"]
    assert fact.state == "unknown"
    assert "libprivate.so" in fact.reason


def test_a_torch_without_cuda_lacks_its_libraries_symbols(
    install: Any, compile_library: Any, tmp_path: Path
) -> None:
    lib = install()
    cuda = compile_library(
        tmp_path / "elsewhere/libc10_cuda.so",
        TORCH + "int c10::cuda::device_count() { return 1; }",
        language="c++",
    )
    path = compile_library(tmp_path / NAME, TORCH + LATER, needs=[cuda], language="c++")
    missing = facts_of(path, lib)["flash_attn.missing_symbols"]
    assert "_ZN3c104cuda12device_countEv" in missing.value


def test_an_extension_that_is_not_there_is_absent(install: Any, tmp_path: Path) -> None:
    for path in (None, tmp_path / "gone.so"):
        facts = facts_of(path, install())
        ours = [fact for name, fact in facts.items() if name.startswith("flash_attn.")]
        assert {fact.state for fact in ours} == {"absent"}
        assert {f"flash_attn.{name}" for name in ("extension", "sass", "missing_symbols")} <= set(
            facts
        )


def test_every_extension_fact_of_the_catalogue_is_stated(install: Any, extension: Any) -> None:
    for prefix in ("flash_attn", "flash_attn_3", "vllm", "vllm.fa2", "vllm.fa3", "xformers"):
        facts = facts_of(extension(), install(), prefix=prefix)
        assert facts[f"{prefix}.extension"].is_known
        assert facts[f"{prefix}.missing_symbols"].value == []
    stated = set(facts) - {"torch.cxx11_abi", "torch.library_missing"}
    suffixes = ("sass", "ptx", "missing_symbols", "abi_by_symbols")
    listed = {
        path
        for path in FACTS
        if path.rpartition(".")[2].startswith("extension") or path.endswith(suffixes)
    } - {"flash_attn.extension_present"}
    assert stated == listed


@pytest.mark.parametrize(
    "files", [{}, {"torch_lib": None}, {"extensions": None}, {"torch_lib": "a\0b"}]
)
def test_without_an_agents_report_nothing_is_said(files: dict[str, Any]) -> None:
    assert audit(files, None) == []


def test_without_torch_its_symbols_are_unknown(extension: Any, tmp_path: Path) -> None:
    for lib in (None, tmp_path / "torch/lib"):
        facts = facts_of(extension(), lib)
        assert facts["flash_attn.missing_symbols"].state == "unknown"
        assert "not found" in facts["flash_attn.missing_symbols"].reason
        assert facts["flash_attn.abi_by_symbols"].value is True


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("flash_attn_2_cuda.cp310-win_amd64.pyd", b"MZ" + bytes(300), "Windows"),
        (NAME, b"", "not an ELF file"),
        (NAME, b"version https://git-lfs.github.com/spec/v1", "not an ELF file"),
        (NAME, b"\x7fELF\x01\x01\x01" + bytes(300), "64-bit"),
    ],
)
def test_a_file_of_another_kind_is_unknown_with_its_reason(
    install: Any, tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    facts = facts_of(path, install())
    assert facts["flash_attn.extension_python"].value == "cp310"
    for fact in ("extension_machine", "extension_needed", "sass", "missing_symbols"):
        assert facts[f"flash_attn.{fact}"].state == "unknown"
        assert why in facts[f"flash_attn.{fact}"].reason


def test_a_file_that_may_not_be_read_is_unknown(
    install: Any, extension: Any, tmp_path: Path
) -> None:
    path = tmp_path / NAME
    path.write_bytes(extension().read_bytes())
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert facts_of(path, install())["flash_attn.sass"].reason == "Permission denied"


def with_fatbin(library: Path, path: Path, compile_library: Any, data: bytes) -> Path:
    """Compile an extension whose .nv_fatbin section holds `data`."""
    numbers = ",".join(map(str, data))
    place = '__attribute__((section(".nv_fatbin"), used))'
    source = f"{place} static const unsigned char data[] = {{{numbers}}};"
    built: Path = compile_library(path, source, needs=[library])
    return built


def fatbin(target: int, flags: int, kind: int = 2) -> bytes:
    entry = struct.pack("<HHIQ", kind, 0x101, 64, 8)
    entry += struct.pack("<IIHHIIIQQQ", 0, 0, 8, 1, target, 0, 0, flags, 0, 0) + b"\x7fELF" * 2
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry


def test_targets_stand_in_the_section(install: Any, compile_library: Any, tmp_path: Path) -> None:
    core = install() / "libc10.so"
    data = fatbin(80, 0x11) + fatbin(90, 0x100011) + fatbin(120, 0x11, kind=1)
    facts = facts_of(with_fatbin(core, tmp_path / NAME, compile_library, data), install())
    assert facts["flash_attn.sass"].value == ["sm_80", "sm_90a"]
    assert facts["flash_attn.ptx"].value == ["compute_120"]
    damaged = with_fatbin(core, tmp_path / "b.so", compile_library, data[:-9])
    facts = facts_of(damaged, install())
    assert facts["flash_attn.sass"].state == facts["flash_attn.ptx"].state == "unknown"
    assert "cut short" in facts["flash_attn.sass"].reason
    assert facts["flash_attn.extension_machine"].is_known


def test_the_cache_changes_no_fact(
    install: Any, extension: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_SETTLED_NS", -1)
    first = facts_of(extension(more=LATER), install(), tmp_path)
    assert (tmp_path / cache_module.FILE_NAME).is_file()
    assert facts_of(extension(more=LATER), install(), tmp_path) == first
    assert facts_of(extension(more=LATER), install(), None) == first


def test_a_cached_run_never_loads_pyelftools(install: Any, extension: Any, tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
import flashdoctor.probes.cache as cache
from flashdoctor.probes.extension import audit
cache._SETTLED_NS = -1
files = {"torch_lib": sys.argv[1], "extensions": {"flash_attn": sys.argv[2]}}
facts = audit(files, Path(sys.argv[3]))
print(len(facts), "elftools" in sys.modules)
"""
    paths = map(str, (install(), extension(), tmp_path))
    command = [sys.executable, "-c", code, *paths]
    folder = Path(cache_module.__file__).parents[2]
    first, second = (
        subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60)
        for _ in range(2)
    )
    assert first.stdout.split()[1] == "True"
    assert second.stdout.split() == [first.stdout.split()[0], "False"]


def test_the_cache_does_not_survive_another_torch(
    install: Any, extension: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_SETTLED_NS", -1)
    lib = tmp_path / "site-packages/torch/lib"
    lib.mkdir(parents=True)
    for abi, count in ((True, 0), (False, 1), (True, 0)):
        for source in install(abi=abi).iterdir():
            (lib / source.name).write_bytes(source.read_bytes())
        facts = facts_of(extension(abi=True), lib, tmp_path)
        assert len(facts["flash_attn.missing_symbols"].value) == count
        assert facts["torch.cxx11_abi"].value is abi


@settings(
    max_examples=40, deadline=3000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    damage=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), max_size=4),
    keep=st.floats(0, 1),
)
def test_a_damaged_extension_is_never_an_exception(
    install: Any,
    extension: Any,
    tmp_path: Path,
    damage: list[tuple[float, bytes]],
    keep: float,
) -> None:
    data = bytearray(extension().read_bytes())
    for place, junk in damage:
        at = int(place * (len(data) - 8))
        data[at : at + len(junk)] = junk
    path = tmp_path / NAME
    path.write_bytes(data if keep > 0.5 else data[: int(2 * keep * len(data))])
    started = time.monotonic()
    facts = facts_of(path, install())
    assert time.monotonic() - started < 3
    assert facts["flash_attn.missing_symbols"].state in {"known", "unknown"}


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so", "cp310"),
        ("flash_attn_2_cuda.cpython-313t-x86_64-linux-gnu.so", "cp313t"),
        ("flash_attn_2_cuda.cpython-39-aarch64-linux-gnu.so", "cp39"),
        ("_C.abi3.so", "abi3"),
        ("flash_attn_2_cuda.cp311-win_amd64.pyd", "cp311"),
        ("_C.so", None),
        ("abi3.so", None),
        ("", None),
    ],
)
def test_the_python_tag_of_a_file_name(name: str, tag: str | None) -> None:
    assert parse_python_tag(name) == tag


@pytest.mark.parametrize(
    ("names", "highest"),
    [
        (["GLIBC_2.9", "GLIBC_2.34", "GLIBC_2.3.4"], "2.34"),
        (["GLIBCXX_3.4.29", "GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "GCC_3.0"], None),
        ([], None),
    ],
)
def test_the_highest_version_is_by_numbers(names: list[str], highest: str | None) -> None:
    assert highest_version(names, "GLIBC") == highest


@given(st.lists(st.text(max_size=30)), st.text(max_size=40))
def test_names_of_any_kind_are_read(names: list[str], file: str) -> None:
    highest = highest_version([f"GLIBC_{name}" for name in names] + ["GLIBC_0.1"], "GLIBC")
    assert highest is not None
    assert re.fullmatch(r"\d+(\.\d+)*", highest)
    assert parse_python_tag(f"{file}.abi3.so") is not None
