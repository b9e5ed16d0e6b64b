"""A package index that was recorded once: what pip printed, with the addresses taken out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.data.tables import Tables
from flashdoctor.errors import TargetError
from flashdoctor.model.upkeep import Metadata, Published
from flashdoctor.upkeep.answers import parse_listing, parse_report
from flashdoctor.upkeep.verify import Subject, Wanted, subjects

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "upkeep"
NAMES = ("torch", "vllm", "transformers", "flash_attn")
TOML = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


class RecordedIndex:
    """Answers from tests/data/upkeep; what was not recorded it cannot say, as pip would put it."""

    pip = "26.3"
    seconds = 0.0

    def __init__(self) -> None:
        self.calls = 0

    def files(self, name: str) -> tuple[Published, ...]:
        self.calls += 1
        return parse_listing(listing_text(name))

    def metadata(self, wanted: Sequence[Wanted]) -> tuple[Metadata, ...]:
        self.calls += 1
        return tuple(item for one in wanted for item in parse_report(report_text(one)))


def listing_text(name: str) -> str:
    return (DATA / f"listing_{name.replace('-', '_')}.txt").read_text(encoding="utf-8")


def report_text(wanted: Wanted) -> str:
    file = DATA / f"report_{wanted.name.replace('-', '_')}_{wanted.version}.json"
    if not file.is_file():
        raise TargetError(f"{wanted.name} {wanted.version} was not recorded")
    return file.read_text(encoding="utf-8")


@pytest.fixture
def recorded_rows(tables: Tables) -> list[Subject]:
    """Return the rows whose every release was recorded."""
    have = {file.stem.removeprefix("report_") for file in DATA.glob("report_*.json")}
    return [
        row
        for row in subjects(tables)
        if all(f"{row.key.table}_{version}" in have for version in row.versions)
        or row.key.table == "flash_attn"
    ]


@pytest.fixture
def data() -> Path:
    return DATA


@pytest.fixture
def index() -> RecordedIndex:
    return RecordedIndex()


@pytest.fixture(scope="session")
def tables() -> Tables:
    return Tables(ROOT / "matrices")


@pytest.fixture
def texts() -> dict[str, str]:
    """Return the TOML of the tables that have something to verify."""
    return {
        name: (ROOT / "matrices" / "compat" / f"{name}.toml").read_text(encoding="utf-8")
        for name in NAMES
    }


@pytest.fixture
def older() -> Callable[[dict[str, str]], Tables]:
    """Return a function that makes tables of changed TOML texts."""

    class Changed(Tables):
        def __init__(self, texts: dict[str, str]) -> None:
            super().__init__(ROOT / "matrices")
            self._read.update({f"compat/{name}": plain(text) for name, text in texts.items()})

    return Changed


def plain(text: str) -> Any:
    return json.loads(json.dumps(TOML.loads(text), default=str))
