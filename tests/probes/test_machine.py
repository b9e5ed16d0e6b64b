from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.probes.host import PROBES

ROOT = Path(__file__).resolve().parents[2]

# Run in a child: takes away what another system's Python does not have, then looks around.
PRETEND = """
import json, os, signal, sys
system = sys.argv[1]
missing = {
    "win32": {
        "modules": "fcntl grp pty pwd resource termios",
        "os": "confstr fork geteuid getuid killpg mkfifo P_PID sched_getaffinity setsid statvfs"
              " sysconf uname waitid WEXITED WNOWAIT",
        "signal": "SIGKILL",
    },
    "darwin": {"modules": "", "os": "sched_getaffinity waitid", "signal": ""},
}[system]
for name in missing["modules"].split():
    sys.modules[name] = None
for module in (os, signal):
    for name in missing[module.__name__].split():
        delattr(module, name)
sys.platform = system
from flashdoctor.probes.machine import read_machine
print(json.dumps(read_machine(sys.executable, "on", os.environ).to_json()))
"""


def read_as(system: str, folder: Path) -> Mapping[str, Mapping[str, Any]]:
    home = str(folder)  # the posixpath that stays behind would ask pwd for one
    variables = {"HOME": home, "XDG_CACHE_HOME": home, "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", PRETEND, system],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", **variables},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    facts: Mapping[str, Mapping[str, Any]] = json.loads(done.stdout)["facts"]
    return facts


@pytest.mark.parametrize(("system", "name"), [("win32", "Windows"), ("darwin", "Darwin")])
def test_other_systems_are_looked_at_as_well(system: str, name: str, tmp_path: Path) -> None:
    facts = read_as(system, tmp_path)
    assert {path for probe in PROBES for path in probe.paths} <= set(facts)
    reasons = [str(fact.get("reason", "")) for fact in facts.values()]
    assert not [reason for reason in reasons if "probe failed" in reason]
    assert facts["os.system"]["value"] == name
    assert facts["python.status"]["value"] == "ok"
    assert facts["driver.uvm_node"]["state"] == "absent"
    assert facts["live.status"]["value"] in {"ok", "not-run", "error"}  # torch may warn: an error
