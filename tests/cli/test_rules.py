from __future__ import annotations

import json
from collections.abc import Callable

from flashdoctor import pipeline, planning

Call = Callable[..., tuple[int, str, str]]


def test_every_rule_is_listed_and_explained(call_main: Call) -> None:
    code, listing, err = call_main("rules", "list", "--verbose")
    assert (code, err) == (0, "")
    rules = (*pipeline.rules(), *planning.launch_rules())
    assert [line[:5] for line in listing.splitlines() if line.startswith("FD")] == sorted(
        rule.id for rule in rules
    )
    for rule in rules:
        assert f"\n{rule.id}  " in f"\n{listing}"
        assert rule.name in listing
        code, out, err = call_main("rules", "explain", rule.id)
        assert (code, err) == (0, "")
        assert out.startswith(f"{rule.id}  ")
        for command in rule.fix.commands:
            assert f"    {command}\n" in out
        assert len(out.split("Sources\n")) == 2


def test_a_rule_is_found_by_its_name_in_any_case(call_main: Call) -> None:
    rule = pipeline.rules()[0]
    assert call_main("rules", "explain", rule.name) == call_main(
        "rules", "explain", rule.id.lower()
    )


def test_json_holds_the_whole_row(call_main: Call) -> None:
    body = json.loads(call_main("rules", "list", "--format", "json")[1])
    assert body["schema"] == "flashdoctor/rules/v1"
    assert {rule.id for rule in pipeline.rules()} < {row["id"] for row in body["rules"]}
    for row in body["rules"]:
        assert [row["when"], row["check"], row["judge"]].count(None) == 2
        assert row["examples"] or row["judge"]
        assert row["sources"][0]["checked"]
    first = body["rules"][0]
    explained = json.loads(call_main("rules", "explain", first["id"], "--format", "json")[1])
    assert explained["rules"] == [first]


def test_what_lint_and_tune_find_is_explained(call_main: Call) -> None:
    code, out, err = call_main("rules", "explain", "fd751")
    assert (code, err) == (0, "")
    assert "Judged by `flashdoctor lint`" in out
    assert "command='vllm serve m --swap-space 4' vllm.version=0.20.2" in " ".join(out.split())
    code, out, _ = call_main("rules", "explain", "tune-does-not-fit")
    assert code == 0
    assert out.startswith("FD791  The model does not fit\n")
    assert "Judged by `flashdoctor tune`" in out
