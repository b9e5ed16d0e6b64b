from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.probes.elf import Region, open_elf
from flashdoctor.probes.fatbin import (
    OBJECTS,
    PROGRAMS,
    FatbinError,
    Targets,
    parse_targets,
    search_targets,
)

MAGIC = 0xBA55ED50
PTX, CUBIN, LTO = 1, 2, 8
PLAIN, ARCHITECTURE, FAMILY = 0x11, 0x100011, 0x200011

KERNEL = """
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
extern "C" void go(float *x) { twice<<<1, 32>>>(x); }
"""


def entry(kind: int, target: int, flags: int = PLAIN, payload: bytes = b"\x7fELF" * 4) -> bytes:
    """Lay out one entry as nvcc 13.0 does: 64 bytes of header, then the payload."""
    head = struct.pack("<HHIQ", kind, 0x101, 64, len(payload))
    return head + struct.pack("<IIHHIIIQQQ", 0, 0, 8, 1, target, 0, 0, flags, 0, 0) + payload


def fatbin(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", MAGIC, 1, 16, len(body)) + body


def parse(data: bytes) -> Targets:
    return parse_targets(data, {PROGRAMS: Region(0, len(data))})


def test_targets_are_sorted_and_said_once() -> None:
    data = fatbin(entry(CUBIN, 90), entry(PTX, 120)) + fatbin(entry(CUBIN, 80), entry(CUBIN, 90))
    assert parse(data) == Targets(sass=("sm_80", "sm_90"), ptx=("compute_120",))


@pytest.mark.parametrize(
    ("flags", "name"), [(PLAIN, "sm_100"), (ARCHITECTURE, "sm_100a"), (FAMILY, "sm_100f")]
)
def test_flags_name_specific_targets(flags: int, name: str) -> None:
    # 0x8000 and 0x2000 mark compressed payloads, 0x1000000 stands on Blackwell's cubins.
    data = fatbin(entry(CUBIN, 100, flags | 0x1008000), entry(PTX, 90, ARCHITECTURE | 0x2000))
    assert parse(data) == Targets(sass=(name,), ptx=("compute_90a",))


def test_intermediate_code_for_link_time_is_no_target() -> None:
    assert parse(fatbin(entry(LTO, 90), entry(CUBIN, 80))).sass == ("sm_80",)


def test_padding_and_empty_binaries_are_stepped_over() -> None:
    data = fatbin() + bytes(8) + fatbin(entry(CUBIN, 75)) + bytes(24)
    assert parse(data) == Targets(sass=("sm_75",), ptx=())


def test_only_the_section_is_read() -> None:
    first, second = fatbin(entry(CUBIN, 75)), fatbin(entry(CUBIN, 86))
    section = Region(len(first), len(second))
    assert parse_targets(first + second, {PROGRAMS: section}).sass == ("sm_86",)


def test_without_a_section_the_file_is_searched() -> None:
    data = b"code" + fatbin(entry(CUBIN, 75))
    assert parse_targets(data, {".text": Region(0, 4)}).sass == ("sm_75",)
    assert parse_targets(b"code", {}) == Targets(sass=(), ptx=())


def test_of_objects_only_the_ptx_counts() -> None:
    # A library of -rdc=true and PTX alone holds NVIDIA's device runtime for every GPU, and ran on
    # an H200 by its PTX; the one without PTX did not run.
    programs, objects = fatbin(), fatbin(entry(CUBIN, 90), entry(PTX, 80))
    sections = {
        PROGRAMS: Region(0, len(programs)),
        OBJECTS: Region(len(programs), len(objects)),
    }
    assert parse_targets(programs + objects, sections) == Targets(sass=(), ptx=("compute_80",))


def test_a_magic_number_inside_a_payload_is_payload() -> None:
    inner = fatbin(entry(CUBIN, 70))
    data = fatbin(entry(CUBIN, 90, payload=inner))
    assert parse(data).sass == ("sm_90",)
    assert search_targets(data).sass == ("sm_90",)


@pytest.mark.parametrize(
    "damaged",
    [
        fatbin(entry(CUBIN, 90))[:-1],
        fatbin(entry(CUBIN, 90))[:12],
        fatbin(entry(CUBIN, 90)[:40]),
        fatbin(entry(CUBIN, 0)),
        fatbin(entry(CUBIN, 70000)),
        struct.pack("<IHHQ", MAGIC, 2, 16, 0),
        struct.pack("<IHHQ", MAGIC, 1, 4, 0),
        struct.pack("<IHHQ", MAGIC, 1, 16, 1 << 63),
        fatbin(struct.pack("<HHIQ", CUBIN, 0x101, 0, 0) + bytes(64)),
    ],
)
def test_a_damaged_binary_is_an_error_never_a_shorter_list(damaged: bytes) -> None:
    with pytest.raises(FatbinError):
        parse(fatbin(entry(CUBIN, 80)) + damaged)


def test_a_search_passes_over_code_that_holds_the_magic_number() -> None:
    code = b"\x81\x3f" + struct.pack("<I", MAGIC) + b"\x75\x10" * 9
    assert search_targets(code + fatbin(entry(CUBIN, 90)) + code).sass == ("sm_90",)
    assert search_targets(code) == Targets(sass=(), ptx=())


@settings(max_examples=300, deadline=1000)
@given(
    damage=st.lists(st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=8)), max_size=5),
    size=st.integers(0, 400),
)
def test_damage_never_raises_anything_else(damage: list[tuple[int, bytes]], size: int) -> None:
    data = bytearray(fatbin(entry(CUBIN, 80), entry(PTX, 90)) * 2)
    for at, junk in damage:
        data[at : at + len(junk)] = junk
    names = re.compile(r"sm_\d{2,3}[af]?")
    assert all(map(names.fullmatch, search_targets(bytes(data[:size])).sass))
    try:
        assert all(map(names.fullmatch, parse(bytes(data[:size])).sass))
    except FatbinError as error:
        assert error.message  # noqa: PT017 - either outcome is right, nothing else is


