from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor import pipeline
from flashdoctor.errors import UsageError
from flashdoctor.resolve.wants import (
    COMPONENTS,
    PATHS,
    Want,
    default_wants,
    parse_names,
    parse_wants,
    required,
)


@pytest.mark.parametrize(
    ("text", "name", "specifier"),
    [
        ("vllm", "vllm", ""),
        ("vllm==0.10.2", "vllm", "==0.10.2"),
        (" vllm >= 0.9 , < 0.11 ", "vllm", ">=0.9,<0.11"),
        ("flash_attn==2.8.3.post1", "flash-attn", "==2.8.3.post1"),
        ("FA2", "flash-attn", ""),
        ("flash-attn-3", "fa3", ""),
        ("sdpa", "torch", ""),
        ("transformers~=4.56", "transformers", "~=4.56"),
    ],
)
def test_a_want_is_a_name_and_a_specifier(text: str, name: str, specifier: str) -> None:
    assert parse_wants([text]) == (Want(name, specifier),)


def test_wants_come_in_one_order_and_once() -> None:
    assert parse_wants(["transformers", "vllm", "vllm"]) == (Want("vllm"), Want("transformers"))
    assert [str(want) for want in parse_wants(["torch==2.8.0"])] == ["torch==2.8.0"]


def test_every_mistake_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        parse_wants(["sglang", "vllm=0.9", "", "vllm==1", "vllm==2"])
    for word in ("'sglang'", "'vllm=0.9'", "''", "vllm==1 and vllm==2"):
        assert word in caught.value.message
    with pytest.raises(UsageError, match="--keep: cannot be planned: 'numpy'"):
        parse_names("--keep", ["torch", "numpy"])


def test_names_are_read_in_every_spelling() -> None:
    assert parse_names("--keep", ["flash_attn", "Torch", "torch"]) == ("flash-attn", "torch")


def test_a_want_takes_what_its_specifier_says() -> None:
    want = Want("vllm", ">=0.9,<0.11")
    assert want.takes("0.10.2")
    assert not want.takes("0.11.2")
    assert Want("vllm").takes("0.2.7")


def test_every_component_has_a_fact_and_a_rule_for_it() -> None:
    assert COMPONENTS.keys() == PATHS.keys()
    assert required(parse_wants(COMPONENTS)) == tuple(COMPONENTS.values())


def test_the_default_is_what_is_installed() -> None:
    facts = pipeline.assume(["torch=2.8.0", "vllm=0.10.2", "flash_attn=absent"])
    assert default_wants(facts) == (Want("vllm"),)
    assert default_wants(pipeline.assume(["torch=2.8.0"])) == (Want("flash-attn"),)


@given(st.lists(st.text(max_size=20), max_size=4))
def test_any_text_is_read_or_refused(items: list[str]) -> None:
    wants: tuple[Want, ...] = ()
    with suppress(UsageError):
        wants = parse_wants(items)
    assert {want.name for want in wants} <= set(COMPONENTS)
