from __future__ import annotations

import pytest

from flashdoctor.engine.candidates import HINT, PROOF, RULE, SYMPTOM, Candidate
from flashdoctor.engine.questions import ask, what_to_paste
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import Fact, known
from flashdoctor.model.finding import Finding, Question
from flashdoctor.model.rule import Severity
from flashdoctor.model.snapshot import Snapshot


def candidate(
    cause: str,
    standing: int,
    *commands: str,
    severity: Severity = "error",
    by: frozenset[str] = frozenset(),
) -> Candidate:
    finding = Finding(
        id=cause,
        name=cause,
        cause=cause,
        outcome="fail",
        severity=severity,
        title=f"It is {cause}",
        layer="torch",
    )
    return Candidate(cause=cause, standing=standing, finding=finding, ask=commands, explained_by=by)


def commands(
    *ranked: Candidate, kinds: tuple[str, ...] = (), facts: Snapshot | None = None
) -> list[str]:
    return [question.command for question in ask(ranked, kinds, facts or Snapshot())]


def test_nothing_is_asked_where_the_cause_is_plain() -> None:
    assert commands() == []
    assert commands(candidate("a", PROOF, "x"), candidate("b", HINT, "y")) == []
    assert commands(candidate("a", PROOF, "x", severity="info")) == []


def test_a_question_says_what_its_answer_would_confirm() -> None:
    assert ask([candidate("a", HINT, "nvidia-smi")], (), Snapshot()) == (
        Question(command="nvidia-smi", why="would confirm: It is a"),
    )


def test_what_is_only_pointed_at_is_asked_for() -> None:
    assert commands(candidate("a", SYMPTOM, "x", "y", "z")) == ["x", "y"]


def test_two_causes_that_are_close_are_asked_for_both() -> None:
    first, second = candidate("a", RULE, "x", "y"), candidate("b", RULE, "z")
    assert commands(first, second) == ["x", "z"]
    assert commands(first, candidate("b", RULE, "x")) == ["x"]


def test_a_consequence_is_no_rival() -> None:
    follows = candidate("b", PROOF, "z", by=frozenset({"a"}))
    assert commands(candidate("a", PROOF, "x"), follows) == []


def test_the_output_of_a_tool_that_was_pasted_is_not_asked_for() -> None:
    unsure = candidate("a", HINT, "nvidia-smi", "pip list | grep torch", "ldd x.so")
    assert commands(unsure) == ["nvidia-smi", "pip list | grep torch"]
    assert commands(unsure, kinds=("nvidia-smi", "torch collect_env")) == ["ldd x.so"]


CUDA = "python -c 'import torch; print(torch.__version__, torch.version.cuda)'"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([], [CUDA, "nvcc --version"]),
        ([known("torch.version", "2.6.0", "pip list")], [CUDA, "nvcc --version"]),
        (
            [
                known("torch.version", "2.6.0", "pip list"),
                known("torch.cuda", "12.4", "the package index's default wheel"),
                known("toolkit.version", "12.1", "nvcc"),
            ],
            [CUDA],
        ),
        (
            [
                known("torch.version", "2.6.0+cu124", "pip list"),
                known("torch.cuda", "12.4", "local tag of torch.version"),
            ],
            ["nvcc --version"],
        ),
    ],
)
def test_a_fact_that_was_stated_is_not_asked_for(facts: list[Fact], expected: list[str]) -> None:
    unsure = candidate("a", HINT, CUDA, "nvcc --version")
    assert commands(unsure, facts=snapshots.of(facts)) == expected


def test_a_stack_of_which_nothing_is_known_is_asked_for_whole() -> None:
    asked = what_to_paste(Snapshot())
    assert [question.command for question in asked] == [
        "python -m torch.utils.collect_env",
        "nvidia-smi",
    ]


def test_who_pasted_nvcc_is_told_what_it_does_not_say() -> None:
    facts = snapshots.of([known("toolkit.version", "12.4", "nvcc --version")])
    first, _ = what_to_paste(facts)
    assert "nvcc is the compiler" in first.why
