from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from flashdoctor.probes.tree import (
    SYSTEM_ROOT,
    exists,
    inside,
    is_file,
    names_in,
    on_path,
    outside,
    read_text,
    resolved,
)

Lay = Callable[[Mapping[str, str | bytes]], Path]


def test_names_and_paths_lead_to_each_other(tmp_path: Path) -> None:
    path = inside(tmp_path, "/etc/os-release")
    assert path == tmp_path / "etc/os-release"
    assert outside(tmp_path, path) == "/etc/os-release"
    assert outside(tmp_path, Path("/elsewhere")) == "/elsewhere"
    assert inside(SYSTEM_ROOT, "/etc") == Path("/etc")
    assert outside(SYSTEM_ROOT, Path("/etc")) == "/etc"


def test_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    nowhere = tmp_path / "a" / "b"
    assert read_text(nowhere) is None
    assert read_text(tmp_path) is None
    assert names_in(nowhere) == []
    assert not is_file(tmp_path)
    for name in ("x" * 5000, "null\0byte"):
        odd = tmp_path / name
        assert read_text(odd) is None
        assert not is_file(odd)
        assert not exists(odd)
        assert names_in(odd) == []


def test_bytes_that_are_no_text_are_replaced(lay: Lay) -> None:
    assert read_text(lay({"/x": b"a\xff"}) / "x") == "a�"


def test_links_are_followed_and_loops_are_not(tmp_path: Path) -> None:
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "loop").symlink_to("loop")
    assert resolved(tmp_path / "link").name == "target"
    assert resolved(tmp_path / "loop").name == "loop"
    assert not exists(tmp_path / "loop")


@pytest.mark.skipif("os.name == 'nt'")
def test_programs_are_found_in_the_order_of_path(lay: Lay) -> None:
    root = lay({"/a/nvcc": "", "/b/nvcc": "", "/c/nvcc": "", "/d/other": ""})
    for folder in "ab":
        (root / folder / "nvcc").chmod(0o755)
    found = on_path(root, "/nowhere::/b:/c:/a:/d", "nvcc")
    assert found == [root / "b/nvcc", root / "a/nvcc"]
