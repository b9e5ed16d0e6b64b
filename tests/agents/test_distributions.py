from __future__ import annotations

import importlib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

distributions: Any = importlib.import_module("flashdoctor.agents.distributions")

WATCHED = {"torch", "flash-attn"}


def write_info(folder: Path, info: str, text: str, name: str = "METADATA") -> None:
    (folder / info).mkdir(parents=True)
    (folder / info / name).write_text(text, encoding="utf-8")


def scan(*folders: Path) -> Any:
    return distributions.Scan([str(folder) for folder in folders], WATCHED, ("nvidia-",))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch-2.6.0+cu124.dist-info", ("torch", "2.6.0+cu124")),
        ("Flash_Attn-2.8.3.dist-info", ("flash-attn", "2.8.3")),
        ("flash_attn-2.8.3-py3.10-linux-x86_64.egg", ("flash-attn", "2.8.3")),
        ("flash_attn-2.8.3-py3.10.egg-info", ("flash-attn", "2.8.3")),
        ("flash_attn.egg-info", ("flash-attn", None)),
        ("~orch-2.6.0.dist-info", None),
        ("torch", None),
    ],
)
def test_reads_the_name_of_a_metadata_folder(
    name: str, expected: tuple[str, str | None] | None
) -> None:
    assert distributions.parse_info_name(name) == expected


HEADER_TEXT = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1)


@given(st.lists(HEADER_TEXT, max_size=5), st.text())
def test_reads_headers_as_the_email_package_does(values: list[str], body: str) -> None:
    text = "Name: x\n" + "".join(f"Requires-Dist: {value}\n" for value in values) + "\n" + body
    headers = distributions.parse_headers(text)
    expected = Parser().parsestr(text).get_all("Requires-Dist", [])
    assert headers.get("requires-dist", []) == expected == values


@given(st.text())
def test_any_text_has_headers_or_none(text: str) -> None:
    headers = distributions.parse_headers(text)
    assert all(name == name.strip().lower() and values for name, values in headers.items())
    assert distributions.parse_info_name(text) is None or text.endswith((".egg", "-info"))


def test_finds_watched_distributions_in_path_order(tmp_path: Path) -> None:
    first, second = tmp_path / "user", tmp_path / "system"
    write_info(first, "torch-2.8.0.dist-info", "Name: torch\nVersion: 2.8.0+cu128\n")
    write_info(second, "torch-2.6.0.dist-info", "Name: torch\nVersion: 2.6.0\n")
    write_info(second, "nvidia_nccl_cu12-2.21.5.dist-info", "Version: 2.21.5\n")
    write_info(second, "unwatched-1.dist-info", "Version: 1\n")
    found = scan(first, second)
    assert sorted(found.distributions) == ["nvidia-nccl-cu12", "torch"]
    assert found.first("flash-attn", "torch").version == "2.8.0+cu128"
    assert [item.version for item in found.distributions["torch"]] == ["2.8.0+cu128", "2.6.0"]


def test_a_folder_that_is_on_the_path_twice_counts_once(tmp_path: Path) -> None:
    write_info(tmp_path / "lib", "torch-2.8.0.dist-info", "Version: 2.8.0\n")
    (tmp_path / "lib64").symlink_to("lib")
    assert len(scan(tmp_path / "lib", tmp_path / "lib64").distributions["torch"]) == 1


def test_metadata_that_is_gone_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "torch-2.8.0.dist-info").mkdir()
    write_info(tmp_path, "~orch-2.7.0.dist-info", "Version: 2.7.0\n")
    assert scan(tmp_path).first("torch") is None


def test_reads_egg_info_as_file_and_folder_and_an_egg_on_the_path(tmp_path: Path) -> None:
    site, checkout = tmp_path / "site", tmp_path / "checkout"
    site.mkdir()
    (site / "torch-1.13.1-py3.8.egg-info").write_text("Version: 1.13.1\n", encoding="utf-8")
    write_info(checkout, "flash_attn.egg-info", "Version: 2.8.3\n", "PKG-INFO")
    assert scan(site).first("torch").version == "1.13.1"
    assert scan(checkout).first("flash-attn").version == "2.8.3"

    egg = site / "flash_attn-2.7.0-py3.10-linux-x86_64.egg"
    write_info(egg, "EGG-INFO", "Version: 2.7.0\n", "PKG-INFO")
    assert scan(site).first("flash-attn") is None, "not on the path itself"
    found = scan(site, egg).first("flash-attn")
    assert (found.version, found.folder) == ("2.7.0", str(egg))


def test_a_zip_file_and_a_missing_folder_on_the_path_are_passed_over(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x.py", "")
    assert scan(tmp_path / "a.zip", tmp_path / "gone").folders == []


def test_a_module_is_located_as_the_import_system_would(tmp_path: Path) -> None:
    namespace, package, module = tmp_path / "n", tmp_path / "p", tmp_path / "m"
    (namespace / "torch").mkdir(parents=True)
    (package / "torch").mkdir(parents=True)
    (package / "torch" / "__init__.py").touch()
    module.mkdir()
    (module / "torch.py").touch()
    assert scan(namespace).locate("torch") is None, "a namespace portion is no torch"
    assert scan(namespace, package, module).locate("torch") == str(package / "torch")
    assert scan(namespace, module).locate("torch") == str(module / "torch.py")


def test_an_extension_of_this_python_is_preferred(tmp_path: Path) -> None:
    other = tmp_path / "_C.cpython-36m-x86_64-linux-gnu.so"
    other.touch()
    (tmp_path / "_C.py").touch()
    found = scan(tmp_path)
    assert found.extension(str(tmp_path), "_C") == str(other)
    (tmp_path / "_C.abi3.so").touch()
    assert found.extension(str(tmp_path), "_C") == str(tmp_path / "_C.abi3.so")
    assert found.extension(str(tmp_path), "_D") is None
    assert found.extension(None, "_C") is None
