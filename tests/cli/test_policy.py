"""`check` under a policy: the life of a gate, who wins, what is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashdoctor.cli import check
from flashdoctor.cli.main import main
from flashdoctor.render.formats import FORMATS

Call = Callable[..., tuple[int, str, str]]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

REASON = "the image is rebuilt in December"
GATE = f"""
require = ["flash-attn"]
ignore = [
  {{ id = "FD302", reason = "{REASON}", until = 2026-12-31 }},
  {{ id = "cxx11-abi-mismatch", reason = "{REASON}", until = 2026-12-31 }},
]
[profile.strict]
ignore = []
[profile.driver]
expect = ["driver >= 580"]
[profile.open]
expect = ["kernel fa2 proven"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, on a day on which the gate's ignores hold."""
    monkeypatch.chdir(tmp_path)
    on(monkeypatch, date(2026, 12, 31))
    return tmp_path


def on(monkeypatch: pytest.MonkeyPatch, day: date) -> None:
    monkeypatch.setattr(check, "_today", lambda: day)


def judged(call_main: Call, *args: str) -> dict[str, Any]:
    code, out, err = call_main("check", *args, "--format", "json")
    body: dict[str, Any] = json.loads(out)
    assert (body["exit_code"], err) == (code, "")
    return body


def test_the_life_of_a_gate(
    call_main: Call, broken: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = [*broken, "--require", "flash-attn"]
    assert call_main("check", *args)[0] == 1
    (folder / "flashdoctor.toml").write_text(GATE, encoding="utf-8")
    ignored = judged(call_main, *broken)
    assert (ignored["exit_code"], ignored["verdict"]) == (0, "pass")
    told = {item["id"]: item for item in ignored["findings"]}
    assert told["FD302"]["severity"] == "info"
    assert REASON in told["FD302"]["detail"]
    on(monkeypatch, date(2027, 1, 1))
    expired = judged(call_main, *broken)
    severities = {item["id"]: item["severity"] for item in expired["findings"]}
    assert (expired["exit_code"], expired["verdict"]) == (1, "fail")
    assert (severities["FD302"], severities["FD303"], severities["FD911"]) == (
        "error",
        "error",
        "warning",
    )


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_has_the_gate_s_exit_code_and_names_the_policy(
    call_main: Call, broken: list[str], folder: Path, output_format: str
) -> None:
    (folder / "flashdoctor.toml").write_text(GATE, encoding="utf-8")
    code, out, _ = call_main("check", *broken, "--format", output_format)
    assert (code, "flashdoctor.toml" in out) == (0, True)
    args = (*broken, "--profile", "driver", "--format", output_format)
    code, out, _ = call_main("check", *args)
    assert (code, "FD912" in out) == (1, True)


def test_an_expectation_that_nobody_can_judge_is_never_a_pass(
    call_main: Call, broken: list[str], folder: Path
) -> None:
    (folder / "flashdoctor.toml").write_text(GATE, encoding="utf-8")
    body = judged(call_main, *broken, "--profile", "open")
    assert (body["verdict"], body["exit_code"]) == ("undetermined", 3)
    assert body["missing"] == ["smoke.proven"]
    (folder / "flashdoctor.toml").write_text('expect = ["kernel fa3 proven"]', encoding="utf-8")
    code, out, _ = call_main("check", "--snapshot", "example:h200")
    assert (code, "what the policy expects was" in out) == (3, True)
    assert "    flashdoctor smoke --verbose\n" in out


def test_an_unmet_expectation_is_an_error_with_its_evidence(
    call_main: Call, sound: list[str], folder: Path
) -> None:
    (folder / "p.toml").write_text('expect = ["driver >= 580", "torch == 2.7.*"]', encoding="utf-8")
    code, out, _ = call_main("check", *sound, "--policy", "p.toml")
    assert code == 1
    assert out.startswith("FAIL  the policy is not met by the assumed stack\n")
    assert "driver >= 580 (it is 570.124.06)" in out
    assert "policy p.toml: 2 expectations" in out


def test_the_command_line_wins(call_main: Call, broken: list[str], folder: Path) -> None:
    text = 'fail-on = "never"\nrequire = ["vllm"]\n'
    (folder / "flashdoctor.toml").write_text(text, encoding="utf-8")
    body = judged(call_main, *broken, "--require", "flash-attn")
    assert (body["required"], body["verdict"], body["exit_code"]) == (["flash-attn"], "fail", 0)
    assert judged(call_main, *broken)["required"] == ["vllm"]
    assert judged(call_main, *broken, "--fail-on", "error")["exit_code"] == 1
    without = judged(call_main, *broken, "--policy", "none")
    assert (without["required"], without["exit_code"]) == ([], 1)
    assert not [path for path in without["facts"] if path.startswith("policy.")]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--profile", "ci"], "there is none here"),
        (["--policy", "no.toml"], "cannot read the policy no.toml"),
        (["--policy", "bad.toml"], "requre"),
        (["--policy", "bad.toml"], "expect[0]"),
    ],
)
def test_a_wrong_policy_is_wrong_usage_in_one_line(
    call_main: Call, sound: list[str], folder: Path, args: list[str], said: str
) -> None:
    (folder / "bad.toml").write_text('requre = 1\nexpect = ["x"]', encoding="utf-8")
    code, out, err = call_main("check", *sound, *args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_snapshot_cannot_bring_a_policy_along(
    call_main: Call, sound_snapshot: dict[str, Any], folder: Path
) -> None:
    fact = {"value": "evil.toml", "state": "known", "source": "x"}
    sound_snapshot["facts"]["policy.file"] = fact
    (folder / "s.json").write_text(json.dumps(sound_snapshot), encoding="utf-8")
    assert "policy.file" not in judged(call_main, "--snapshot", "s.json")["facts"]


def imported(folder: Path, env: dict[str, str], args: list[str]) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-m", "flashdoctor", "check", *args]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=env, timeout=60
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_nothing_reads_toml_where_there_is_no_policy(
    folder: Path, child_env: dict[str, str], sound: list[str]
) -> None:
    (folder / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    heavy = {"flashdoctor.policy.parser", "flashdoctor.engine.expectations"}
    assert not imported(folder, child_env, sound) & heavy
    (folder / "flashdoctor.toml").write_text("", encoding="utf-8")
    assert imported(folder, child_env, sound) >= heavy


def test_a_snapshot_of_this_machine_reproduces_its_verdict_bit_for_bit(
    call_main: Call, folder: Path
) -> None:
    assert call_main("snapshot", "--smoke", "off", "--output", "s.json")[0] == 0
    args = ("check", "--snapshot", "s.json", "--require", "vllm", "--format", "json")
    first = call_main(*args)
    assert first == call_main(*args)
    stated = json.loads((folder / "s.json").read_text(encoding="utf-8"))["facts"]
    told = json.loads(first[1])["facts"]
    assert {path: told[path] for path in stated if stated[path]["state"] != "unknown"} == {
        path: fact for path, fact in stated.items() if fact["state"] != "unknown"
    }


def test_a_verdict_is_the_same_in_another_process_and_folder(
    run_cli: Run, call_main: Call, folder: Path, snapshot_file: Path
) -> None:
    (folder / "flashdoctor.toml").write_text('expect = ["driver >= 580"]', encoding="utf-8")
    args = ("check", "--snapshot", str(snapshot_file), "--format", "json")
    seeds = [run_cli(*args, env={"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")]
    assert seeds[0] == seeds[1] == call_main(*args)[1]
    assert json.loads(seeds[0])["exit_code"] == 1


LINES = st.sampled_from([*GATE.splitlines(), "x = 1", "[[profile]]", 'expect = ["torch"]', "]"])


@given(data=st.data())
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_mutated_policy_never_breaks_the_contract(
    folder: Path, capfd: pytest.CaptureFixture[str], data: st.DataObject
) -> None:
    text = data.draw(st.text(max_size=40) | st.lists(LINES, max_size=9).map("\n".join))
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(GATE)))
        end = min(place + data.draw(st.integers(0, 9)), len(GATE))
        text = GATE[:place] + data.draw(st.text(max_size=3)) + GATE[end:]
    (folder / "p.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    profile = data.draw(st.sampled_from([[], ["--profile", "strict"], ["--profile", "driver"]]))
    args = ["--policy", "p.toml", *profile, "--assume", "torch=2.6.0+cu124", "--assume", "gpu=L4"]
    code = main(["check", *args])
    out, err = capfd.readouterr()
    assert code in {0, 1, 2, 3}
    assert "internal error" not in err
    assert bool(out) != bool(err)
    assert os.listdir(folder) == ["p.toml"]  # noqa: PTH208 - names are enough
