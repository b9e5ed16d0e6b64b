from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.data.build_hook import MatricesHook
from flashdoctor.data.compile import compile_matrices, table_mistakes, verify
from flashdoctor.data.tables import Tables
from flashdoctor.errors import MatrixError

ROOT = Path(__file__).parents[2]


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_this_checkout_is_without_mistakes() -> None:
    assert verify(ROOT / "matrices") == []


BROKEN = [
    ("meta.toml", "date = ", "day = ", ["date: missing", "day: unknown key"]),
    ("compat/torch.toml", 'version = "2.0.0"', "version = 2", ["expected text, got int"]),
    ("compat/torch.toml", 'version = "2.1.1"', 'version = "2.1.0"', ["version '2.1.0' is there"]),
    ("compat/torch.toml", '"cxx11"', '"new"', ["cxx11_abi: expected one of cxx11, pre-cxx11"]),
    ("compat/torch.toml", 'tag = "cu118"', 'tag = "118"', ["expected a CUDA tag such as cu126"]),
    ("compat/gpus.toml", 'segment = "laptop"', 'segment = "mobile"', ["segment: expected one of"]),
    ("compat/gpus.toml", "memory_gib = 24", 'memory_gib = "24"', ["expected number, got text"]),
    ("compat/gpus.toml", "sm_count", "sms", ["sms: unknown key"]),
    ("compat/driver_cuda.toml", "branch = 450", "branch = 455", ["branch 455 is there already"]),
    ("compat/vllm.toml", "source = ", "from = ", ["source: missing", "from: unknown key"]),
    ("compat/transformers.toml", "checked = 2026-11-30\n\n[[release", "\n[[release", ["missing"]),
    ("compat/wsl.toml", 'severity = "error"', 'severity = "bad"', ["severity: expected one of"]),
    ("compat/wsl.toml", "checked = 2026-11-30", 'checked = "x"', ["expected date, got text"]),
    ("compat/quantization.toml", 'min_capability = "7.5"', 'min_capability = "75"', ["9.0 or"]),
    ("compat/flash_attn.toml", "[[feature]]", "[[features]]", ["features: unknown key"]),
    (
        "launch/flags.toml",
        "sampled = [",
        "read = [",
        ["meta.sampled: missing", "meta.read: unknown"],
    ),
    ("launch/flags.toml", 'kind = "store_true"', 'kind = "switch"', ["runs[0].kind: expected one"]),
    ("launch/flags.toml", 'name = "quantization"', 'name = "dtype"', ["name 'dtype' is there"]),
    ("launch/environment.toml", 'name = "CUDA_HOME"', 'name = "cuda"', ["a variable such as"]),
    ("launch/environment.toml", "source = ", "from = ", ["meta.source: missing"]),
    (
        "launch/memory.toml",
        'subtracts = ["weights"',
        'subtracts = ["all"',
        ["subtracts[0]: expected"],
    ),
    ("launch/attention.toml", 'capability = "other"', 'capability = "any"', ["or 10.x, 12.x, 9.x"]),
    ("folklore.toml", 'verdict = "partly"', 'verdict = "maybe"', ["verdict: expected one of true"]),
]


def test_a_broken_copy_tells_all_its_mistakes_at_once(matrices: Path, tmp_path: Path) -> None:
    for file, old, new, _ in BROKEN:
        edit(matrices / file, old, new)
    (matrices / "rules/host.toml").write_text("[[rule]]\nid = 5\n", encoding="utf-8")
    with pytest.raises(MatrixError) as caught:
        compile_matrices(matrices, tmp_path / "out")
    lines = caught.value.message.splitlines()
    assert caught.value.exit_code == 3
    for file, _, _, wanted in BROKEN:
        for words in wanted:
            assert any(line.startswith(f"{file}: ") and words in line for line in lines), words
    assert "rules/host.toml: rule[0].id: expected text, got int" in lines
    assert "compat/torch.toml: release[2].version: expected text, got int" in lines
    assert not (tmp_path / "out").exists()
    assert table_mistakes(Tables(matrices)) == lines


def test_stale_json_is_found(tmp_path: Path) -> None:
    out = tmp_path / "out"
    compile_matrices(ROOT / "matrices", out)
    assert verify(out) == []
    edit(out / "compat/wsl.toml", "Pinned host memory", "Pinned memory")
    (out / "compiled/compat/gpus.json").unlink()
    assert verify(out) == [
        "compiled/compat/gpus.json: differs from compat/gpus.toml",
        "compiled/compat/wsl.json: differs from compat/wsl.toml",
    ]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of what a build reads."""
    copy = tmp_path / "tree"
    skip = shutil.ignore_patterns("__pycache__")
    for folder in ("flashdoctor", "matrices"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "README.md").write_text("# flashdoctor\n", encoding="utf-8")
    return copy


def build(folder: Path, target: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", "out"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_wheel_built_from_the_sdist_carries_compiled_tables(tree: Path, tmp_path: Path) -> None:
    assert build(tree, "sdist").returncode == 0
    [sdist] = (tree / "out").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / sdist.name.removesuffix(".tar.gz")
    built = build(unpacked, "wheel")
    assert built.returncode == 0, built.stderr
    [wheel] = (unpacked / "out").glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    assert verify(site / "flashdoctor/_matrices") == []
    assert Tables(site / "flashdoctor/_matrices").compiled
    assert not (unpacked / "flashdoctor/_matrices").exists()


def test_a_broken_table_stops_the_build(tree: Path) -> None:
    edit(tree / "matrices/compat/torch.toml", 'version = "2.0.0"', "version = 2")
    built = build(tree, "wheel")
    assert built.returncode != 0
    assert "compat/torch.toml: release[2].version: expected text, got int" in built.stderr
    assert not list((tree / "out").glob("*.whl"))


def hook(root: Path) -> MatricesHook:
    config: Any = None
    return MatricesHook(str(root), {}, config, config, str(root / "out"), "wheel")


def test_an_editable_install_reads_the_checkout(tree: Path) -> None:
    data: dict[str, Any] = {"force_include": {}}
    editable = hook(tree)
    editable.initialize("editable", data)
    editable.finalize("editable", data, "")
    assert data == {"force_include": {}}


def test_a_build_leaves_nothing_behind(tree: Path) -> None:
    data: dict[str, Any] = {"force_include": {}}
    standard = hook(tree)
    standard.initialize("standard", data)
    [(folder, inside)] = data["force_include"].items()
    assert inside == "flashdoctor/_matrices"
    assert verify(Path(folder)) == []
    standard.finalize("standard", data, "")
    assert not Path(folder).exists()
