"""What the tables of a launch say must fit together, and with one another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.data.provenance import SAMPLED_META
from flashdoctor.data.rules import load_rules
from flashdoctor.data.schema import SHAPES
from flashdoctor.data.tables import Tables
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.engine.derive import derive
from flashdoctor.engine.runner import run
from flashdoctor.engine.view import View
from flashdoctor.model.versions import Capability, capability, order

Row = dict[str, Any]
LAUNCH = (
    "attention", "environment", "flags", "goals", "memory", "quantization", "variants",
)  # fmt: skip


def at(version: str) -> tuple[tuple[int, ...], int]:
    found = order(version)
    assert found is not None, version
    return found


def rows_of(tables: Tables, table: str, section: str) -> list[Row]:
    rows: list[Row] = tables.table(f"launch/{table}")[section]
    return rows


def sampled(tables: Tables) -> list[str]:
    versions: list[str] = tables.table("launch/flags")["meta"]["sampled"]
    return versions


def holds(row: Row, version: str) -> bool:
    return at(row["first"]) <= at(version) <= at(row["last"])


def every_row(tables: Tables) -> Iterator[tuple[str, Row]]:
    for table in LAUNCH:
        for section, rows in tables.table(f"launch/{table}").items():
            for row in rows if isinstance(rows, list) else ():
                yield f"{table}.{section}: {next(iter(row.values()))}", row


def flags(tables: Tables) -> dict[str, Row]:
    return {row["name"]: row for row in rows_of(tables, "flags", "flag")}


def choices(row: Row, version: str) -> set[Any] | None:
    """Replay the history of a flag's choices; None where any value is taken."""
    now: set[Any] | None = None
    for change in row.get("choices", ()):
        if at(change["first"]) > at(version):
            break
        added, removed = set(change.get("added", ())), set(change.get("removed", ()))
        before = now or set()
        assert not added & before, (row["name"], change)
        assert removed <= before, (row["name"], change)
        now = None if change.get("any") else (before | added) - removed
    return now


def default(row: Row, version: str) -> Any:
    runs = [run for run in row["runs"] if at(run["first"]) <= at(version)]
    return runs[-1].get("default")


def test_releases_are_in_order_and_are_those_that_were_read(tables: Tables) -> None:
    read = sampled(tables)
    assert read == sorted(set(read), key=at)
    assert set(tables.table("launch/environment")["meta"]["sampled"]) <= set(read)
    later = {"0.10.1", "0.5.3.post1"}
    for name, row in every_row(tables):
        edges = [row[key] for key in ("first", "last", "deprecated", "no_op") if key in row]
        assert set(edges) <= {*read, *later}, name
        if "first" in row and "last" in row:
            assert at(row["first"]) <= at(row["last"]), name


def test_runs_and_choices_change_within_the_life_of_their_row(tables: Tables) -> None:
    for row in (*rows_of(tables, "flags", "flag"), *rows_of(tables, "environment", "variable")):
        runs = row.get("runs", [])
        assert not runs or runs[0]["first"] == row["first"], row["name"]
        assert all("default" not in run or "computed" not in run for run in runs), row["name"]
        for one, two in pairwise(runs):
            plain = [{**run, "first": ""} for run in (one, two)]
            assert repr(plain[0]) != repr(plain[1]), row["name"]
        for history in (runs, row.get("choices", [])):
            assert all(holds(row, change["first"]) for change in history), row["name"]
            assert all(at(one["first"]) < at(two["first"]) for one, two in pairwise(history))
        for alias in row.get("aliases", ()):
            assert holds(row, alias["first"]), row["name"]
            assert holds(row, alias["last"]), row["name"]


def test_choices_can_be_replayed_and_hold_the_default(tables: Tables) -> None:
    restricted = 0
    for row in rows_of(tables, "flags", "flag"):
        for version in filter(lambda version: holds(row, version), sampled(tables)):
            allowed, value = choices(row, version), default(row, version)
            assert allowed is None or allowed, (row["name"], version)
            if allowed and isinstance(value, str) and {type(x) for x in allowed} == {str}:
                assert value.casefold() in {word.casefold() for word in allowed}, row["name"]
                restricted += 1
    assert restricted


