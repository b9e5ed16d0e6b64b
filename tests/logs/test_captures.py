from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from flashdoctor.data.signatures import CONVERTERS
from flashdoctor.logs import captures
from flashdoctor.logs.captures import facts_of
from flashdoctor.model.log import Signature


def signature(pattern: str, **changes: Any) -> Signature:
    row: dict[str, Any] = {"id": "LS1", "name": "x", "keywords": ("x",), "pattern": pattern}
    return Signature(**(row | changes))


def read(row: Signature, text: str) -> Mapping[str, Any]:
    match = re.search(row.pattern, text)
    assert match
    return {fact.path: fact.value for fact in facts_of(row, match)}


@pytest.mark.parametrize(
    ("convert", "path", "text", "expected"),
    [
        ("cuda_number", "log.cuda_found", "12020", {"log.cuda_found": "12.2"}),
        ("mib_to_gib", "log.memory_free_gib", "2048", {"log.memory_free_gib": 2.0}),
        ("bytes_to_gib", "log.memory_free_gib", "1073741824", {"log.memory_free_gib": 1.0}),
        (
            "memory_account",
            "log.memory_others_gib",
            "44.56 GiB total capacity; 27.93 GiB already allocated; 565.00 MiB free",
            {
                "log.memory_total_gib": 44.56,
                "log.memory_own_gib": 27.93,
                "log.memory_free_gib": 0.552,
                "log.memory_others_gib": 16.078,
            },
        ),
        (
            "attention_backend",
            "log.backend",
            "Using FlashInfer backend on V1 engine by default for Blackwell (SM 10.0) GPUs.",
            {"log.backend": "FLASHINFER"},
        ),
        ("attention_backend", "log.backend", "Using pinned backend", {}),
        ("capability_pair", "log.capability_found", "(8, 6)", {"log.capability_found": "8.6"}),
        (
            "symbol",
            "log.symbol",
            "ncclCommRegister",
            {
                "log.symbol": "ncclCommRegister",
                "log.symbol_owner": "nccl",
                "log.symbol_abi": "none",
            },
        ),
        (
            "library",
            "log.library",
            "/v/flash_attn_2_cuda.so",
            {"log.library": "/v/flash_attn_2_cuda.so", "log.library_owner": "flash-attn"},
        ),
    ],
)
def test_a_capture_is_converted(
    convert: str, path: str, text: str, expected: Mapping[str, Any]
) -> None:
    row = signature("found (?P<it>.{1,80})$", captures={"it": path}, convert={"it": convert})
    assert read(row, f"found {text}") == expected


def test_a_capture_that_does_not_read_gives_nothing() -> None:
    row = signature(r"a(?P<n>\w+)?", captures={"n": "log.heads"}, sets={"log.phase": "load"})
    assert read(row, "a") == {"log.phase": "load"}
    assert read(row, "abc") == {"log.phase": "load"}
    assert read(row, "a12") == {"log.phase": "load", "log.heads": 12}


def test_an_absent_value_is_an_absent_fact() -> None:
    facts = list(facts_of(signature("", sets={"toolkit.version": None}), None))
    assert [(fact.path, fact.state) for fact in facts] == [("toolkit.version", "absent")]


def test_the_converters_are_those_that_a_row_may_name() -> None:
    assert set(captures._CONVERTERS) == set(CONVERTERS)
