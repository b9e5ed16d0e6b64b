from __future__ import annotations

import json
from collections.abc import Callable

from flashdoctor import pipeline

Call = Callable[..., tuple[int, str, str]]


def test_every_rule_is_listed_and_explained(call_main: Call) -> None:
    code, listing, err = call_main("rules", "list", "--verbose")
    assert (code, err) == (0, "")
    rules = pipeline.rules()
    assert rules
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
    assert [row["id"] for row in body["rules"]] == [rule.id for rule in pipeline.rules()]
    for row in body["rules"]:
        assert (row["when"] is None) != (row["check"] is None)
        assert row["examples"]
        assert row["sources"][0]["checked"]
    first = body["rules"][0]
    explained = json.loads(call_main("rules", "explain", first["id"], "--format", "json")[1])
    assert explained["rules"] == [first]
