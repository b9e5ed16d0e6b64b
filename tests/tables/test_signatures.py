"""The loader of signatures: what it accepts, what it makes, and every mistake it names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from flashdoctor.data.compile import compile_matrices
from flashdoctor.data.signatures import load_causes, load_signatures, signature_mistakes
from flashdoctor.data.tables import Tables
from flashdoctor.errors import MatrixError
from flashdoctor.model.log import Cause, Signature
from flashdoctor.model.rule import Fix, Source

CAUSE = """
[[cause]]
name = "driver-too-old"
title = "The driver is too old"
layer = "driver"
severity = "error"
ask = ["nvidia-smi"]
fix = { text = "Update to {torch.min_driver}.", commands = ["echo {driver.version}"] }
source = [{ url = "a manual", checked = 2026-11-30 }]
"""
SIGNATURE = """
[[signature]]
id = "LS1101"
name = "driver-too-old-line"
cause = "driver-too-old"
strength = "hint"
keywords = ["driver on your system is too old"]
pattern = '''too old \\(found version (?P<found>\\d+)\\)'''
captures = { found = "log.cuda_found" }
convert = { found = "cuda_number" }
sets = { "log.phase" = "import", "torch.cuda" = "absent" }
when = { fact = "log.cuda_found", op = "lt", value = "12.4" }
hits = ["driver on your system is too old (found version 11040)", { text = "x", facts = {} }]
misses = ["driver on your system is too old"]
source = [{ url = "another", checked = 2026-11-29 }]
"""
TWICE = "'driver-too-old-line' is there already"
Write = Callable[..., Tables]


@pytest.fixture
def with_signatures(tmp_path: Path) -> Write:
    """Return a function that writes signature files, named s0, s1, ..., and gives their tables."""

    def write(*texts: str) -> Tables:
        (tmp_path / "signatures").mkdir(exist_ok=True)
        (tmp_path / "meta.toml").write_text(
            'schema = "flashdoctor/matrices/v1"\ndate = "2026-11-30"\n', encoding="utf-8"
        )
        for number, text in enumerate(texts):
            file = tmp_path / "signatures" / f"s{number}.toml"
            file.write_text(text, encoding="utf-8")
        return Tables(tmp_path)

    return write


def test_the_signatures_of_this_checkout_are_without_mistakes(tables: Tables) -> None:
    assert signature_mistakes(tables) == []
    ids = [row.id for row in load_signatures(tables)]
    assert ids == sorted(set(ids))


def test_rows_become_objects(with_signatures: Write) -> None:
    tables = with_signatures(CAUSE, SIGNATURE)
    source = Source(url="a manual", checked=date(2026, 11, 30))
    assert load_causes(tables) == {
        "driver-too-old": Cause(
            name="driver-too-old",
            title="The driver is too old",
            layer="driver",
            severity="error",
            fix=Fix(text="Update to {torch.min_driver}.", commands=("echo {driver.version}",)),
            ask=("nvidia-smi",),
            sources=(source,),
        )
    }
    assert load_signatures(tables) == (
        Signature(
            id="LS1101",
            name="driver-too-old-line",
            cause="driver-too-old",
            strength="hint",
            keywords=("driver on your system is too old",),
            pattern=r"too old \(found version (?P<found>\d+)\)",
            captures={"found": "log.cuda_found"},
            convert={"found": "cuda_number"},
            sets={"log.phase": "import", "torch.cuda": None},
            when={"fact": "log.cuda_found", "op": "lt", "value": "12.4"},
            sources=(Source(url="another", checked=date(2026, 11, 29)),),
        ),
    )


def test_compiled_signatures_are_the_same(with_signatures: Write, tmp_path: Path) -> None:
    tables = with_signatures(CAUSE + SIGNATURE)
    compile_matrices(tmp_path, tmp_path / "wheel")
    compiled = Tables(tmp_path / "wheel")
    assert compiled.compiled
    assert load_signatures(compiled) == load_signatures(tables)
    assert load_causes(compiled) == load_causes(tables)


MISTAKES = [
    ('id = "LS1101"', 'id = "FD110"', "signature[0].id: expected LS and four digits"),
    ('cause = "driver-too-old"', 'cause = "driver-old"', "cause: no cause 'driver-old'"),
    ('"hint"', '"guess"', "signature[0].strength: expected one of proof, hint, symptom"),
    ('["driver on', '["Driver on', "keywords[0]: expected 4 small letters or more: 'Driver on"),
    ('["driver on', '["gpu", "driver on', "keywords[0]: expected 4 small letters or more: 'gpu'"),
    ("(?P<found>", "(?P<other>", "captures.found: the pattern has no group of that name"),
    ("(?P<found>", "(?P<other>", "pattern: nobody takes (?P<other>)"),
    ("\\d+)", "\\d+).*", "pattern: any character without end"),
    ("\\d+)", "\\d+", "pattern: expected a regular expression"),
    ('"log.cuda_found" }\nc', '"log.cuda" }\nc', "found: no fact 'log.cuda', did you mean"),
    ('"log.cuda_found" }\nc', '"gpu.devices" }\nc', "gpu.devices holds records"),
    ('"cuda_number"', '"number"', "convert.found: expected one of cuda_number,"),
    ('"cuda_number"', '"library"', "convert.found: library does not give a version"),
    ('{ found = "cuda_number"', '{ other = "cuda_number"', "convert.other: no such capture"),
    ('"log.phase" = "import"', '"log.phase" = 3', "sets.log.phase: expected text, got int"),
    ('"log.phase" = "import"', '"log.stage" = "x"', "sets: no fact 'log.stage'"),
    ('op = "lt"', 'op = "older"', "when.op: expected one of"),
    ('{ text = "x", facts = {} }', '"a\\nb"', "hits[1]: expected one line of text"),
    ('{ text = "x", facts = {} }', "3", "hits[1]: expected one line of text"),
    (', { text = "x", facts = {} }', "", "hits: expected 2 or more"),
    ("facts = {} }", 'fact = "x" }', "hits[1].fact: unknown key"),
    ("facts = {} }", 'facts = { "gpu.nam" = "x" } }', "hits[1].facts: no fact 'gpu.nam'"),
    ('misses = ["driver on your system is too old"]', "misses = []", "misses: expected at"),
    ("{torch.min_driver}", "{torch.min}", "cause[0].fix.text: no fact 'torch.min'"),
    ('severity = "error"', 'severity = "info"', "cause[0].severity: info and the layer benign"),
    ('layer = "driver"', 'layer = "gpu"', "cause[0].layer: expected one of host, driver,"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "mistake"), MISTAKES)
def test_a_mistake_is_named_with_its_place(
    with_signatures: Write, old: str, new: str, mistake: str
) -> None:
    text = CAUSE + SIGNATURE
    assert old in text
    with pytest.raises(MatrixError) as caught:
        load_signatures(with_signatures(text.replace(old, new, 1)))
    assert mistake in caught.value.message
    assert caught.value.message.startswith("signatures/s0.toml: ")


def test_every_mistake_in_every_file_is_reported_at_once(with_signatures: Write) -> None:
    again = SIGNATURE.replace('strength = "hint"', 'strength = "sure"')
    circle = CAUSE.replace("ask =", 'explained_by = ["driver-too-old", "nobody"]\nask =')
    found = signature_mistakes(with_signatures(circle + SIGNATURE, again, "= not TOML"))
    first, second = "signatures/s0.toml: ", "signatures/s1.toml: "
    assert [mistake.partition(": not TOML")[0] for mistake in found] == [
        f"{second}signature[0].strength: expected one of proof, hint, symptom, got 'sure'",
        "signatures/s2.toml",
        f"{first}cause[0].explained_by: no cause 'nobody'",
        f"{first}cause[0].explained_by: driver-too-old would follow itself",
        f"{second}signature[0].id: 'LS1101' is there already, at {first}signature[0]",
        f"{second}signature[0].name: {TWICE}, at {first}signature[0]",
    ]


def test_a_row_without_a_cause_must_state_something(with_signatures: Write) -> None:
    row = SIGNATURE.replace('cause = "driver-too-old"\n', "")
    assert signature_mistakes(with_signatures(CAUSE + row)) == []
    idle = "\n".join(
        line for line in row.splitlines() if not line.startswith(("captures", "convert", "sets"))
    )
    found = signature_mistakes(with_signatures(idle.replace("(?P<found>", "(")))
    assert found == [
        "signatures/s0.toml: signature[0]: neither points at a cause nor states a fact"
    ]
