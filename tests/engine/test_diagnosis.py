"""Readings made by hand, judged with the real tables and rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flashdoctor.data.rules import load_rules
from flashdoctor.data.tables import load_tables
from flashdoctor.engine.diagnosis import Knowledge, diagnose
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import known
from flashdoctor.model.finding import Finding, Report
from flashdoctor.model.log import Cause, Match, Reading, Signature
from flashdoctor.model.rule import Fix
from flashdoctor.model.snapshot import Conflict, Snapshot

TABLES = load_tables()
RULES = load_rules(TABLES)


def cause(name: str, layer: str = "driver", severity: Any = "error", **more: Any) -> Cause:
    fix = more.pop("fix", Fix(text=f"Mend {name}."))
    return Cause(name=name, title=f"It is {name}", layer=layer, severity=severity, fix=fix, **more)


CAUSES = {
    row.name: row
    for row in (
        cause("driver-too-old-for-cuda", ask=("nvidia-smi",)),
        cause("gpu-arch-not-in-torch-wheel", "torch"),
        cause(
            "cuda-out-of-memory",
            "framework",
            fix=Fix(text="Lower it.", commands=("echo {log.memory_free_gib}", "echo {gpu.count}")),
        ),
        cause("torch-cuda-unavailable", "torch", explained_by=("driver-too-old-for-cuda",)),
        cause("benign-notice", "benign", "info"),
    )
}


def row(cause_name: str, id_: str = "LS1000", **changes: Any) -> Signature:
    return Signature(
        id=id_, name=id_.lower(), keywords=("x",), pattern="", cause=cause_name, **changes
    )


def met(signature: Signature, line: int, text: str = "it failed", **facts: Any) -> Match:
    state = snapshots.of(known(p.replace("__", "."), v, "the text") for p, v in facts.items())
    return Match(signature=signature, line=line, text=text, facts=state)


def judge(
    *matches: Match, facts: dict[str, Any] | None = None, trust: int = 3, **options: Any
) -> Report:
    stated = facts or {}
    reading = Reading(
        snapshot=snapshots.of(known(path, value, "a tool") for path, value in stated.items()),
        matches=matches,
        where={path: place for place, path in enumerate(stated, start=101)},
        trust=dict.fromkeys(stated, trust),
    )
    return diagnose(reading, Knowledge(tables=TABLES, rules=RULES, causes=CAUSES), **options)


def first(report: Report) -> Finding:
    return report.findings[0]


OLD_DRIVER = {"driver.version": "470.82.01", "torch.version": "2.6.0+cu124", "os.system": "Linux"}
UNAVAILABLE = row("torch-cuda-unavailable", "LS2000", strength="symptom")


def test_nothing_read_is_undetermined_and_says_what_to_paste() -> None:
    report = judge()
    assert (report.verdict, report.exit_code) == ("undetermined", 3)
    assert "nvidia-smi" in [question.command for question in report.ask]
    assert "torch.version" in report.missing


def test_a_line_becomes_a_finding_with_its_number_and_text() -> None:
    report = judge(met(row("driver-too-old-for-cuda"), 7, "the driver of /home/anna is too old"))
    found = first(report)
    assert (report.verdict, report.exit_code) == ("fail", 1)
    assert (found.cause, found.id, found.rank, found.certainty) == (
        "driver-too-old-for-cuda",
        "LS1000",
        1,
        "certain",
    )
    assert [item.to_json() for item in found.evidence] == [
        {"line": 7, "value": "the driver of ~ is too old", "where": "line 7"}
    ]
    assert found.title == "It is driver-too-old-for-cuda"
    assert found.fix.text == "Mend driver-too-old-for-cuda."


def test_a_line_and_a_rule_of_one_cause_are_one_finding() -> None:
    report = judge(met(row("driver-too-old-for-cuda"), 7), facts=OLD_DRIVER)
    found = first(report)
    assert (found.id, found.certainty) == ("FD121", "certain")
    assert [item.cause for item in report.findings].count("driver-too-old-for-cuda") == 1
    assert found.evidence[0].line == 7
    driver = next(item for item in found.evidence if item.fact == "driver.version")
    assert driver.where == "a tool, line 101"
    assert found.fix.text != "Mend driver-too-old-for-cuda."


def test_a_rule_over_reported_facts_needs_no_line() -> None:
    report = judge(facts=OLD_DRIVER)
    assert (first(report).id, first(report).severity) == ("FD121", "error")
    assert first(report).certainty == "likely"
    assert report.exit_code == 1


def test_what_is_only_mentioned_is_at_most_a_warning() -> None:
    report = judge(facts=OLD_DRIVER, trust=1)
    assert (first(report).id, first(report).severity) == ("FD121", "warning")
    assert report.exit_code == 3


def test_a_guess_about_the_wheel_is_at_most_a_warning() -> None:
    facts = {**OLD_DRIVER, "torch.version": "2.6.0"}
    assert first(judge(facts=facts)).severity == "warning"
    assert first(judge(met(UNAVAILABLE, 3), facts=facts)).cause == "torch-cuda-unavailable"


def test_what_an_images_name_stands_for_is_at_most_a_warning() -> None:
    facts = {"launch.image": "nvcr.io/nvidia/pytorch:25.08-py3", "driver.version": "470.82.01"}
    report = judge(facts={**facts, "os.system": "Linux"})
    assert (first(report).cause, report.verdict) == ("driver-too-old-for-cuda", "warn")


def test_what_rests_on_a_development_build_is_at_most_a_warning() -> None:
    packages = {"vllm.version": "0.16.0rc2.dev147+gf120bd42d", "transformers.version": "5.2.0"}
    assert first(judge(facts=packages)).severity == "warning"
    assert first(judge(facts={**packages, "vllm.version": "0.16.0"})).severity == "error"


def test_a_rule_that_explains_a_symptom_stands_above_it() -> None:
    report = judge(met(UNAVAILABLE, 3), facts=OLD_DRIVER)
    found = {item.cause: item for item in report.findings}
    assert first(report).cause == "driver-too-old-for-cuda"
    assert found["torch-cuda-unavailable"].follows == "FD121"


def test_a_hint_that_a_rule_supports_is_certain() -> None:
    hint = met(row("driver-too-old-for-cuda", strength="hint"), 7)
    assert first(judge(hint)).certainty == "likely"
    assert first(judge(hint, facts=OLD_DRIVER)).certainty == "certain"
    assert first(judge(hint, facts=OLD_DRIVER, trust=1)).certainty == "likely"


def test_a_row_whose_condition_does_not_hold_gives_nothing() -> None:
    condition = {"fact": "gpu.compute_capability", "op": "lt", "value": "8.0"}
    signature = row("cuda-out-of-memory", when=condition)
    assert judge(met(signature, 1), facts={"gpu.name": "Tesla T4"}).findings
    assert not judge(met(signature, 1), facts={"gpu.name": "NVIDIA A100-SXM4-80GB"}).findings


def test_the_fix_is_filled_with_what_the_line_says() -> None:
    report = judge(met(row("cuda-out-of-memory"), 1, log__memory_free_gib=1.5))
    assert first(report).fix.commands == ("echo 1.5",)


def test_what_a_row_asks_about_is_evidence_and_what_differs_is_said() -> None:
    condition = {"fact": "gpu.compute_capability", "op": "lt", "value": "8.0"}
    match = met(row("cuda-out-of-memory", when=condition), 1)
    tesla, other = known("gpu.name", "Tesla T4", "nvidia-smi"), known("gpu.name", "V100", "a list")
    reading = Reading(
        snapshot=Snapshot({"gpu.name": tesla}, (Conflict(kept=tesla, dropped=other),)),
        matches=(match,),
        where={"gpu.name": 20},
        trust={"gpu.name": 3},
    )
    report = diagnose(reading, Knowledge(tables=TABLES, rules=(), causes=CAUSES))
    [line, capability] = first(report).evidence
    assert (line.line, capability.fact, capability.value) == (1, "gpu.compute_capability", "7.5")
    named = met(row("cuda-out-of-memory", when={"fact": "gpu.name", "op": "known"}), 1)
    report = diagnose(
        replace(reading, matches=(named,)), Knowledge(tables=TABLES, rules=(), causes=CAUSES)
    )
    assert first(report).evidence[1].where == "nvidia-smi, line 20; a list says V100"


def test_the_own_fix_title_and_severity_of_a_row_go_first() -> None:
    signature = row(
        "cuda-out-of-memory", title="No room", severity="warning", fix=Fix(text="Wait.")
    )
    report = judge(met(signature, 1))
    assert (first(report).title, first(report).severity) == ("No room", "warning")
    assert first(report).fix.text == "Wait."
    assert (report.verdict, report.exit_code) == ("warn", 0)


def test_the_best_line_stands_first_among_the_evidence() -> None:
    hint = row("cuda-out-of-memory", "LS1", strength="hint")
    proof = row("cuda-out-of-memory", "LS2")
    report = judge(met(hint, 2, "hint"), met(proof, 9, "proof"), met(proof, 30, "again"))
    assert [item.line for item in first(report).evidence] == [9, 30, 2]
    assert first(report).id == "LS2"


def test_no_more_than_a_few_lines_are_quoted() -> None:
    report = judge(*(met(row("cuda-out-of-memory"), line) for line in range(1, 30)))
    assert [item.line for item in first(report).evidence] == [1, 2, 3, 4, 5]


def test_what_is_harmless_stays_harmless() -> None:
    report = judge(met(row("benign-notice"), 4))
    assert [item.severity for item in report.findings] == ["info"]
    assert (report.verdict, report.exit_code, report.ask) == ("pass", 0, ())


def test_a_stack_that_was_reported_and_has_no_fault_passes() -> None:
    facts = {"driver.version": "580.95.05", "torch.version": "2.9.1+cu130", "gpu.name": "H100"}
    assert judge(facts=facts).verdict == "pass"
    assert judge(facts=facts, trust=1).verdict == "undetermined"


@pytest.mark.parametrize(
    ("fail_on", "severity", "expected"),
    [("never", "error", 0), ("warning", "warning", 1), ("error", "warning", 0)],
)
def test_the_exit_code_follows_fail_on(fail_on: Any, severity: Any, expected: int) -> None:
    match = met(row("cuda-out-of-memory", severity=severity), 1)
    assert judge(match, fail_on=fail_on).exit_code == expected


def test_what_the_text_launches_is_required() -> None:
    facts = {"engine.name": "vllm", "launch.attn_implementation": "flash_attention_2"}
    report = judge(facts=facts, required=frozenset({"sdpa"}))
    assert report.required == ("flash-attn", "sdpa", "vllm")


def test_a_hint_asks_for_what_would_confirm_it() -> None:
    hint = row("driver-too-old-for-cuda", strength="hint")
    assert [question.command for question in judge(met(hint, 1)).ask] == ["nvidia-smi"]
    assert judge(met(row("driver-too-old-for-cuda"), 1)).ask == ()


def test_a_parser_that_crashed_is_named() -> None:
    reading = Reading(snapshot=snapshots.of(()), crashed=("nvidia-smi: ValueError: x",))
    report = diagnose(reading, Knowledge(tables=TABLES, rules=RULES, causes=CAUSES))
    assert [item.reason for item in report.skipped if item.id == "parser"] == [
        "nvidia-smi: ValueError: x"
    ]


def test_a_rule_that_crashes_is_a_warning_at_the_end(make_rule: Any) -> None:
    broken = make_rule(id="FD999", check="no-such-check", when=None)
    knowledge = Knowledge(tables=TABLES, rules=[broken], causes=CAUSES)
    reading = Reading(snapshot=snapshots.of(()), matches=(met(row("benign-notice"), 4),))
    report = diagnose(reading, knowledge)
    assert [(item.cause, item.severity, item.rank) for item in report.findings] == [
        ("benign-notice", "info", 1),
        ("rule-crashed", "warning", 2),
    ]
    assert report.exit_code == 0


def test_the_same_reading_gives_the_same_report() -> None:
    matches = [met(UNAVAILABLE, 3), met(row("cuda-out-of-memory"), 9)]
    assert judge(*matches, facts=OLD_DRIVER) == judge(*matches, facts=OLD_DRIVER)


CPU = {"torch.version": "2.7.1+cpu", "os.system": "Windows"}


def severity_of_a_cpu_build(**options: Any) -> str:
    found = [item for item in judge(**options).findings if item.cause == "torch-cpu-only-wheel"]
    return found[0].severity


def test_a_torch_without_cuda_is_an_error_where_a_gpu_is_there_or_asked_for() -> None:
    assert severity_of_a_cpu_build(facts=CPU) == "warning"
    assert severity_of_a_cpu_build(facts={**CPU, "gpu.name": "Tesla T4"}) == "error"
    assert severity_of_a_cpu_build(facts={**CPU, "driver.version": "580.65.06"}) == "error"
    assert severity_of_a_cpu_build(facts=CPU, required=frozenset({"sdpa"})) == "error"
