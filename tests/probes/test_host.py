from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact, known
from flashdoctor.model.redaction import redact_snapshot
from flashdoctor.model.snapshot import of
from flashdoctor.probes.host import PROBES, Probe, read_host, run_probe

# What the GPU probe states, or what follows from it.
ELSEWHERE = {
    "driver.version",
    "driver.branch",
    "driver.cuda",
    "driver.module_version",
    "driver.module_loaded",
    "driver.module_flavor",
}
FAMILIES = ("os.", "wsl.", "container.", "driver.", "toolkit.", "env.")


def test_the_probes_state_every_host_fact_once() -> None:
    paths = [path for probe in PROBES for path in probe.paths]
    expected = {path for path in FACTS if path.startswith(FAMILIES)} - ELSEWHERE
    assert len(paths) == len(set(paths))
    assert set(paths) == expected


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_each_probe_states_its_paths_on_this_machine_and_on_none(
    probe: Probe, tmp_path: Path
) -> None:
    for root, environ in ((Path("/"), dict(os.environ)), (tmp_path, {})):
        facts = probe.read(root, environ)
        assert sorted(fact.path for fact in facts) == sorted(probe.paths)
        assert all(fact.source for fact in facts)


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_each_probe_bears_nonsense_in_the_environment(probe: Probe, tmp_path: Path) -> None:
    names = ["PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "container"]
    for value in ("", ":", "\0", "x" * 5000, "../..", "\udc80", "/dev/null"):
        facts = probe.read(tmp_path, dict.fromkeys(names, value))
        assert sorted(fact.path for fact in facts) == sorted(probe.paths)


def test_a_probe_that_fails_costs_its_facts_only(tmp_path: Path) -> None:
    def fail(_root: Path, _environ: Mapping[str, str]) -> list[Fact]:
        raise ZeroDivisionError

    def work(_root: Path, _environ: Mapping[str, str]) -> list[Fact]:
        return [known("os.jetson", False, "x")]

    broken = Probe(name="broken", read=fail, paths=("os.kernel", "os.glibc"))
    sound = Probe(name="sound", read=work, paths=("os.jetson",))
    facts = read_host(tmp_path, {}, (broken, sound))
    assert [(fact.path, fact.state) for fact in facts] == [
        ("os.kernel", "unknown"),
        ("os.glibc", "unknown"),
        ("os.jetson", "known"),
    ]
    assert facts[0].reason == "the broken probe failed: ZeroDivisionError"
    assert facts[:2] == run_probe(broken, tmp_path, {})


def test_what_this_machine_says_survives_redaction_and_json() -> None:
    snapshot = of(read_host())
    clean = redact_snapshot(snapshot)
    assert [fact.path for fact in clean] == [fact.path for fact in snapshot]
    assert {fact.path for fact in clean if "redacted" in fact.reason} == set()
    assert json.loads(json.dumps(clean.to_json())) == clean.to_json()


def test_it_is_quick() -> None:
    read_host()
    start = time.perf_counter()
    read_host()
    assert time.perf_counter() - start < 1.0  # tens of milliseconds; more only on a loaded machine