def test_a_replacement_is_a_flag_that_outlives_what_it_replaces(tables: Tables) -> None:
    known = flags(tables)
    replaced = 0
    for row in (*known.values(), *rows_of(tables, "environment", "variable")):
        for text in row.get("replacement", ()):
            name = text.split()[0].removeprefix("--").removeprefix("no-").partition(".")[0]
            assert text.startswith("--"), row["name"]
            assert at(known[name]["last"]) > at(row["last"]), row["name"]
            replaced += 1
    assert replaced


def test_flags_that_other_rows_name_are_there(tables: Tables) -> None:
    known = flags(tables)
    for name, row in every_row(tables):
        assert set(row.get("flags", ())) <= set(known), name
    for row in rows_of(tables, "flags", "exclusive"):
        assert {row["flag"], row["key"].partition(".")[0]} <= set(known)
    variables = {row["name"]: row for row in rows_of(tables, "environment", "variable")}
    for row in rows_of(tables, "attention", "setting"):
        flag = known.get(row["name"].removeprefix("--").partition(".")[0])
        assert at((flag or variables[row["name"]])["last"]) >= at(row["last"]), row["name"]


def test_defaults_of_memory_are_those_of_the_flags(tables: Tables) -> None:
    known = flags(tables)
    rows = rows_of(tables, "memory", "default")
    for version in sampled(tables):
        [row] = [
            row for row in rows if row["setting"] == "gpu-memory-utilization" if holds(row, version)
        ]
        assert row["value"] == default(known["gpu-memory-utilization"], version)
    [size] = [row for row in rows if row["setting"] == "block-size"]
    stated = {default(known["block-size"], version) for version in sampled(tables)}
    assert stated == {None, size["value"]}


_ONE_ROW = (
    "budget", "capacity", "capture_sizes", "refusal", "runner", "sampler", "scheduler_v0",
    "scheduler_v1",
)  # fmt: skip


@pytest.mark.parametrize("section", _ONE_ROW)
def test_no_release_has_two_rows_of_memory(tables: Tables, section: str) -> None:
    rows = rows_of(tables, "memory", section)
    keys = ("engine", "min_memory_gib", "runner", "id")
    for version in sampled(tables):
        held = [tuple(map(row.get, keys)) for row in rows if holds(row, version)]
        assert len(held) == len(set(held)), version


@pytest.mark.parametrize("section", ["capacity", "runner"])
def test_memory_knows_every_release_of_engine_v1(tables: Tables, section: str) -> None:
    rows = rows_of(tables, "memory", section)
    for version in sampled(tables):
        assert at(version) < at("0.8.0") or any(holds(row, version) for row in rows), version


def test_every_engine_has_a_budget_and_defaults_in_every_release(tables: Tables) -> None:
    for version in sampled(tables):
        budgets = {
            row["engine"] for row in rows_of(tables, "memory", "budget") if holds(row, version)
        }
        old = any(holds(row, version) for row in rows_of(tables, "memory", "scheduler_v0"))
        new = {
            row["min_memory_gib"]
            for row in rows_of(tables, "memory", "scheduler_v1")
            if holds(row, version)
        }
        assert budgets == {*(["V0"] if old else []), *(["V1"] if new else [])}, version
        assert not new or 0 in new, version
        states = [row for row in rows_of(tables, "attention", "engine") if holds(row, version)]
        assert [row["engine"] in budgets for row in states] == [True], version
        assert states[0]["state"] == "default" or len(budgets) == 1, version


def test_larger_gpus_get_no_smaller_batches(tables: Tables) -> None:
    rows = rows_of(tables, "memory", "scheduler_v1")
    for version in sampled(tables):
        tiers = sorted(
            (row for row in rows if holds(row, version)), key=lambda row: int(row["min_memory_gib"])
        )
        for low, high in pairwise(tiers):
            for key in ("serve_batched_tokens", "llm_batched_tokens", "max_num_seqs"):
                assert low[key] <= high[key], version


def test_bytes_of_a_cache_follow_from_its_formula(tables: Tables) -> None:
    offered = choices(flags(tables)["kv-cache-dtype"], sampled(tables)[-1])
    assert offered is not None
    measured = rows_of(tables, "memory", "kv_dtype")
    assert {row["name"] for row in measured} <= offered
    for row in measured:
        assert ("bits" in row) == ("head_bytes" in row)
        if "bits" in row:
            values = 2 * 8 * 128 * row["bits"] / 8
            assert row["bytes_8_heads_of_128"] == values + 8 * row["head_bytes"], row["name"]
    for row in rows_of(tables, "memory", "mla_layout"):
        if "bytes_per_value" in row:
            assert row["bytes_per_token"] == (512 + 64) * row["bytes_per_value"]


