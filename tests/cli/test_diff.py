from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashdoctor.cli.main import main

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pair(tmp_path: Path, sound_snapshot: dict[str, Any]) -> Callable[..., tuple[str, str]]:
    """Return a function that writes the sound snapshot, and one with some facts replaced."""

    def write(**changed: Any) -> tuple[str, str]:
        other = copy.deepcopy(sound_snapshot)
        for name, value in changed.items():
            path = name.replace("__", ".")
            other["facts"][path] = {"value": value, "state": "known", "source": "x"}
        files = (tmp_path / "a.json", tmp_path / "b.json")
        for file, body in zip(files, (sound_snapshot, other), strict=True):
            file.write_text(json.dumps(body), encoding="utf-8")
        return str(files[0]), str(files[1])

    return write


def differing(call_main: Call, *args: str) -> dict[str, Any]:
    code, out, err = call_main("diff", *args, "--format", "json")
    body: dict[str, Any] = json.loads(out)
    assert (body["schema"], body["exit_code"], err) == ("flashdoctor/diff/v1", code, "")
    return body


def test_a_snapshot_is_the_same_as_itself(call_main: Call) -> None:
    body = differing(call_main, "example:h200", "example:h200")
    assert (body["exit_code"], body["facts"], body["findings"]) == (0, [], [])
    assert call_main("diff", "example:h200", "example:h200")[1].startswith("SAME  pass in both")


def test_the_fact_that_matters_stands_apart_from_the_one_that_does_not(
    call_main: Call, pair: Callable[..., tuple[str, str]]
) -> None:
    names = pair(driver__version="450.80.02", os__glibc="2.36")
    body = differing(call_main, *names)
    assert body["exit_code"] == 1
    assert (body["a"]["verdict"], body["b"]["verdict"]) == ("pass", "fail")
    appear = [change for change in body["findings"] if change["change"] == "appears"]
    assert appear
    assert all(change["by"] == ["driver.version"] and change["alone"] for change in appear)
    matters = {fact["path"]: bool(fact["matters"]) for fact in body["facts"]}
    assert matters == {"driver.version": True, "os.glibc": False}
    back = differing(call_main, *reversed(names))
    gone = {change["id"] for change in back["findings"] if change["change"] == "vanishes"}
    assert gone == {change["id"] for change in appear}


def test_a_difference_that_changes_nothing_is_exit_0(
    call_main: Call, pair: Callable[..., tuple[str, str]]
) -> None:
    names = pair(os__glibc="2.36")
    code, out, _ = call_main("diff", *names)
    assert (code, out.startswith("SAME  ")) == (0, True)
    assert "system glibc  2.35 -> 2.36" in out


def test_a_finding_that_cannot_be_judged_any_more_is_said_to_be_so(
    call_main: Call, pair: Callable[..., tuple[str, str]], tmp_path: Path
) -> None:
    _, broken = pair(driver__version="450.80.02")
    body = json.loads(Path(broken).read_text(encoding="utf-8"))
    unknown = {"value": None, "state": "unknown", "source": "x", "reason": "no"}
    body["facts"]["driver.version"] = unknown
    (tmp_path / "c.json").write_text(json.dumps(body), encoding="utf-8")
    found = differing(call_main, broken, str(tmp_path / "c.json"))
    assert found["b"]["verdict"] == "undetermined"
    assert {change["other"] for change in found["findings"]} == {"skipped"}
    assert "could not be judged (driver not known)" in " ".join(
        call_main("diff", broken, str(tmp_path / "c.json"))[1].split()
    )


def test_what_a_verdict_lacks_stands_first(
    call_main: Call, sound_snapshot: dict[str, Any], tmp_path: Path
) -> None:
    """As where the driver went away between two looks at a machine."""
    names = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for name in names:
        Path(name).write_text(json.dumps(sound_snapshot), encoding="utf-8")
        lost = {"value": None, "state": "unknown", "source": "NVML", "reason": "not loaded"}
        sound_snapshot["facts"] |= {"driver.version": lost, "gpu.name": lost}
    _, out, _ = call_main("diff", *names)
    wanted, other = out.split("Without this there is no verdict:")[1].split("Differs as well")
    assert "driver  570.124.06 -> not known (not loaded)" in wanted
    assert "GPU name" in other


def test_of_records_only_what_differs_is_shown(
    call_main: Call, sound_snapshot: dict[str, Any], tmp_path: Path
) -> None:
    names = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for name, capability in zip(names, ("9.0", "7.0"), strict=True):
        sound_snapshot["facts"]["gpu.devices"]["value"][0]["compute_capability"] = capability
        Path(name).write_text(json.dumps(sound_snapshot), encoding="utf-8")
    out = " ".join(call_main("diff", *names)[1].split())
    assert "GPU devices index 0, compute_capability 9.0 -> index 0, compute_capability 7.0" in out
    assert "name NVIDIA H100" in call_main("diff", *names, "--verbose")[1]


def test_several_facts_that_would_each_do_are_shown_by_the_evidence(call_main: Call) -> None:
    body = differing(call_main, "example:h200", "example:v100")
    assert body["b"]["verdict"] == "fail"
    root = body["findings"][0]
    assert (root["change"], root["id"], root["other"]) == ("appears", "FD201", "passed")
    assert "gpu.compute_capability" in root["by"]


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["-", "-"], 2, "only one of the two"),
        (["example:h200"], 2, "Missing argument"),
        (["example:h200", "example:h100"], 2, "no example is called"),
        (["example:h200", "no.json"], 3, "cannot read no.json"),
        (["example:h200", "example:v100", "--format", "sarif"], 2, "--format takes"),
        (["example:h200", "example:v100", "--require", "x"], 2, "--require takes"),
        (["example:h200", "example:v100", "-q", "-v"], 2, "exclude each other"),
    ],
)
def test_wrong_usage(call_main: Call, args: list[str], code: int, said: str) -> None:
    got, out, err = call_main("diff", *args)
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert said in err


JUNK = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)


def mutated(body: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    other = copy.deepcopy(body)
    for path in data.draw(st.lists(st.sampled_from(sorted(body["facts"])), max_size=4)):
        change = data.draw(st.sampled_from(["drop", "value", "state", "whole"]))
        fact = other["facts"].get(path)
        if change == "drop":
            other["facts"].pop(path, None)
        elif change == "whole" or not isinstance(fact, dict):
            other["facts"][path] = data.draw(JUNK | st.lists(JUNK, max_size=2))
        elif change == "value":
            fact["value"] = data.draw(JUNK | st.lists(JUNK, max_size=2))
        else:
            fact["state"] = data.draw(st.sampled_from(["absent", "unknown", "known", "?"]))
    return other


@given(data=st.data())
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_mutated_snapshots_never_break_the_contract(
    sound_snapshot: dict[str, Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    data: st.DataObject,
) -> None:
    files = (tmp_path / "a.json", tmp_path / "b.json")
    for file in files:
        file.write_text(json.dumps(mutated(sound_snapshot, data)), encoding="utf-8")
    output_format = data.draw(st.sampled_from(["terminal", "json"]))
    code = main(["diff", *map(str, files), "--format", output_format])
    out, err = capfd.readouterr()
    assert code in {0, 1, 3}
    assert "internal error" not in err
    assert bool(out) != bool(err)
    if code != 3 and output_format == "json":
        assert json.loads(out)["exit_code"] == code


def test_a_dash_as_output_is_standard_output(call_main: Call) -> None:
    code, out, _ = call_main("diff", "example:h200", "example:h200", "--output", "-")
    assert (code, bool(out)) == (0, True)
