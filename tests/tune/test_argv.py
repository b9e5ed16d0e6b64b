from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.tune.argv import Given, Parsed, parse
from flashdoctor.tune.flags import read_table
from flashdoctor.tune.words import Word

TABLES = load_tables()


def read(text: str, version: str = "0.10.2") -> Parsed:
    return parse([Word(word) for word in text.split()], read_table(TABLES, version))


def only(text: str, version: str = "0.10.2") -> Given:
    [one] = read(text, version).given
    return one


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("--max_num_seqs 4", "max-num-seqs", ("4",)),
        ("--max-num-seqs=4", "max-num-seqs", ("4",)),
        ("--gpu-mem 0.9", "gpu-memory-utilization", ("0.9",)),
        ("--kv-cache-memory=1", "kv-cache-memory-bytes", ("1",)),
        ("-tp 2", "tensor-parallel-size", ("2",)),
        ("-tp=2", "tensor-parallel-size", ("2",)),
        ("--served-model-name a b c", "served-model-name", ("a", "b", "c")),
        ("--enforce-eager true", "enforce-eager", ("true",)),
        ("--enforce-eager model", "enforce-eager", ()),
        ("--max-logprobs -1", "max-logprobs", ("-1",)),
        ("--hf-token", "hf-token", ()),
    ],
)
def test_names_and_values(text: str, name: str, values: tuple[str, ...]) -> None:
    one = only(text)
    assert (one.name, one.values) == (name, values)
    assert one.flag is not None


@pytest.mark.parametrize(
    ("text", "version", "negative"),
    [
        ("--no-enable-prefix-caching", "0.10.2", True),
        ("--no_enable_prefix", "0.10.2", True),
        ("--enable-prefix-caching", "0.10.2", False),
        ("--disable-prefix-caching", "0.33.0", True),
        ("--disable-log-requests", "0.33.0", True),
    ],
)
def test_negatives_of_switches(text: str, version: str, negative: bool) -> None:
    one = only(text, version)
    assert one.flag is not None
    assert one.negative is negative


def test_the_negative_by_disable_came_late() -> None:
    assert only("--disable-prefix-caching", "0.32.0").flag is None


@pytest.mark.parametrize(
    ("text", "version", "name", "key"),
    [
        ("-O3", "0.10.2", "compilation-config", "level"),
        ("-O 3", "0.10.2", "compilation-config", "level"),
        ("-O.level=3", "0.10.2", "compilation-config", "level"),
        ("-O=3", "0.12.0", "optimization-level", ""),
        ("-O3", "0.12.0", "optimization-level", ""),
        ("-O 3", "0.12.0", "optimization-level", ""),
        ("-cc.mode=3", "0.12.0", "compilation-config", "mode"),
        ("--compilation_config.pass_config.x 1", "0.12.0", "compilation-config", "pass_config.x"),
        ("--compilation-config.sizes+ 1", "0.12.0", "compilation-config", "sizes"),
        ("-ac.backend FLASHINFER", "0.20.0", "attention-config", "backend"),
    ],
)
def test_levels_and_dotted_keys(text: str, version: str, name: str, key: str) -> None:
    one = only(text, version)
    assert (one.name, one.key, len(one.values)) == (name, key, 1)


def test_an_ambiguous_beginning_names_what_it_could_be() -> None:
    one = only("--max-num 3")
    assert one.flag is None
    assert {"--max-num-seqs", "--max-num-batched-tokens"} <= set(one.options)


def test_what_belongs_to_no_flag_is_kept() -> None:
    parsed = read("model --port 80 more -- --port")
    assert parsed.words == ("model", "more", "--port")
    assert read("--nonsense value").given[0].flag is None


def test_the_last_mention_counts() -> None:
    last = read("--port 1 --port 2").last("port")
    assert last is not None
    assert last.values == ("2",)


@settings(deadline=None)  # the first example reads the tables
@given(st.lists(st.text(max_size=12), max_size=12))
def test_any_words_can_be_sorted_and_none_is_lost(words: list[str]) -> None:
    parsed = parse([Word(word) for word in words], read_table(TABLES, "0.33.0"))
    assert len(parsed.given) + len(parsed.words) <= len(words)
