from __future__ import annotations

from datetime import date

import pytest

from flashdoctor.cli.selection import expand
from flashdoctor.errors import UsageError
from flashdoctor.model.rule import Example, Fix, Rule, Source

ONE = Rule(
    id="FD301",
    name="first-rule",
    cause="first-rule",
    title="One",
    layer="host",
    severity="error",
    unrequired="error",
    basis="inferred",
    fix=Fix(text="Mend it."),
    sources=(Source(url="x", checked=date(2026, 11, 30)),),
    examples=(Example(facts={}, expect="skip"),),
    check="first-rule",
)
RULES = (ONE, ONE._replace(id="FD311", name="second-rule"), ONE._replace(id="FD901", name="third"))


@pytest.mark.parametrize(
    ("items", "ids"),
    [
        ([], ()),
        (["FD301"], ("FD301",)),
        (["fd3"], ("FD301", "FD311")),
        (["FD31, third"], ("FD311", "FD901")),
        (["second-rule", "FD3"], ("FD311", "FD301")),
        (["Third"], ("FD901",)),
        (["FD"], ("FD301", "FD311", "FD901")),
    ],
)
def test_ids_names_and_beginnings(items: list[str], ids: tuple[str, ...]) -> None:
    assert expand("--select", items, RULES) == ids


def test_every_unknown_word_is_named() -> None:
    with pytest.raises(UsageError) as raised:
        expand("--ignore", ["FD30l,first-rul,FD311"], RULES)
    assert raised.value.message == (
        "--ignore: no rule 'FD30l'; did you mean 'FD301'?;"
        " --ignore: no rule 'first-rul'; did you mean 'first-rule'?"
    )


@pytest.mark.parametrize("items", [[""], [" , "]])
def test_naming_nothing_is_a_mistake(items: list[str]) -> None:
    with pytest.raises(UsageError, match="names no rule"):
        expand("--select", items, RULES)
