from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.wheels import parse_wheel_name

FLASH = "flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"


def test_reads_every_part_of_a_flash_attn_wheel() -> None:
    wheel = parse_wheel_name(FLASH)
    assert wheel is not None
    assert (wheel.name, wheel.version) == ("flash-attn", "2.7.4.post1+cu12torch2.6cxx11abiFALSE")
    assert (wheel.cuda, wheel.torch, wheel.cxx11_abi) == ("12", "2.6", False)
    assert (wheel.python, wheel.abi, wheel.platform) == ("cp310", "cp310", "linux_x86_64")
    assert (wheel.build, wheel.glibc, wheel.file) == (None, None, FLASH)


@pytest.mark.parametrize(
    ("local", "expected"),
    [
        ("cu123torch2.4cxx11abiTRUE", ("12.3", "2.4", True)),
        ("cu118torch2.0cxx11abiFALSE", ("11.8", "2.0", False)),
        ("cu130torch2.9cxx11abiTRUE", ("13.0", "2.9", True)),
        ("cu13torch2.10cxx11abiTRUE", ("13", "2.10", True)),
        ("cu124torch2.6.0cxx11abiFALSE", ("12.4", "2.6", False)),
        ("cu12torch2.6cxx11abitrue", ("12", "2.6", True)),
        ("cu128torch2.8", ("12.8", "2.8", None)),
        ("cu12.8.torch2.8", ("12.8", "2.8", None)),
        ("pt2.7cu126", (None, "2.7", None)),
        ("cpu", (None, None, None)),
        ("gitabc123", (None, None, None)),
    ],
)
def test_reads_the_local_version(
    local: str, expected: tuple[str | None, str | None, bool | None]
) -> None:
    wheel = parse_wheel_name(f"flash_attn-2.8.3+{local}-cp312-cp312-linux_x86_64.whl")
    assert wheel is not None
    assert (wheel.cuda, wheel.torch, wheel.cxx11_abi) == expected


def test_takes_a_url_with_an_encoded_plus_query_and_hash() -> None:
    url = "https://example.invalid/v2.7.4.post1/" + FLASH.replace("+", "%2B") + "?x=1#sha256=00"
    wheel = parse_wheel_name(url)
    assert wheel is not None
    assert wheel.file == FLASH
    assert wheel == parse_wheel_name("C:\\wheels\\" + FLASH)


@pytest.mark.parametrize(
    ("platform", "glibc"),
    [
        ("manylinux_2_28_x86_64", "2.28"),
        ("manylinux_2_17_x86_64.manylinux2014_x86_64", "2.17"),
        ("manylinux_2_28_x86_64.manylinux_2_5_x86_64", "2.5"),
        ("manylinux1_x86_64", "2.5"),
        ("win_amd64", None),
        ("any", None),
    ],
)
def test_knows_the_glibc_of_a_manylinux_tag(platform: str, glibc: str | None) -> None:
    wheel = parse_wheel_name(f"vllm-0.20.2+cu129-cp38-abi3-{platform}.whl")
    assert wheel is not None
    assert (wheel.cuda, wheel.abi, wheel.glibc) == ("12.9", "abi3", glibc)


def test_reads_a_build_number() -> None:
    wheel = parse_wheel_name("torch-2.6.0-1-cp311-cp311-manylinux1_x86_64.whl")
    assert wheel is not None
    assert (wheel.version, wheel.build) == ("2.6.0", "1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "flash-attn",
        "2.7.4.post1",
        "flash_attn-2.7.4.tar.gz",
        "flash_attn-2.7.4.whl",
        "a-b-c-d-e.whl",
        "flash_attn-2.7.4-x-cp310-cp310-linux_x86_64.whl",
        "-2.7.4-cp310-cp310-linux_x86_64.whl",
        "flash_attn-2.7.4-cp310--linux_x86_64.whl",
    ],
)
def test_anything_else_is_no_wheel(text: str) -> None:
    assert parse_wheel_name(text) is None


@given(st.text())
def test_any_text_is_a_wheel_or_none(text: str) -> None:
    wheel = parse_wheel_name(text)
    assert wheel is None or wheel.file.lower().endswith(".whl")
    assert parse_wheel_name(text + ".whl") is None or "-" in text or "%" in text


@given(
    st.from_regex(r"[1-9][0-9]?\.[0-9]{1,2}\.[0-9](?:\.post[0-9])?", fullmatch=True),
    st.integers(11, 13),
    st.none() | st.integers(0, 9),
    st.tuples(st.integers(1, 3), st.integers(0, 19)),
    st.booleans(),
)
def test_reads_back_what_a_builder_writes(
    version: str, major: int, minor: int | None, torch: tuple[int, int], abi: bool
) -> None:
    cuda = f"{major}{'' if minor is None else minor}"
    local = f"cu{cuda}torch{torch[0]}.{torch[1]}cxx11abi{str(abi).upper()}"
    wheel = parse_wheel_name(f"flash_attn-{version}+{local}-cp311-cp311-linux_aarch64.whl")
    assert wheel is not None
    assert wheel.version.startswith(version + "+")
    assert wheel.cuda == (str(major) if minor is None else f"{major}.{minor}")
    assert (wheel.torch, wheel.cxx11_abi) == (f"{torch[0]}.{torch[1]}", abi)