def test_optimization_levels_are_the_flags_choices(tables: Tables) -> None:
    levels = {f"O{row['level']}" for row in rows_of(tables, "memory", "optimization_level")}
    assert choices(flags(tables)["optimization-level"], sampled(tables)[-1]) == levels


def test_backends_are_names_that_the_flag_knows(tables: Tables) -> None:
    flag = flags(tables)["attention-backend"]
    checked = 0
    for section in ("priority", "sparse_priority", "limit"):
        for row in rows_of(tables, "attention", section):
            for version in filter(lambda version: holds(row, version), sampled(tables)):
                known = choices(flag, version) if holds(flag, version) else None
                names = set(row.get("backends", [row.get("backend")]))
                if known is not None and "conflict" not in row:
                    assert names <= known, (row, version)
                    checked += 1
    assert checked


def test_every_backend_that_is_tried_has_its_limits(tables: Tables) -> None:
    limited = {row["backend"] for row in rows_of(tables, "attention", "limit")}
    for row in rows_of(tables, "attention", "priority"):
        if row["attention"] == "dense" and row["last"] == sampled(tables)[-1]:
            assert set(row["backends"]) <= limited


def allowed(limit: Row, cc: Capability, flash: int, head: int) -> Row:
    """Return a limit with what its widening adds for this GPU and FlashAttention."""
    whole = {**limit, "kv_dtypes": list(limit["kv_dtypes"])}
    for more in limit.get("widened", ()):
        place = more.get("capability", str(cc))
        held = place in (str(cc), f"{cc.major}.x")
        held = held and cc >= (capability(more.get("min_capability", "1.0")) or cc)
        held = held and more.get("flash_version", flash) == flash
        if held and more.get("head_size", head) == head:
            whole["kv_dtypes"] += more.get("kv_dtypes", [])
            whole |= {key: more[key] for key in ("max_head", "sinks") if key in more}
    return whole


def objects(
    limit: Row,
    cc: Capability,
    *,
    dtype: str = "bfloat16",
    kv: str = "auto",
    head: int = 128,
    flash: int = 2,
    sinks: bool = False,
) -> bool:
    """Whether a backend refuses."""
    limit = allowed(limit, cc, flash, head)
    return (
        cc < (capability(limit.get("min_capability", "1.0")) or cc)
        or cc > (capability(limit.get("max_capability", "99.0")) or cc)
        or cc.major not in limit.get("majors", [cc.major])
        or dtype not in limit.get("dtypes", [dtype])
        or kv not in limit["kv_dtypes"]
        or head not in limit.get("head_sizes", [head])
        or head % limit.get("head_multiple", 1) != 0
        or not limit.get("min_head", head) <= head <= limit.get("max_head", head)
        or (sinks and not limit.get("sinks", True))
    )


def chosen(tables: Tables, attention: str, cc: str, version: str, **asked: Any) -> str:
    found = capability(cc)
    assert found is not None
    lists = {
        row["capability"]: row["backends"]
        for row in rows_of(tables, "attention", "priority")
        if row["attention"] == attention and holds(row, version)
    }
    limits = {
        row["backend"]: row for row in rows_of(tables, "attention", "limit") if holds(row, version)
    }
    names = lists.get(cc) or lists.get(f"{found.major}.x") or lists["other"]
    return str(next(name for name in names if not objects(limits[name], found, **asked)))


