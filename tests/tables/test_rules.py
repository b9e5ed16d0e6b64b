from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from flashdoctor.data.compile import compile_matrices
from flashdoctor.data.rows import PLACEHOLDER
from flashdoctor.data.rules import load_rules, rule_mistakes
from flashdoctor.data.tables import Tables
from flashdoctor.errors import MatrixError
from flashdoctor.model.rule import Example, Fix, Rule, Source

Write = Callable[..., Tables]
Text = Callable[..., str]


def test_the_rules_of_this_checkout_are_without_mistakes(tables: Tables) -> None:
    assert rule_mistakes(tables) == []
    ids = [rule.id for rule in load_rules(tables)]
    assert ids == sorted(set(ids))


def test_a_row_becomes_a_rule(with_rules: Write, rule: Text) -> None:
    assert load_rules(with_rules(rule())) == (
        Rule(
            id="FD101",
            name="driver-too-old",
            cause="driver-too-old",
            title="The driver is older than this torch needs",
            layer="driver",
            severity="error",
            unrequired="error",
            basis="documented",
            fix=Fix(
                text="Update the driver.", commands=("echo {torch.min_driver} {advice.index}",)
            ),
            sources=(Source(url="NVIDIA CUDA Compatibility guide", checked=date(2026, 11, 30)),),
            examples=(
                Example(
                    facts={"driver.version": "450.80.02", "torch.version": "2.11.0"}, expect="fail"
                ),
                Example(
                    facts={
                        "driver.version": "610.43.02",
                        "torch.version": "2.11.0",
                        "wsl.version": None,
                    },
                    expect="pass",
                    require=("vllm",),
                ),
            ),
            when={"fact": "driver.version", "op": "lt", "ref": "torch.min_driver"},
        ),
    )


def test_optional_keys_are_taken_over(with_rules: Write, rule: Text) -> None:
    more = (
        'name = "driver-too-old" => name = "driver-too-old"\ncause = "other"\n'
        'component = "vllm"\nunrequired = "info"\ndecides = ["vllm"]\nnote = "why"'
    )
    second = rule(
        a='"FD101" => "FD102"',
        b='"driver-too-old" => "second"',
        c='basis => follows = ["FD101"]\nbasis',
        d='when = { fact = "driver.version", op = "lt", ref = "torch.min_driver" } '
        '=> check = "some-check"',
    )
    first_rule, second_rule = load_rules(with_rules(rule(a=more), second))
    assert (first_rule.cause, first_rule.component, first_rule.unrequired) == (
        "other",
        "vllm",
        "info",
    )
    assert (first_rule.decides, first_rule.note) == (("vllm",), "why")
    assert (second_rule.follows, second_rule.check, second_rule.when) == (
        ("FD101",),
        "some-check",
        None,
    )


def test_compiled_rules_are_equal_to_the_parsed_ones(
    with_rules: Write, rule: Text, matrices: Path, tmp_path: Path
) -> None:
    parsed = load_rules(with_rules(rule(), rule(a='"FD101" => "FD100"', b="too-old => too-new")))
    compile_matrices(matrices, tmp_path / "out")
    assert load_rules(Tables(tmp_path / "out")) == parsed
    assert [one.id for one in parsed] == ["FD100", "FD101"]


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ('"FD101" => "FD001"', "rule[0].id: expected FD and three digits"),
        ('"FD101" => "fd101"', "rule[0].id: expected FD and three digits"),
        ('"driver-too-old" => "Driver_too_old"', "rule[0].name: expected words of small letters"),
        ('"driver"\n => "drivers"\n', "rule[0].layer: expected one of host, driver, launch"),
        ('"error" => "fatal"', "rule[0].severity: expected one of error, warning, info"),
        ('"documented" => "guessed"', "rule[0].basis: expected one of measured"),
        ("basis => component = 'fa5'\nbasis", "rule[0].component: expected one of sdpa"),
        ("basis => sevrity = 'info'\nbasis", "rule[0].sevrity: unknown key"),
        ("basis => check = 'x'\nbasis", "rule[0]: expected `when` or `check`, one of them"),
        ('op = "lt" => op = "older"', "rule[0].when.op: expected one of eq"),
        ('"torch.min_driver" } => "torch.mindriver" }', "did you mean 'torch.min_driver'?"),
        ("{torch.min_driver} => {torch.driver_min}", "rule[0].fix.commands[0]: no fact"),
        ('"Update the driver." => "Take {index}."', "rule[0].fix.text: no fact 'index'"),
        ('text = "Update the driver." => text = " "', "rule[0].fix.text: expected a text that is"),
        (
            'fix = { => fix = { safety = "risky", ',
            "rule[0].fix.safety: expected one of safe, disruptive, manual",
        ),
        ("checked = 2026-11-30 => checked = '2026'", "rule[0].source[0].checked: expected date"),
        ("url => link", "rule[0].source[0].url: missing"),
        ('expect = "fail" => expect = "skip"', "rule[0].example: none of them expects 'fail'"),
        ('expect = "pass" => expect = "fail"', "rule[0].example: none of them expects 'pass'"),
        ('expect = "pass" => expect = "good"', "rule[0].example[1].expect: expected one of fail"),
        ('require = ["vllm"] => require = ["sglang"]', "rule[0].example[1].require[0]: expected"),
        ('"wsl.version" => wsl.version', "rule[0].example[1].facts: no fact 'wsl'"),
        ('"wsl.version" = "absent" => "wsl.version" = "2"', "facts.wsl.version: expected a number"),
        ("basis => follows = ['FD999']\nbasis", "rule[0].follows: no rule 'FD999'"),
        ("basis => follows = ['FD101']\nbasis", "rule[0].follows: FD101 would follow itself"),
    ],
)
def test_each_mistake_is_named(with_rules: Write, rule: Text, change: str, mistake: str) -> None:
    with pytest.raises(MatrixError) as caught:
        load_rules(with_rules(rule(a=change)))
    lines = caught.value.message.splitlines()
    assert any(line.startswith("rules/r0.toml: ") and mistake in line for line in lines), lines


