from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.data.folklore import (
    about_plan,
    claim_named,
    launched_by,
    load_claims,
    mentioned,
    search,
)
from flashdoctor.data.tables import load_tables
from flashdoctor.model.claim import Claim

TABLES = load_tables()
CLAIMS = load_claims(TABLES)


def names(found: object) -> list[str]:
    return [claim.id for claim in found]  # type: ignore[attr-defined]


def test_there_are_the_first_23_and_25_more_that_say_where_they_were_met() -> None:
    met = [claim for claim in CLAIMS if claim.said]
    assert len(met) >= 25
    assert len(CLAIMS) - len(met) >= 23
    for claim in CLAIMS:
        assert claim.truth.endswith(".")
        assert claim.source
        assert claim.keywords
        assert claim.verdict != "outdated" or claim.since


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_is_found_by_its_hits_and_in_none_of_its_misses(claim: Claim) -> None:
    assert bool(claim.hits) == bool(claim.patterns or claim.launch)
    for text in claim.hits:
        assert claim.is_in(text) or claim.is_in_launch(text)
    for text in claim.misses:
        assert not claim.is_in(text)
        assert not claim.is_in_launch(text)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_is_found_first_by_its_name_and_by_its_own_words(claim: Claim) -> None:
    assert search(CLAIMS, [claim.id])[0].share == 1
    assert claim.id in [match.claim.id for match in search(CLAIMS, [claim.id])]
    assert search(CLAIMS, [claim.claim])[0].claim.id == claim.id
    assert claim_named(TABLES, claim.id) is claim


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("flash-attn T4", "fa2-turing"),
        ("power of two", "tp-power-of-two"),
        ("does nvidia-smi show the CUDA toolkit", "nvidia-smi-cuda"),
        ("wsl driver", "wsl-linux-driver"),
        ("VLLM_ATTENTION_BACKEND", "vllm-attention-backend-variable"),
        ("A100 FA3", "a100-fa3"),
    ],
)
def test_words_find_the_claim_they_mean(words: str, first: str) -> None:
    assert search(CLAIMS, words.split())[0].claim.id == first


def test_no_words_give_all_and_foreign_words_none() -> None:
    assert [match.claim for match in search(CLAIMS, [])] == list(CLAIMS)
    assert search(CLAIMS, ["xylophone"]) == []
    assert claim_named(TABLES, "xylophone") is None


def test_logs_commands_and_plans_point_at_claims() -> None:
    log = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
    assert names(mentioned(TABLES, log, "7.5")) == ["fa2-turing"]
    assert names(mentioned(TABLES, log, "12.0")) == ["fa2-blackwell"]
    assert names(mentioned(TABLES, log)) == names(mentioned(TABLES, log, "8.9")) == []
    assert names(about_plan(TABLES, ["fa3"], "NVIDIA A100-SXM4-80GB")) == ["a100-fa3"]
    assert names(about_plan(TABLES, ["vllm", "flash-attn"], "L4")) == ["vllm-needs-flash-attn"]
    assert names(about_plan(TABLES, ["vllm"], "L4")) == []
    old, new = (
        names(launched_by(TABLES, "VLLM_ATTENTION_BACKEND=FLASHINFER", version))
        for version in ("0.12.0", "0.20.0")
    )
    assert (old, new) == ([], ["vllm-attention-backend-variable"])


def test_plain_reports_carry_no_claim() -> None:
    text = "torch 2.8.0+cu128, vllm 0.10.2, flash-attn 2.8.3, L4, driver 580.65.06\nvllm serve m\n"
    assert mentioned(TABLES, text) == ()


WORDS = sorted({word for claim in CLAIMS for text in claim.hits for word in re.split(r"\s", text)})


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_text_is_looked_through(text: str) -> None:
    assert set(mentioned(TABLES, text)) <= set(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_hostile_repetition_does_not_hold_anybody_up(claim: Claim) -> None:
    started = time.process_time()
    for text in claim.hits:
        for piece in (text[:20], text.split()[0], text[:-2]):
            mentioned(TABLES, (piece + " ") * (20_000 // len(piece)))
            mentioned(TABLES, piece * (20_000 // len(piece)))
    assert time.process_time() - started < 5
