"""The composite action and the example workflow: their own lines run, by the real command line."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / ".github" / "actions" / "flashdoctor"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
WRONG = {"gpu": "V100", "torch": "2.11.0+cu130"}
RIGHT = {"gpu": "L4", "torch": "2.8.0+cu128"}

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Gate = Callable[..., "subprocess.CompletedProcess[str]"]


def load(path: Path) -> dict[Any, Any]:
    body: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return body


def filled(text: str, values: Mapping[str, str]) -> str:
    return EXPRESSION.sub(lambda found: values[found[1]], text)


def action_step(name: str) -> dict[str, Any]:
    steps: list[dict[str, Any]] = load(ACTION / "action.yml")["runs"]["steps"]
    [step] = [step for step in steps if step.get("id") == name or step["name"] == name]
    assert step["shell"] == "bash"
    return step


def action_inputs(given: Mapping[str, str]) -> dict[str, str]:
    declared = load(ACTION / "action.yml")["inputs"]
    assert set(given) <= set(declared)
    return {f"inputs.{key}": given.get(key, item["default"]) for key, item in declared.items()}


def workflow_call(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return what the example workflow hands to the action for these inputs of its own."""
    workflow = load(ROOT / ".github" / "workflows" / "example-gate.yml")
    declared = workflow[True]["workflow_dispatch"]["inputs"]  # YAML 1.1 reads `on` as true
    values = {f"inputs.{key}": inputs.get(key, item["default"]) for key, item in declared.items()}
    steps = workflow["jobs"]["gate"]["steps"]
    [step] = [step for step in steps if step.get("uses") == "./.github/actions/flashdoctor"]
    return {key: filled(value, values) for key, value in step["with"].items()}


@pytest.fixture
def gate(run: Run, tools: Path, tmp_path: Path) -> Gate:
    """Return a function that runs the action's second step; the first one has its own test."""
    installed = tmp_path / "runner" / "flashdoctor" / "bin"
    installed.mkdir(parents=True)
    (installed / "flashdoctor").symlink_to(tools / "flashdoctor")

    def call(given: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        step = action_step("judge")
        values = action_inputs(given)
        env = {key: filled(value, values) for key, value in step["env"].items()}
        places = {
            "RUNNER_TEMP": str(tmp_path / "runner"),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        }
        return run([*BASH, filled(step["run"], values)], {**env, **places})

    return call


def test_the_example_workflow_fails_on_its_wrong_stack(
    gate: Gate, work: Path, tmp_path: Path
) -> None:
    done = gate(workflow_call({}))
    assert (done.returncode, done.stderr) == (1, "")
    assert "::error title=FD201 " in done.stdout
    assert (tmp_path / "output").read_text(encoding="utf-8") == "exit-code=1\n"
    assert "FD201" in (tmp_path / "summary").read_text(encoding="utf-8")
    sarif = json.loads((work / "flashdoctor.sarif").read_text(encoding="utf-8"))
    assert "FD201" in {result["ruleId"] for result in sarif["runs"][0]["results"]}


def test_the_example_workflow_passes_on_a_right_stack(gate: Gate, tmp_path: Path) -> None:
    done = gate(workflow_call({**RIGHT, "gpu": "RTX 4090"}))
    assert (done.returncode, done.stderr) == (0, "")
    assert "::error" not in done.stdout
    assert (tmp_path / "output").read_text(encoding="utf-8") == "exit-code=0\n"


def test_the_life_of_a_gate(gate: Gate, work: Path) -> None:
    """It fails on a wrong stack, passes on an ignore with a reason, fails once that is over."""
    assert gate(workflow_call(WRONG)).returncode == 1
    today = date.today()  # noqa: DTZ011 - the gate's own clock
    reason = "new cards in a week"
    for until, code in ((today + timedelta(days=30), 0), (today - timedelta(days=2), 1)):
        text = f'ignore = [{{ id = "FD201", reason = "{reason}", until = {until} }}]\n'
        (work / "flashdoctor.toml").write_text(text, encoding="utf-8")
        done = gate(workflow_call(WRONG))
        assert (done.returncode, done.stderr) == (code, "")
        assert reason in done.stdout
        assert ("title=FD911 " in done.stdout) == (code == 1)
        assert ("::error title=FD201 " in done.stdout) == (code == 1)


def test_what_is_typed_into_the_form_is_never_run(gate: Gate, work: Path) -> None:
    hostile = "$(touch broken) `touch broken` ; touch broken #"
    done = gate(workflow_call({"gpu": hostile, "torch": "'; touch broken; '"}))
    assert done.returncode in {1, 2, 3}
    assert not (work / "broken").exists()


def test_wrong_words_are_wrong_usage(gate: Gate, tmp_path: Path) -> None:
    assert gate({"arguments": "check\n\n  --nonsense  \n"}).returncode == 2
    assert (tmp_path / "output").read_text(encoding="utf-8") == "exit-code=2\n"


@pytest.mark.network
def test_the_action_installs_this_checkout(run: Run, tmp_path: Path) -> None:
    probe = run(["python3", "-m", "pip", "download", "--no-deps", "-qd", tmp_path, "packaging"])
    if probe.returncode:
        pytest.skip("no package index")
    places = {"RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ACTION)}
    done = run([*BASH, action_step("Install flashdoctor")["run"]], places)
    assert done.returncode == 0, done.stderr
    told = run([tmp_path / "flashdoctor" / "bin" / "flashdoctor", "--version"])
    assert told.stdout.startswith("flashdoctor ")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_run_line_is_bash_and_interpolates_nothing(path: Path, run: Run) -> None:
    jobs = load(path)["jobs"].values()
    scripts = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    scripts += [step["run"] for step in load(ACTION / "action.yml")["runs"]["steps"]]
    for script in scripts:
        assert "${{" not in script
        assert run(["bash", "-n", "-c", script]).returncode == 0
