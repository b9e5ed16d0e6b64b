from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.remarks import remark
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known
from flashdoctor.model.snapshot import Snapshot

TOO_NEW = (
    "The message asks for compute capability 8.0 or newer and this GPU has 12.0: the build does"
    " not know this GPU."
)


def facts(values: dict[str, Any]) -> Snapshot:
    return snapshots.of(known(path, value, "x") for path, value in values.items())


@pytest.mark.parametrize(
    ("line", "paste", "expected"),
    [
        ({}, {"gpu.compute_capability": "7.5"}, ""),
        (
            {"log.capability_required": "8.0"},
            {"gpu.compute_capability": "7.5"},
            "It needs compute capability 8.0, and this GPU has 7.5.",
        ),
        (
            {"log.capability_required": "8.0"},
            {"gpu.compute_capability": "12.0"},
            TOO_NEW,
        ),
        (
            {"log.capability_required": "8.0", "log.capability_found": "7.0"},
            {},
            "It needs compute capability 8.0, and this GPU has 7.0.",
        ),
        (
            {"log.cuda_found": "12.2"},
            {"torch.cuda": "13.0"},
            "The message names CUDA 12.2; torch is built for 13.0.",
        ),
        (
            {"log.cuda_found": "11.5", "log.cuda_required": "12.0"},
            {"torch.cuda": "12.4"},
            "It needs CUDA 12.0 and found 11.5.",
        ),
        (
            {"log.memory_wanted_gib": 2.0, "log.memory_free_gib": 1.25},
            {},
            "2 GiB were asked for, 1.25 GiB were free.",
        ),
        (
            {"log.tokens_wanted": 131072, "log.tokens_possible": 34736},
            {},
            "131,072 tokens were asked for, 34,736 fit.",
        ),
        (
            {"log.version_required": ">=2.1", "log.version_found": "1.0.9",
             "log.package": "flash-attn"},
            {},
            "flash-attn has to be >=2.1 and is 1.0.9.",
        ),
        (
            {"log.symbol": "_ZN3c105ErrorC2ENS_14SourceLocationESs", "log.symbol_owner": "torch",
             "log.symbol_abi": "old"},
            {},
            "The missing symbol is c10::Error::Error of torch, with the old std::string.",
        ),
        ({"log.symbol": "ncclCommRegister"}, {}, ""),
    ],
)  # fmt: skip
def test_the_numbers_of_a_line_are_set_beside_those_of_the_stack(
    line: dict[str, Any], paste: dict[str, Any], expected: str
) -> None:
    assert remark(facts(line), facts(paste)) == expected
