from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.engine.candidates import HINT, PROOF, RULE, SYMPTOM, WEAK, Candidate
from flashdoctor.engine.suspects import order
from flashdoctor.model.finding import Finding
from flashdoctor.model.rule import Severity


def candidate(
    cause: str,
    standing: int = PROOF,
    severity: Severity = "error",
    *,
    layer: str = "torch",
    line: int = 1,
    by: tuple[str, ...] = (),
    warned: bool = False,
    supported: bool = False,
) -> Candidate:
    finding = Finding(
        id=f"LS-{cause}",
        name=cause,
        cause=cause,
        outcome="fail",
        severity=severity,
        title=cause,
        layer=layer,
    )
    return Candidate(
        cause=cause,
        standing=standing,
        finding=finding,
        line=line,
        explained_by=frozenset(by),
        warned=warned,
        supported=supported,
    )


def names(*candidates: Candidate) -> list[str]:
    return [item.cause for item in order(candidates)]


def test_severity_goes_before_everything_else() -> None:
    assert names(
        candidate("benign", severity="info", layer="benign"),
        candidate("warned", severity="warning", layer="host"),
        candidate("failed", SYMPTOM, layer="multi-gpu"),
    ) == ["failed", "warned", "benign"]


def test_a_line_that_names_the_fault_goes_before_what_only_points_there() -> None:
    assert names(
        candidate("symptom", SYMPTOM, layer="host"),
        candidate("weak", WEAK, layer="host"),
        candidate("hint", HINT, layer="host"),
        candidate("rule", RULE, layer="host"),
        candidate("proof", layer="framework"),
    ) == ["proof", "rule", "hint", "weak", "symptom"]


def test_among_equals_the_deeper_layer_then_the_later_line() -> None:
    assert names(
        candidate("kernel", layer="kernel", line=90),
        candidate("early", line=3),
        candidate("late", line=40),
        candidate("driver", layer="driver", line=2),
    ) == ["driver", "late", "early", "kernel"]


def test_an_error_goes_before_a_warning_and_what_a_rule_supports_before_the_rest() -> None:
    assert names(
        candidate("warned", layer="host", warned=True),
        candidate("deep", layer="driver"),
        candidate("supported", layer="kernel", supported=True),
    ) == ["supported", "deep", "warned"]
    assert names(
        candidate("failed", by=("warned",)), candidate("warned", layer="kernel", warned=True)
    ) == ["warned", "failed"]


def test_what_explains_a_cause_stands_above_it() -> None:
    ranked = order(
        [
            candidate("out-of-memory", line=9, by=("held-by-others", "not-there")),
            candidate("held-by-others", HINT, "warning", layer="framework"),
            candidate("other-fault", layer="quantization"),
            candidate("deeper-fault", layer="cuda"),
        ]
    )
    found = [(item.cause, item.finding.rank, item.finding.follows) for item in ranked]
    assert found == [
        ("deeper-fault", 1, None),
        ("other-fault", 2, None),
        ("held-by-others", 3, None),
        ("out-of-memory", 4, "LS-held-by-others"),
    ]


def test_the_root_of_an_error_is_an_error_where_a_line_bears_it_out() -> None:
    follows = candidate("failed", by=("root", "ruled"))
    root, ruled = order([follows, candidate("root", HINT, "warning")])[:2]
    assert (root.cause, root.finding.severity) == ("root", "error")
    assert ruled.explained_by == {"root"}
    by_rule = order([follows, candidate("ruled", RULE, "warning")])
    assert [item.finding.severity for item in by_rule] == ["warning", "error"]


def test_a_symptom_explains_nothing_and_nor_does_what_is_harmless() -> None:
    ranked = order(
        [
            candidate("failed", by=("symptom", "weak", "benign")),
            candidate("symptom", SYMPTOM),
            candidate("weak", WEAK, "warning"),
            candidate("benign", PROOF, "info", layer="benign"),
        ]
    )
    assert [item.cause for item in ranked] == ["failed", "symptom", "weak", "benign"]
    assert ranked[0].finding.follows is None


def test_chains_are_followed_to_their_end() -> None:
    assert names(
        candidate("c", by=("b",)), candidate("b", HINT, by=("a",)), candidate("a", HINT)
    ) == ["a", "b", "c"]


def test_causes_that_explain_one_another_are_both_kept() -> None:
    ranked = order([candidate("a", by=("b",)), candidate("b", line=5, by=("a",))])
    assert sorted(item.cause for item in ranked) == ["a", "b"]
    assert [item.finding.follows is None for item in ranked] == [True, False]


CAUSES = "abcdefgh"
LINKS = st.lists(st.sampled_from(CAUSES), max_size=4).map(tuple)


@given(
    st.lists(
        st.builds(
            candidate,
            st.sampled_from(CAUSES),
            st.integers(PROOF, SYMPTOM),
            st.sampled_from(["error", "warning", "info"]),
            layer=st.sampled_from(["host", "torch", "benign"]),
            line=st.integers(1, 5),
            by=LINKS,
            warned=st.booleans(),
            supported=st.booleans(),
        ),
        unique_by=lambda item: item.cause,
    )
)
def test_nothing_is_lost_and_what_explains_stands_above(items: list[Candidate]) -> None:
    ranked = order(items)
    places: dict[str, int] = {item.cause: item.finding.rank for item in ranked}
    assert sorted(places) == sorted(item.cause for item in items)
    assert list(places.values()) == list(range(1, len(items) + 1))
    ids: dict[Any, str] = {item.finding.id: item.cause for item in ranked}
    for item in ranked:
        if item.finding.follows:
            assert places[ids[item.finding.follows]] < item.finding.rank
    assert [i.cause for i in order(reversed(items))] == [i.cause for i in ranked]
