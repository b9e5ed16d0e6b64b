from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from flashdoctor.data.find import find_matrices
from flashdoctor.errors import MatrixError

ROOT = Path(__file__).parents[2]


def test_a_checkout_has_them_beside_the_package() -> None:
    assert (find_matrices() / "meta.toml").is_file()


def test_the_packaged_ones_win_over_a_folder_beside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "flashdoctor"
    for folder in (package / "_matrices", tmp_path / "matrices"):
        folder.mkdir(parents=True)
        (folder / "meta.toml").touch()
    assert find_matrices(package) == package / "_matrices"


def test_a_folder_of_that_name_without_meta_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "matrices").mkdir()
    package = tmp_path / "flashdoctor"
    package.mkdir()
    with pytest.raises(MatrixError, match="missing") as caught:
        find_matrices(package)
    assert caught.value.exit_code == 3
    assert "install" in caught.value.hint


def test_a_package_inside_an_archive_reads_them_from_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (ROOT / "flashdoctor").rglob("*.py"):
            file.write(path, path.relative_to(ROOT))
        for path in (ROOT / "matrices").rglob("*.toml"):
            file.write(path, "flashdoctor/_matrices" / path.relative_to(ROOT / "matrices"))
    code = (
        "from flashdoctor.data.tables import load_tables; tables = load_tables();"
        "print(tables.date, len(tables.names()), len(tables.compat('torch')['release']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(archive)!r}); {code}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.stderr == ""
    date, names, releases = done.stdout.split()
    assert date == "2026-11-30"
    assert int(names) == len(list((ROOT / "matrices").rglob("*.toml")))
    assert int(releases) >= 30
