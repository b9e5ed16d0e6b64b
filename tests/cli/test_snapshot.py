from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_snapshot_of_this_machine_is_judged_as_the_machine_is(run_cli: Run) -> None:
    written = run_cli(
        "snapshot", "--python", sys.executable, "--smoke", "off", "--output", "s.json"
    )
    assert (written.returncode, written.stdout, written.stderr) == (0, "", "")
    judged = run_cli("check", "--snapshot", "s.json", "--format", "json")
    direct = run_cli("check", "--python", sys.executable, "--smoke", "off", "--format", "json")
    there, here = json.loads(judged.stdout), json.loads(direct.stdout)
    assert there["verdict"] == here["verdict"]
    assert [item["id"] for item in there["findings"]] == [item["id"] for item in here["findings"]]
    assert there["facts"]["python.version"] == here["facts"]["python.version"]


def test_both_formats_hold_the_same_facts(run_cli: Run) -> None:
    options = ("--python", sys.executable, "--smoke", "off")
    body = json.loads(run_cli("snapshot", *options).stdout)
    text = run_cli("snapshot", *options, "--format", "terminal").stdout
    assert body["schema"] == "flashdoctor/snapshot/v1"
    assert {line.partition(" ")[0] for line in text.splitlines()} >= set(body["facts"])


def test_an_interpreter_that_is_not_there_is_exit_3(run_cli: Run) -> None:
    done = run_cli("snapshot", "--python", "./no/such/python")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert done.stderr.startswith("flashdoctor: error: ")
