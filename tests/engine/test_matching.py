from __future__ import annotations

from typing import Any

import pytest

from flashdoctor.engine.matching import counts, paths_in
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known
from flashdoctor.model.log import Match, Signature
from flashdoctor.model.snapshot import Snapshot

OLD_GPU = {"fact": "gpu.compute_capability", "op": "lt", "value": "8.0"}
IN_XFORMERS = {"fact": "log.packages", "op": "contains", "value": "xformers"}


def facts(**values: Any) -> Snapshot:
    return snapshots.of(
        known(path.replace("__", "."), value, "x") for path, value in values.items()
    )


def match(*, state: Snapshot | None = None, **conditions: Any) -> Match:
    row = Signature(id="LS1", name="x", keywords=("x",), pattern="", **conditions)
    return Match(signature=row, line=1, text="x", facts=state or Snapshot())


OLD, NEW, BLANK = (
    facts(gpu__compute_capability="7.5"),
    facts(gpu__compute_capability="9.0"),
    Snapshot(),
)


@pytest.mark.parametrize(
    ("conditions", "known_facts", "expected"),
    [
        ({}, BLANK, True),
        ({"when": OLD_GPU}, OLD, True),
        ({"when": OLD_GPU}, NEW, False),
        ({"when": OLD_GPU}, BLANK, False),
        ({"unless": OLD_GPU}, OLD, False),
        ({"unless": OLD_GPU}, NEW, True),
        ({"unless": OLD_GPU}, BLANK, True),
        ({"when": {"not": IN_XFORMERS}, "unless": OLD_GPU}, NEW, False),
        ({"when": {"required": "vllm"}}, NEW, True),
        ({"when": {"required": "sdpa"}}, NEW, False),
    ],
)
def test_when_must_hold_and_unless_must_not(
    conditions: Any, known_facts: Snapshot, *, expected: bool
) -> None:
    assert counts(match(**conditions), known_facts, frozenset({"vllm"})) is expected


def test_what_the_line_says_goes_before_what_the_paste_says() -> None:
    said = match(state=OLD, when=OLD_GPU)
    assert counts(said, NEW, frozenset())
    framed = match(state=facts(log__packages=["xformers", "vllm"]), when=IN_XFORMERS)
    assert counts(framed, NEW, frozenset())


def test_the_facts_that_a_condition_names() -> None:
    condition = {
        "all": [OLD_GPU, {"not": IN_XFORMERS}, {"required": "vllm"}],
    }
    assert list(paths_in(condition)) == ["gpu.compute_capability", "log.packages"]
    compared = {"fact": "driver.version", "op": "lt", "ref": "torch.min_driver"}
    assert list(paths_in({"any": [compared]})) == ["driver.version", "torch.min_driver"]
    assert list(paths_in(None)) == []
