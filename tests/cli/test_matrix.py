from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from flashdoctor import pipeline

Call = Callable[..., tuple[int, str, str]]
TABLES = pipeline.tables()
NAMES = [path for path in TABLES.names() if path != "meta"]


@pytest.mark.parametrize("name", NAMES)
def test_every_table_is_shown(call_main: Call, name: str) -> None:
    code, out, err = call_main("matrix", "show", name)
    assert (code, err) == (0, "")
    assert out.startswith("[")
    body = json.loads(call_main("matrix", "show", name, "--format", "json")[1])
    assert body["schema"] == "flashdoctor/matrix/v1"
    assert body["name"] == name
    for section, rows in body["sections"].items():
        assert f"[{section}] {len(rows)} row" in out
        written = TABLES.table(name)[section]
        assert len(rows) == len(written)
        assert all(dict(row, **own) == row for row, own in zip(rows, written, strict=True))


@pytest.mark.parametrize(
    ("name", "key", "section", "count"),
    [
        ("torch", "2.6.0", "release", 1),
        ("gpus", "NVIDIA H200", "gpu", 1),
        ("gpus", "9.0", "arch", 1),
        ("flags", "--enforce-eager", "flag", 1),
        ("launch/flags", "tensor_parallel_size", "flag", 1),
        ("environment", "VLLM_USE_V1", "variable", 1),
        ("folklore", "open-libcuda", "claim", 1),
    ],
)
def test_a_key_picks_its_row(
    call_main: Call, name: str, key: str, section: str, count: int
) -> None:
    _, out, _ = call_main("matrix", "show", name, key, "--format", "json")
    rows = json.loads(out)["sections"][section]
    assert len(rows) == count
    _, text, _ = call_main("matrix", "show", name, key)
    assert text.startswith(f"[{section}]\n")
    assert "checked" in text


def test_a_key_may_be_the_beginning_or_a_part(call_main: Call) -> None:
    _, out, _ = call_main("matrix", "show", "torch", "2.6", "--format", "json")
    assert {row["minor"] for row in json.loads(out)["sections"]["variant"]} == {"2.6"}
    _, out, _ = call_main("matrix", "show", "gpus", "4090", "--format", "json")
    assert all("4090" in row["name"] for row in json.loads(out)["sections"]["gpu"])


def test_a_short_name_is_enough(call_main: Call) -> None:
    for name in ("torch", "flags", "wsl"):
        assert call_main("matrix", "show", name)[0] == 0


def test_a_folder_names_its_tables_before_their_sections(call_main: Call) -> None:
    code, out, _ = call_main("matrix", "show", "launch", "0.11.2", "--format", "json")
    assert code == 0
    sections = json.loads(out)["sections"]
    alike = {"launch/goals", "launch/variants"}  # the same for all releases
    of_releases = set(TABLES.group("launch")) - alike
    assert {name.split()[0] for name in sections} == of_releases
    assert sections["launch/memory budget"][0]["graphs"] == "outside"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("flags", "--swap-spce"), "no row of flags is called '--swap-spce'; did you mean"),
        (("flags", "--fromat", "json"), "unexpected extra argument"),
        (("flgs",), "no table 'flgs' (did you mean 'flags'?)"),
        (("meta",), "meta holds no rows"),
    ],
)
def test_what_is_not_there_is_a_usage_error(
    call_main: Call, args: tuple[str, ...], message: str
) -> None:
    code, out, err = call_main("matrix", "show", *args)
    assert (code, out) == (2, "")
    assert message in err


def test_it_goes_to_a_file_as_well(call_main: Call, tmp_path: Path) -> None:
    file = tmp_path / "torch.json"
    code, out, _ = call_main("matrix", "show", "torch", "--format", "json", "--output", str(file))
    assert (code, out) == (0, "")
    assert json.loads(file.read_text(encoding="utf-8"))["name"] == "torch"