def nvcc_codes() -> set[str]:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("needs nvcc to compile a kernel")
    done = subprocess.run(
        [nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


@pytest.fixture(scope="module", params=["default", "compress-all", "no-compress", "rdc"])
def kernel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a kernel for Hopper's own features, a Blackwell family and PTX, in every packing."""
    if not {"sm_80", "sm_103"} <= nvcc_codes():  # sm_103 came with the families, in CUDA 12.9
        pytest.skip("needs an nvcc that compiles for sm_80 and for sm_100f")
    packing = {
        "default": [],
        "compress-all": ["-Xfatbin", "-compress-all"],
        "no-compress": ["-no-compress"],
        "rdc": ["-rdc=true"],
    }[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "kernel.cu").write_text(KERNEL)
    targets = [("80", "sm_80"), ("90a", "sm_90a"), ("100f", "sm_100f"), ("120", "compute_120")]
    codes = [f"-gencode=arch=compute_{arch},code={code}" for arch, code in targets]
    command = ["nvcc", "-shared", "-Xcompiler", "-fPIC", *codes, *packing, "kernel.cu"]
    subprocess.run([*command, "-o", "kernel.so"], cwd=folder, check=True, timeout=300)
    return folder / "kernel.so"


def test_reads_what_nvcc_embeds(kernel: Path) -> None:
    expected = Targets(sass=("sm_80", "sm_90a", "sm_100f"), ptx=("compute_120",))
    with open_elf(kernel) as elf:
        assert parse_targets(elf.data, elf.sections) == expected
        assert search_targets(elf.data) == expected


def test_agrees_with_cuobjdump(kernel: Path) -> None:
    cuobjdump = shutil.which("cuobjdump")
    if cuobjdump is None:
        pytest.skip("needs cuobjdump to compare with")
    done = subprocess.run(
        [cuobjdump, "--list-elf", "--list-ptx", "-all", str(kernel)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    listed: Any = re.findall(r"\.(sm_\d+[af]?)\.(cubin|ptx)", done.stdout)
    with open_elf(kernel) as elf:
        found = search_targets(elf.data)
    # cuobjdump names the cubins of a family without its `f`.
    assert {name.rstrip("f") for name in found.sass} == {
        name.rstrip("f") for name, kind in listed if kind == "cubin"
    }
    assert {name.replace("compute", "sm") for name in found.ptx} == {
        name for name, kind in listed if kind == "ptx"
    }
