"""The snippets of .github/examples: their shell lines run, their manifests fit the schema."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / ".github" / "examples"
API = ROOT / "tests" / "data" / "kubernetes_1.37.schema.json"
HEADS = {"Pod": "io.k8s.api.core.v1.Pod", "DaemonSet": "io.k8s.api.apps.v1.DaemonSet"}
INSTALLED = "/opt/flashdoctor.pyz"
RIGHT = "torch==2.8.0\nvllm==0.11.0\n"
WRONG = "torch==2.11.0+cu130\nvllm==0.10.2\n"
PINS = {"0.11.0": "2.8.0", "0.10.2": "2.8.0"}  # what the METADATA of these vLLM releases ask for

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Pretend = Callable[..., Path]
Calls = Callable[[], list[str]]


def read(name: str) -> str:
    return (EXAMPLES / name).read_text(encoding="utf-8")


def gitlab_script(job: str) -> str:
    body = yaml.safe_load(read("gitlab-ci.yml"))[job]
    assert body["artifacts"]["when"] == "always"
    return "\n".join(body["script"])


def jenkins_script() -> str:
    [text] = re.findall(r"sh '''(.*?)'''", read("Jenkinsfile"), flags=re.DOTALL)
    return str(text).replace("\\\\", "\\")  # as Groovy reads it


def docker_lines(keyword: str) -> list[str]:
    return re.findall(rf"^{keyword} (.*)$", read("Dockerfile"), flags=re.MULTILINE)


def manifests() -> dict[str, dict[str, Any]]:
    return {body["kind"]: body for body in yaml.safe_load_all(read("kubernetes.yaml"))}


@pytest.mark.parametrize(("pins", "code"), [(RIGHT, 0), (WRONG, 1)])
def test_gitlab_judges_the_requirements(run: Run, work: Path, pins: str, code: int) -> None:
    (work / "requirements.txt").write_text(pins, encoding="utf-8")
    done = run(["bash", "-ec", gitlab_script("gpu-stack")])
    assert (done.returncode, done.stderr) == (code, "")
    cases = ET.parse(work / "flashdoctor.xml").getroot().iter("testcase")
    assert any(case.find("failure") is not None for case in cases) == (code == 1)


def test_gitlab_and_jenkins_need_a_gpu_and_leave_their_reports(run: Run, work: Path) -> None:
    for script in (gitlab_script("gpu-runner"), jenkins_script()):
        done = run(["bash", "-ec", script], {"CUDA_VISIBLE_DEVICES": ""})
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith("FAIL  ")
        assert ET.parse(work / "flashdoctor.xml").getroot().find(".//failure") is not None
        (work / "flashdoctor.xml").unlink()
    assert "<html" in (work / "flashdoctor.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("gitlab-ci", ".github/examples/gitlab-ci.yml"),
        ("github-actions", ".github/actions/flashdoctor/action.yml"),
        ("github-workflows", ".github/workflows/example-gate.yml"),
        ("github-workflows", ".github/workflows/matrices.yml"),
    ],
)
def test_a_service_takes_its_file(run: Run, work: Path, schema: str, file: str) -> None:
    """By the schemas that check-jsonschema brings along; the services themselves are not here."""
    args = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = run([*args, ROOT / file])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    wrong = work / "wrong.yml"
    text = (ROOT / file).read_text(encoding="utf-8")
    wrong.write_text(
        re.sub(r"(?m)^( +)(script|runs-on|shell):", r"\1un\2:", text), encoding="utf-8"
    )
    assert run([*args, wrong]).returncode == 1


def test_jenkins_braces_are_balanced() -> None:
    text = re.sub(r"'''.*?'''|'[^'\n]*'|//[^\n]*", "", read("Jenkinsfile"), flags=re.DOTALL)
    for pair in ("{}", "()"):
        assert text.count(pair[0]) == text.count(pair[1]) > 0


def installed(folder: Path, releases: dict[str, str]) -> Path:
    """Make an environment that holds what pip leaves behind of a release, without its libraries."""
    venv.create(folder, symlinks=True)
    [site] = (folder / "lib").glob("python3*/site-packages")
    for name, release in releases.items():
        info = site / f"{name}-{release}.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n"
        if name == "vllm":
            text += f"Requires-Dist: torch=={PINS[release]}\n"
        (info / "METADATA").write_text(text, encoding="utf-8")
        (site / name).mkdir()
        (site / name / "__init__.py").touch()
    cuda = "12.8" if releases["torch"].endswith("cu128") else "13.0"
    text = f"__version__ = {releases['torch']!r}\ncuda = {cuda!r}\nhip = None\n"
    (site / "torch" / "version.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("releases", "code", "told"),
    [
        ({"torch": "2.8.0+cu128", "vllm": "0.11.0"}, 0, "vLLM fits"),
        ({"torch": "2.11.0+cu130", "vllm": "0.10.2"}, 1, "FD601"),
    ],
)
def test_docker_build_stops_at_packages_that_do_not_fit(
    run: Run, work: Path, releases: dict[str, str], code: int, told: str
) -> None:
    [install, gate] = docker_lines("RUN")
    assert install.startswith("python3 -m pip install")
    env = installed(work / "env", releases)
    line = gate.replace(INSTALLED, "flashdoctor.pyz")
    done = run(["sh", "-c", f"{line} --python {env}"])
    assert (done.returncode, done.stderr) == (code, "")
    assert told in done.stdout


def test_docker_starts_the_server_only_on_a_sound_stack(
    run: Run, pretend: Pretend, calls: Calls
) -> None:
    [entry], [command] = docker_lines("ENTRYPOINT"), docker_lines("CMD")
    words = [*json.loads(entry), *json.loads(command)]
    pretend("vllm")
    pretend("python3", code=1)
    assert run(words).returncode == 1
    assert not [call for call in calls() if "/vllm " in call]
    pretend("python3", code=0)
    assert run(words).returncode == 0
    assert calls()[-1].endswith("/vllm serve Qwen/Qwen3-8B")


@pytest.mark.parametrize("kind", HEADS)
def test_kubernetes_takes_the_manifests(kind: str) -> None:
    schema = json.loads(API.read_text(encoding="utf-8"))
    checker = jsonschema.Draft202012Validator({**schema, "$ref": f"#/$defs/{HEADS[kind]}"})
    body = manifests()[kind]
    assert [error.message for error in checker.iter_errors(body)] == []
    spec = body["spec"].get("template", body)["spec"]
    spec["containers"][0]["comand"] = ["vllm"]
    assert "'comand' was unexpected" in str(next(checker.iter_errors(body)))


def test_kubernetes_init_container_is_a_command_that_judges(run: Run) -> None:
    [container] = manifests()["Pod"]["spec"]["initContainers"]
    words = [word.replace(INSTALLED, "flashdoctor.pyz") for word in container["command"]]
    done = run(words, {"CUDA_VISIBLE_DEVICES": ""})
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("FAIL  ")


@pytest.mark.parametrize("code", [0, 1, 3])
def test_kubernetes_daemon_is_ready_while_the_stack_is_sound(
    run: Run, work: Path, pretend: Pretend, calls: Calls, code: int
) -> None:
    [container] = manifests()["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    mark = container["readinessProbe"]["exec"]["command"][-1]
    sound = work / "sound"
    if code:
        sound.touch()
    pretend("python3", code=code)
    sleeping = pretend("sleep")
    sleeping.write_text('#!/bin/sh\nkill -TERM "$PPID"\n', encoding="utf-8")
    assert mark in container["args"][0]
    script = container["args"][0].replace(mark, str(sound))
    assert run([*container["command"], script]).returncode == 0
    assert calls()[0].endswith(f"-I {INSTALLED} check --smoke off")
    assert sound.exists() == (code == 0)


@pytest.mark.parametrize(("code", "drained"), [(0, 0), (1, 1), (2, 0), (3, 0)])
def test_slurm_drains_a_node_only_for_a_fault(
    run: Run, pretend: Pretend, calls: Calls, code: int, drained: int
) -> None:
    env = {
        "SLURM_JOB_GPUS": "0,1",
        "SLURM_JOB_ID": "17",
        "FLASHDOCTOR": str(pretend("doctor", code=code, words="FAIL  no driver")),
    }
    pretend("logger")
    assert run([EXAMPLES / "slurm-prolog.sh"], env).returncode == drained
    [judged, *logged] = calls()
    assert judged.endswith("check --python /opt/llm --smoke off --quiet")
    assert [line.split("logger ")[1] for line in logged] == (
        [f"-t flashdoctor -- job 17: exit code {code}: FAIL  no driver"] if code else []
    )


def test_slurm_asks_nothing_for_a_job_without_gpus(
    run: Run, pretend: Pretend, calls: Calls
) -> None:
    env = {"FLASHDOCTOR": str(pretend("doctor", code=1))}
    assert run([EXAMPLES / "slurm-prolog.sh"], env).returncode == 0
    assert calls() == []


def test_slurm_with_the_real_command_line(run: Run, tools: Path, pretend: Pretend) -> None:
    pretend("logger")
    env = {"SLURM_JOB_GPUS": "0", "FLASHDOCTOR": str(tools / "flashdoctor")}
    nowhere = run([EXAMPLES / "slurm-prolog.sh"], {**env, "FLASHDOCTOR_PYTHON": "/no/such"})
    assert nowhere.returncode == 0  # could not be judged: logged, not drained


def test_every_shell_line_parses(run: Run) -> None:
    [daemon] = manifests()["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    scripts = [gitlab_script("gpu-stack"), gitlab_script("gpu-runner"), jenkins_script()]
    scripts += [daemon["args"][0], *docker_lines("RUN")]
    scripts += [(ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("run", "zipapp")]
    for script in (*scripts, read("slurm-prolog.sh")):
        done = run(["bash", "-n", "-c", script])
        assert (done.returncode, done.stderr) == (0, "")