@pytest.mark.parametrize(
    ("attention", "cc", "asked", "backend"),
    [
        ("dense", "7.5", {"dtype": "float16"}, "TRITON_ATTN"),
        ("dense", "8.0", {}, "FLASH_ATTN"),
        ("dense", "9.0", {}, "FLASH_ATTN"),
        ("dense", "12.0", {}, "FLASH_ATTN"),
        ("dense", "10.0", {}, "FLASHINFER"),
        ("dense", "10.0", {"head": 96}, "FLASH_ATTN"),
        ("dense", "8.0", {"kv": "fp8"}, "FLASHINFER"),
        ("dense", "8.6", {"kv": "fp8", "head": 256}, "FLASHINFER"),
        ("dense", "8.9", {"kv": "fp8", "head": 96}, "TRITON_ATTN"),
        ("dense", "12.0", {"kv": "fp8"}, "FLASHINFER"),
        ("dense", "9.0", {"dtype": "float32"}, "TRITON_ATTN"),
        ("dense", "9.0", {"kv": "turboquant_k8v4"}, "TURBOQUANT"),
        ("dense", "9.0", {"head": 20}, "FLEX_ATTENTION"),
        ("dense", "9.0", {"kv": "fp8", "flash": 3}, "FLASH_ATTN"),
        ("dense", "9.0", {"kv": "fp8_e5m2", "flash": 3}, "FLASHINFER"),
        ("dense", "9.0", {"head": 512, "flash": 4}, "FLASH_ATTN"),
        ("dense", "9.0", {"sinks": True, "flash": 3}, "FLASH_ATTN"),
        ("dense", "8.0", {"sinks": True}, "TRITON_ATTN"),
        ("mla", "8.0", {"head": 576}, "TRITON_MLA"),
        ("mla", "8.9", {"head": 576, "kv": "fp8"}, "TRITON_MLA"),
        ("mla", "9.0", {"head": 576}, "FLASH_ATTN_MLA"),
        ("mla", "9.0", {"head": 576, "kv": "fp8"}, "FLASHMLA"),
        ("mla", "10.0", {"head": 576}, "FLASHINFER_MLA"),
        ("mla", "12.0", {"head": 576}, "TRITON_MLA"),
    ],
)
def test_priorities_and_limits_give_the_backend_that_vllm_takes(
    tables: Tables, attention: str, cc: str, asked: dict[str, Any], backend: str
) -> None:
    assert chosen(tables, attention, cc, "0.33.0", **asked) == backend


def test_turing_loses_flashinfer(tables: Tables) -> None:
    turing = Capability(7, 5)
    limits = [
        row for row in rows_of(tables, "attention", "limit") if row["backend"] == "FLASHINFER"
    ]
    refused = [objects(row, turing) for row in limits]
    assert refused == [False, False, True]


def test_flash_attention_runs_where_it_is_chosen(tables: Tables) -> None:
    support = {row["version"]: row for row in rows_of(tables, "attention", "flash_support")}
    for row in rows_of(tables, "attention", "flash_version"):
        majors = support[row["version"]].get("majors")
        assert majors is None or int(row["capability"].partition(".")[0]) in majors


def test_what_one_reading_gave_says_so_in_its_meta() -> None:
    inheriting = {
        name
        for name, shape in SHAPES.items()
        for section in shape.sections.values()
        if section.inherits
    }
    assert inheriting == {"launch/flags", "launch/environment"}
    for name in inheriting:
        shape = SHAPES[name]
        assert shape.sections["meta"] is SAMPLED_META
        for section in shape.sections.values():
            for key in section.inherits:
                assert SAMPLED_META.fields[key] == section.fields[key]


def test_a_release_in_a_claim_is_one_of_a_package(tables: Tables) -> None:
    claims: list[Row] = tables.table("folklore")["claim"]
    assert all("package" in row for row in claims if "since" in row)
    assert {row["verdict"] for row in claims} >= {"true", "false", "partly", "outdated"}


def test_rules_are_judged_without_reading_the_tables_of_a_launch(matrices: Path) -> None:
    broken = [*(matrices / "launch").iterdir(), matrices / "folklore.toml"]
    for file in broken:
        file.write_text("broken", encoding="utf-8")
    rules = Path(__file__).parents[2] / "matrices" / "rules"
    for file in rules.iterdir():
        (matrices / "rules" / file.name).write_bytes(file.read_bytes())
    tables = Tables(matrices)
    known = ["gpu=RTX 4090", "driver=570.124.06", "torch=2.7.1+cu126", "vllm=0.9.2", "python=3.11"]
    snapshot = derive(read_assumptions(known), tables)
    results = run(load_rules(tables), View(snapshot, tables, frozenset({"vllm"})))
    assert results.passed
    assert len(broken) == len(LAUNCH) + 1


def test_no_table_of_a_launch_loses_rows(tables: Tables) -> None:
    assert len(rows_of(tables, "flags", "flag")) >= 397
    assert len(rows_of(tables, "environment", "variable")) >= 443
    assert len(tables.table("folklore")["claim"]) >= 23