def test_a_rule_without_sources_or_examples_is_a_mistake(with_rules: Write, rule: Text) -> None:
    text = rule().partition("source = ")[0] + "source = []\n"
    assert rule_mistakes(with_rules(text)) == [
        "rules/r0.toml: rule[0].source: expected at least one",
        "rules/r0.toml: rule[0].example: missing",
    ]


def test_ids_and_names_are_unique_across_files(with_rules: Write, rule: Text) -> None:
    assert rule_mistakes(with_rules(rule(), rule(a='"FD101" => "FD102"'), rule())) == [
        "rules/r2.toml: rule[0].id: 'FD101' is there already, at rules/r0.toml: rule[0]",
        "rules/r1.toml: rule[0].name: 'driver-too-old' is there already, at rules/r0.toml: rule[0]",
        "rules/r2.toml: rule[0].name: 'driver-too-old' is there already, at rules/r0.toml: rule[0]",
    ]


def test_rules_that_follow_one_another_in_a_ring_are_a_mistake(
    with_rules: Write, rule: Text
) -> None:
    ring = with_rules(
        rule(a="basis => follows = ['FD102']\nbasis"),
        rule(a='"FD101" => "FD102"', b="too-old => x", c="basis => follows = ['FD101']\nbasis"),
    )
    assert [mistake.split(": ")[-1] for mistake in rule_mistakes(ring)] == [
        "FD101 would follow itself",
        "FD102 would follow itself",
    ]


def test_mistakes_of_form_and_of_sense_are_reported_together(with_rules: Write, rule: Text) -> None:
    broken = with_rules(
        "not toml",
        rule(a='"error" => "fatal"'),
        rule(a='"FD101" => "FD201"', b="too-old => x", c='op = "lt" => op = "older"'),
        rule(a='"FD101" => "FD301"', b="too-old => y", c="basis => follows = ['FD101']\nbasis"),
        'rule = "x"\n',
    )
    found = rule_mistakes(broken)
    assert [mistake.partition(":")[0] for mistake in found] == [
        "rules/r0.toml",
        "rules/r1.toml",
        "rules/r2.toml",
        "rules/r4.toml",
    ]


def test_wheel_names_and_lists_may_stand_in_examples(with_rules: Write, rule: Text) -> None:
    wheel = "flash_attn-2.8.3+cu12torch2.6cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"
    facts = f'"flash_attn.version" = "{wheel}", "torch.arch_list" = ["sm_80"]'
    assert rule_mistakes(with_rules(rule(a=f'"wsl.version" = "absent" => {facts}'))) == []


def test_placeholders_are_facts_and_not_shell() -> None:
    text = "pip install torch=={torch.version} ${HOME} ${home} {{.Name}} awk '{ print }' {x}"
    assert PLACEHOLDER.findall(text) == ["torch.version", "x"]
