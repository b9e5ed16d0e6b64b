from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.version import Version

requirements: Any = importlib.import_module("flashdoctor.agents.requirements")

ENVIRONMENT = {
    "os_name": "posix",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_release": "6.1.0",
    "platform_version": "#1 SMP",
    "platform_machine": "x86_64",
    "python_version": "3.10",
    "python_full_version": "3.10.13",
    "implementation_name": "cpython",
    "implementation_version": "3.10.13",
    "platform_python_implementation": "CPython",
}

VERSIONS = st.from_regex(
    r"(?:1!)?[0-9]\.[0-9]{1,2}(?:\.[0-9]){0,2}(?:(?:a|b|rc)[0-9])?(?:\.post[0-9])?(?:\.dev[0-9])?",
    fullmatch=True,
)
RELEASES = st.from_regex(r"[0-9]\.[0-9]{1,2}(?:\.[0-9]){0,2}", fullmatch=True)


@pytest.mark.parametrize(
    ("line", "name", "specifier", "extras", "marker"),
    [
        ("torch==2.8.0", "torch", "==2.8.0", (), ""),
        (
            'nvidia-cublas-cu12 (==12.1.3.1) ; platform_system == "Linux"',
            "nvidia-cublas-cu12", "==12.1.3.1", (), 'platform_system == "Linux"',
        ),
        ("cuda-toolkit[cublas,cuda]==13.0", "cuda-toolkit", "==13.0", ("cublas", "cuda"), ""),
        ("transformers !=5.0.*, >=4.56.0", "transformers", "!=5.0.*,>=4.56.0", (), ""),
        ("Flash_Attn", "flash-attn", "", (), ""),
        ("x @ https://example.invalid/x.whl ; extra == 'y'", "x", "", (), "extra == 'y'"),
    ],
)  # fmt: skip
def test_reads_a_requirement(
    line: str, name: str, specifier: str, extras: tuple[str, ...], marker: str
) -> None:
    found = requirements.parse_requirement(line)
    assert (found.name, found.specifier, found.extras, found.marker) == (
        name, specifier, extras, marker,
    )  # fmt: skip


@pytest.mark.parametrize(
    "marker",
    [
        'platform_system == "Linux" and platform_machine == "x86_64"',
        'platform_system == "Linux" and platform_machine == "aarch64"',
        "(sys_platform == 'linux' or sys_platform == 'win32') and extra == 'cublas'",
        "sys_platform == 'win32' or sys_platform == 'linux' and extra == 'nope'",
        'python_version < "3.13"',
        'python_version >= "3.9"',
        'python_version == "3.8"',
        "'3.9' <= python_version",
        "python_full_version > '3.10.2' and python_version not in '3.8, 3.9'",
        "os_name in 'posix, nt'",
        "platform_python_implementation != 'PyPy'",
        "implementation_name == 'cpython' and (python_version > '3.9' or extra == 'x')",
    ],
)
def test_evaluates_markers_as_packaging_does(marker: str) -> None:
    environment = dict(ENVIRONMENT, extra="cublas")
    assert requirements.evaluate(marker, environment) == Marker(marker).evaluate(environment)


@pytest.mark.parametrize(
    "marker", ["", "python_version", "nonsense == '1'", "(os_name == 'x'", "os_name == 'x' os_name"]
)
def test_a_broken_marker_is_an_error_and_not_a_guess(marker: str) -> None:
    with pytest.raises(ValueError, match="marker"):
        requirements.evaluate(marker, ENVIRONMENT)


def test_an_extra_counts_only_when_it_is_asked_for() -> None:
    item = requirements.parse_requirement('nvidia-cublas==13.1.0.3.*; extra == "cublas"')
    assert not requirements.applies(item, ENVIRONMENT)
    assert not requirements.applies(item, ENVIRONMENT, ("cufft",))
    assert requirements.applies(item, ENVIRONMENT, ("cufft", "cublas"))


@given(VERSIONS, VERSIONS)
def test_orders_versions_as_packaging_does(left: str, right: str) -> None:
    ours = requirements.version_key(left) < requirements.version_key(right)
    assert ours == (Version(left) < Version(right))


@given(VERSIONS, st.sampled_from(["==", "!=", ">=", "<="]), VERSIONS)
def test_compares_versions_as_packaging_does(version: str, operation: str, wanted: str) -> None:
    specifier = operation + wanted
    expected = SpecifierSet(specifier, prereleases=True).contains(version)
    assert requirements.satisfies(version, specifier) == expected


@given(RELEASES, st.sampled_from(["==", "!="]), RELEASES)
def test_compares_prefixes_as_packaging_does(version: str, operation: str, wanted: str) -> None:
    specifier = f"{operation}{wanted}.*"
    assert requirements.satisfies(version, specifier) == SpecifierSet(specifier).contains(version)


@given(RELEASES, RELEASES)
def test_compares_compatible_releases_as_packaging_does(version: str, wanted: str) -> None:
    specifier = "~=" + wanted
    assert requirements.satisfies(version, specifier) == SpecifierSet(specifier).contains(version)


def test_every_clause_must_hold_and_a_local_tag_does_not_matter() -> None:
    assert requirements.satisfies("2.6.0+cu124", ">=2.5,==2.6.0,!=2.6.1")
    assert not requirements.satisfies("2.6.0+cu124", ">=2.5,!=2.6.*")
    assert requirements.satisfies("1.0", "")


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for step in (
        requirements.parse_requirement,
        requirements.version_key,
        lambda value: requirements.satisfies("1.0", value),
        lambda value: requirements.evaluate(value, ENVIRONMENT),
    ):
        try:
            step(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017 - either outcome is right; the words must be there
