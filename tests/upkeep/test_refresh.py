from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from flashdoctor.data.tables import Tables, parse_table
from flashdoctor.errors import MatrixError
from flashdoctor.model.upkeep import Refresh
from flashdoctor.upkeep import run
from flashdoctor.upkeep.index import Index
from flashdoctor.upkeep.toml_text import toml_value

Change = Callable[[dict[str, str]], Tables]
TODAY = "2026-12-24"


def quiet(_done: int, _total: int, _what: str) -> None:
    """Show nothing."""


def without(text: str, *versions: str) -> str:
    """Return a table's TOML without the release and range rows of some versions."""
    blocks = re.split(r"(?m)^(?=\[\[)", text)
    lost = tuple(f'[[release]]\nversion = "{version}"\n' for version in versions)
    ranges = tuple(f'[[torch_range]]\nfirst = "{version}"\n' for version in versions)
    return "".join(block for block in blocks if not block.startswith(lost + ranges))


@pytest.fixture
def past(texts: dict[str, str]) -> dict[str, str]:
    """Return the tables as they were before the newest releases that were recorded."""
    return {
        "torch": without(texts["torch"], "2.14.1", "2.15.0"),
        "vllm": without(texts["vllm"], "0.33.0"),
        "transformers": texts["transformers"].replace(
            'version = "5.24.0"', 'version = "5.24.0rc1"'
        ),
        "flash_attn": without(texts["flash_attn"], "2.8.3.post2"),
    }


def refreshed(past: dict[str, str], older: Change, index: Index) -> Refresh:
    return run.refresh(older(past), past, index, TODAY, quiet)


def test_nothing_is_proposed_where_nothing_is_newer(
    tables: Tables, texts: dict[str, str], index: Index
) -> None:
    found = run.refresh(tables, texts, index, TODAY, quiet)
    assert (found.proposals, found.diff, found.unread, found.exit_code) == ((), "", (), 0)
    assert index.calls == 4


def test_rows_hold_what_was_read_and_name_what_was_not(
    past: dict[str, str], older: Change, index: Index, tables: Tables
) -> None:
    found = refreshed(past, older, index)
    assert found.exit_code == 1
    assert [str(one.row) for one in found.proposals] == [
        "torch release 2.14.1", "vllm release 0.33.0", "vllm torch_range 0.33.0",
        "flash_attn release 2.8.3.post2",
    ]  # fmt: skip
    for one in found.proposals:  # whatever was read is what the table has today
        rows = tables.compat(one.row.table)[one.row.section]
        [today] = [row for row in rows if one.row.version in (row.get("version"), row.get("first"))]
        for key in set(one.fields) - {"source"}:
            assert one.fields[key] == today.get(key, one.fields[key])
        assert set(today) - set(one.fields) <= {
            *one.missing, "checked", "note", "conflict", "unverified", "unverified_fields",
            *(key for key in today if key not in one.missing),
        }  # fmt: skip
    [torch] = [one for one in found.proposals if one.row.table == "torch"]
    assert {"glibc_floor", "default_arch_list", "cxx11_abi", "git_version"} <= set(torch.missing)
    assert {"triton", "cudnn", "nccl", "requires_python", "platform_tags"} <= set(torch.fields)


def test_the_diff_applies_and_the_tables_refuse_what_it_leaves_open(
    past: dict[str, str], older: Change, index: Index, tmp_path: Path
) -> None:
    patch = shutil.which("patch")
    if patch is None:
        pytest.skip("there is no patch here")
    folder = tmp_path / "matrices" / "compat"
    folder.mkdir(parents=True)
    for name, text in past.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    found = refreshed(past, older, index)
    (tmp_path / "x.diff").write_text(found.diff, encoding="utf-8")
    subprocess.run([patch, "-p1", "-s", "-i", "x.diff"], cwd=tmp_path, check=True, timeout=20)
    for name in ("torch", "vllm", "flash_attn"):
        new = (folder / f"{name}.toml").read_text(encoding="utf-8")
        assert f"checked = {TODAY}\n" in new
        with pytest.raises(MatrixError) as error:
            parse_table(f"compat/{name}", new)
        assert all(line.endswith(": missing") for line in error.value.message.splitlines())
    assert (folder / "transformers.toml").read_text(encoding="utf-8") == past["transformers"]


def test_a_later_patch_release_replaces_the_row_of_its_minor(
    texts: dict[str, str], older: Change, index: Index
) -> None:
    text = texts["vllm"].replace('version = "0.10.2"', 'version = "0.10.1.1"', 1)
    found = refreshed({**texts, "vllm": text}, older, index)
    [one] = found.proposals
    assert (str(one.row), one.replaces) == ("vllm release 0.10.2", "0.10.1.1")
    assert '-version = "0.10.1.1"\n+version = "0.10.2"\n' in found.diff
    assert "+# sass_in_wheel: not in METADATA, read it from the wheel (0.10.1.1 had [" in found.diff
    assert "+sass_in_wheel" not in found.diff


def test_a_range_goes_on_where_the_pin_stays(
    texts: dict[str, str], older: Change, index: Index
) -> None:
    text = without(texts["vllm"], "0.32.0", "0.33.0").replace('last = "0.32.0"', 'last = "0.31.0"')
    found = refreshed({**texts, "vllm": text}, older, index)
    ranges = [one for one in found.proposals if one.row.section == "torch_range"]
    assert [(one.replaces, one.fields["last"], one.fields["torch"]) for one in ranges] == [
        ("0.27.0", "0.32.0", "2.13.0"), (None, "0.33.0", "2.14.0"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", '"a"'), (True, "true"), (["x", "y"], '["x", "y"]'), ([], "[]"), ("\x1b\u202e", None)],
)
def test_values_are_written_as_toml(value: object, text: str | None) -> None:
    written = toml_value(value)
    assert written.isascii()
    assert written.isprintable()
    if text is not None:
        assert written == text
