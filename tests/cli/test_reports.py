"""Formats as the command line hands them out: where they go, what they agree on, what stays in."""

from __future__ import annotations

import html
import json
import re
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.cli.reports import Request, beside, requests, source_name
from flashdoctor.errors import UsageError
from flashdoctor.render.formats import FORMATS

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Call = Callable[..., tuple[int, str, str]]
GATES = [name for name in FORMATS if name not in {"terminal", "json"}]
TOKEN = "hf_abcdefghijKLMNOPQRSTuvwxyz0123456789"
LOG = (
    "\x1b[31m[bold]red[/bold]\x1b[0m <script>alert(1)</script><img src=x onerror=alert(1)> ]]>\n"
    "::error::pwned\n##[error]pwned\n##vso[task.setvariable variable=x]y\n"
    "##teamcity[buildStatus status='SUCCESS']\nsection_start:1700000000:x\r\x1b[0Kpwned\n"
    f"HF_TOKEN={TOKEN} python /home/alice/run.py @octocat https://e.test/x\n"
    "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). ]]> "
    f"::error:: <script>alert(1)</script> \x1b[2J {TOKEN} /home/alice/x [a](javascript:b)"
    " ##vso[task.complete result=Succeeded] ##teamcity[x] section_end:1:x\n"
    "torch==2.9.1+cu130\n"
)
COMMAND = f"vllm serve m --gpu-memory-utilization 2 --api-key {TOKEN} --hf-token {TOKEN}"
LIVE_ANYWHERE = re.compile(r"(?i)##[a-z]*\[|section_(start|end):\d+:\S*\r")
NASTY_WORDS = (
    "\x1b[2J::error::x ##[error]x ##vso[task.complete]y ##teamcity[x] \u202e <script>",
    "::error::x\n::set-env name=A::b\r\x1b]0;x\x07",
)
UNKNOWN = ("--assume", "os=Ubuntu 22.04")


def requested(*words: str) -> list[tuple[str, str | None]]:
    """Return formats and outputs as a command line of these words pairs them."""
    order = [{"-f": "output_format", "-o": "output"}[word] for word in words[::2]]
    pairs = list(zip(words[::2], words[1::2], strict=True))
    formats = [value for word, value in pairs if word == "-f"]
    outputs: list[str | None] = [value for word, value in pairs if word == "-o"]
    if 0 < len(outputs) < len(formats):
        outputs = beside(order, [value for value in outputs if value], len(formats))
    return [(one.format, one.output) for one in requests(formats, outputs)]


@pytest.mark.parametrize(
    ("words", "pairs"),
    [
        ("", [("terminal", None)]),
        ("-o a", [("terminal", "a")]),
        ("-o a -f json", [("json", "a")]),
        ("-f json -f sarif -o a", [("json", None), ("sarif", "a")]),
        ("-f sarif -o a -f json", [("sarif", "a"), ("json", None)]),
        ("-f sarif -f json -o a -o b", [("sarif", "a"), ("json", "b")]),
        ("-o a -o b -f sarif -f json", [("sarif", "a"), ("json", "b")]),
        ("-o a -f sarif -f json", [("sarif", "a"), ("json", None)]),
        ("-f json -f sarif -o a -f junit -o b", [("json", None), ("sarif", "a"), ("junit", "b")]),
        ("-f json -f sarif -f junit -o a -o b", [("json", "a"), ("sarif", "b"), ("junit", None)]),
    ],
)
def test_each_format_has_the_output_beside_it(
    words: str, pairs: list[tuple[str, str | None]]
) -> None:
    assert requested(*words.split()) == pairs


@given(st.lists(st.sampled_from(["output_format", "output"])), st.lists(st.text(), max_size=5))
def test_no_output_is_lost(order: list[str], outputs: list[str]) -> None:
    count = max(order.count("output_format"), len(outputs), 1)
    names = [*order, *["output"] * (len(outputs) - order.count("output"))]
    kept = beside(names, outputs, count) if names.count("output") == len(outputs) else outputs
    assert sorted(name for name in kept if name is not None) == sorted(outputs)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--format", "json", "--format", "sarif"), "2 formats cannot share standard output"),
        (("--format", "json", "--output", "a", "--output", "b"), "2 times for one format"),
        (
            ("--format", "json", "--output", "a", "--format", "sarif", "--output", "./a"),
            "two formats cannot share a",
        ),
        (("--format", "sraif"), "did you mean 'sarif'?"),
    ],
)
def test_what_cannot_be_told_apart_is_wrong_usage(
    call_main: Call, sound: list[str], args: tuple[str, ...], said: str
) -> None:
    code, out, err = call_main("check", *sound, *args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_dash_is_standard_output() -> None:
    asked = requests(["json", "sarif"], ["-", "a"])
    assert asked == (Request("json", None), Request("sarif", "a"))
    with pytest.raises(UsageError, match="cannot share standard output"):
        requests(["json", "sarif"], ["-", "-"])


def test_two_formats_may_both_go_nowhere() -> None:
    asked = requests(["json", "sarif"], ["/dev/null", "/dev/null"])
    assert asked == (Request("json", "/dev/null"), Request("sarif", "/dev/null"))
    with pytest.raises(UsageError):
        requests(["json", "sarif"], None)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("-", ""), ("a.log", "a.log"), ("./b/a.log", "b/a.log"), ("../a.log", "a.log"),
     ("/no/such/place/a.log", "a.log")],
)  # fmt: skip
def test_a_file_is_named_without_the_folders_above(name: str, shown: str) -> None:
    assert source_name(name) == shown
    assert source_name(str(Path.cwd() / "x" / "y.json")) == "x/y.json"


def findings(form: str, text: str) -> set[tuple[str, str]]:
    """Return the id and severity of all findings that an output tells."""
    if form == "json":
        return {(item["id"], item["severity"]) for item in json.loads(text)["findings"]}
    words = {"note": "info", "notice": "info"}
    if form == "sarif":
        found = json.loads(text)["runs"][0]["results"]
        return {(item["ruleId"], words.get(item["level"], item["level"])) for item in found}
    if form == "github":
        lines = re.findall(r"(?m)^::(\w+) (?:[^\n:]*,)?title=([A-Z]{2}\d+) ", text)
        return {(name, words.get(level, level)) for level, name in lines}
    if form == "markdown":
        return set(re.findall(r"(?m)^`(\w+)` (error|warning|info)", text))
    if form == "html":
        return set(re.findall(r'<article [^>]*data-rule="(\w+)" data-severity="(\w+)"', text))
    told = set()
    for case in ET.fromstring(text).iter("testcase"):
        name = case.attrib["name"].split()[0]
        if len(case) and case[0].tag != "skipped" and name != "verdict":
            told.add((name, (case[0].text or "").partition(":")[0]))
    return told


def cases(tmp_path: Path, sound: list[str], broken: list[str]) -> dict[str, list[str]]:
    log = tmp_path / "job.log"
    log.write_text(LOG, encoding="utf-8")
    return {
        "fail": ["check", *broken, "--require", "flash-attn"],
        "pass": ["check", *sound],
        "undetermined": ["check", *UNKNOWN],
        "example": ["check", "--snapshot", "example:v100", "--require", "flash-attn"],
        "diagnose": ["diagnose", str(log)],
        "lint": ["lint", COMMAND, "--engine-version", "0.11.0"],
    }


@pytest.mark.parametrize("which", ["fail", "pass", "undetermined", "example", "diagnose", "lint"])
def test_every_format_has_the_same_findings_and_exit_code(
    call_main: Call, tmp_path: Path, sound: list[str], broken: list[str], which: str
) -> None:
    args = cases(tmp_path, sound, broken)[which]
    code, out, _ = call_main(*args, "--format", "json")
    expected = findings("json", out)
    assert code == json.loads(out)["exit_code"]
    assert call_main(*args)[0] == code
    for form in GATES:
        again, text, err = call_main(*args, "--format", form)
        assert (again, err) == (code, ""), form
        assert findings(form, text) == expected, form
    both = [
        word for form in FORMATS for word in ("--format", form, "--output", f"{tmp_path}/{form}")
    ]
    assert call_main(*args, *both) == (code, "", "")
    assert json.loads((tmp_path / "json").read_text(encoding="utf-8")) == json.loads(out)
    for form in GATES:
        assert findings(form, (tmp_path / form).read_text(encoding="utf-8")) == expected


def test_json_stays_alone_on_stdout_beside_another_format(
    run_cli: Run, tmp_path: Path, broken: list[str]
) -> None:
    alone = run_cli("check", *broken, "--format", "json")
    done = run_cli("check", *broken, "--format", "json", "--format", "sarif", "--output", "a.sarif")
    assert (done.stdout, done.stderr, done.returncode) == (alone.stdout, "", alone.returncode)
    assert json.loads((tmp_path / "a.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"


def hostile_args(tmp_path: Path) -> dict[str, list[str]]:
    nasty = LOG.replace("\n", " ")
    facts: dict[str, Any] = {
        path: {"value": nasty, "state": "known", "source": nasty}
        for path in ("gpu.name", "torch.version", "os.distribution", "live.error")
    }
    facts["driver.version"] = {"state": "unknown", "source": nasty, "reason": nasty, "value": None}
    snapshot = tmp_path / "node.json"
    body = {"schema": "flashdoctor/snapshot/v1", "facts": facts}
    snapshot.write_text(json.dumps(body), encoding="utf-8")
    log = tmp_path / "job.log"
    log.write_text(LOG, encoding="utf-8")
    script = tmp_path / "serve.sh"
    script.write_text(
        f"{COMMAND} --::error:: '<script>alert(1)</script>' \\\n"
        "  --home /home/alice/x ']]>\x1b[2J'\n",
        encoding="utf-8",
    )
    return {
        "check": ["check", "--snapshot", str(snapshot)],
        "diagnose": ["diagnose", str(log)],
        "lint": ["lint", str(script), "--engine-version", "0.11.0"],
    }


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--assume", "gpu={}"],
        ["check", "--assume", "torch={}"],
        ["check", "--assume", "flash_attn={}", "--verbose"],
        ["check", "--select", "{}"],
        ["check", "--policy", "{}"],
        ["check", "--profile", "{}"],
        ["check", "--snapshot", "{}"],
        ["check", "--python", "{}"],
        ["check", "--format", "{}"],
        ["check", "{}"],
        ["{}"],
        ["smoke", "--case", "{}"],
        ["diagnose", "{}"],
        ["tune", "{}", "--assume", "gpu=H200"],
        ["tune", "Qwen/x", "--assume", "gpu={}"],
        ["lint", "vllm serve {}", "--engine-version", "0.11.0"],
        ["lint", "vllm serve m {}", "--engine-version", "0.11.0", "--verbose"],
        ["lint", "{}"],
        ["resolve", "--assume", "gpu={}"],
        ["resolve", "--assume", "gpu=L4", "--want", "{}"],
        ["snapshot", "--python", "{}"],
        ["diff", "{}", "example:h200"],
        ["rules", "explain", "{}"],
        ["matrix", "show", "{}"],
        ["folklore", "{}"],
        ["--show-completion", "{}"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("nasty", NASTY_WORDS, ids=range(len(NASTY_WORDS)))
def test_no_argument_of_any_command_comes_out_live(
    call_main: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], nasty: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call_main(*(word.replace("{}", nasty) for word in words))
    assert code in {0, 1, 2, 3}
    assert "internal error" not in err
    for line in (out + err).split("\n"):
        assert line.isprintable()
        assert not line.lstrip().startswith("::")
    assert not LIVE_ANYWHERE.search(out + err)


def test_no_verdict_says_in_every_format_what_to_run_next(call_main: Call) -> None:
    wanted = "flashdoctor check --assume 'os=Ubuntu 22.04' --assume gpu=NAME --assume torch=VERSION"
    for form in FORMATS:
        code, text, _ = call_main("check", *UNKNOWN, "--format", form)
        assert code == 3
        plain = html.unescape(text).replace("%3A", ":")
        assert wanted in plain or form == "json", form


def test_no_proof_says_what_to_run_next(
    call_main: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    venv.create(tmp_path / "v", symlinks=True, with_pip=False)
    for form in ("terminal", "github", "junit", "sarif", "markdown", "html"):
        code, text, _ = call_main("smoke", "--python", "v", "--format", form)
        assert (code, "flashdoctor check" in text) == (3, True), form


@pytest.mark.parametrize("command", ["check", "diagnose", "lint"])
def test_nothing_of_a_hostile_input_is_live_or_leaks(
    call_main: Call, tmp_path: Path, command: str
) -> None:
    args = hostile_args(tmp_path)[command]
    for form in FORMATS:
        code, text, err = call_main(*args, "--format", form)
        assert code in (0, 1, 3)
        assert err == ""
        assert TOKEN not in text
        assert "alice" not in text
        assert str(tmp_path) not in text
        assert not LIVE_ANYWHERE.search(text)
        lines = text.split("\n")
        assert all(line.isprintable() for line in lines)
        live = [line for line in lines if line.lstrip().startswith("::")]
        told = [line for line in live if "title=flashdoctor%3A" not in line]
        body = json.loads(call_main(*args, "--format", "json")[1])
        assert len(told) == (len(body["findings"]) if form == "github" else 0)
        if form == "junit":
            assert {item.tag for item in ET.fromstring(text).iter()}.isdisjoint({"script", "img"})


def test_findings_point_at_the_line_of_a_log(
    run_cli: Run, tmp_path: Path, sound: list[str], broken: list[str]
) -> None:
    args = cases(tmp_path, sound, broken)["diagnose"]
    place = first_place(run_cli(*args, "--format", "sarif").stdout)
    assert place == ("job.log", 8)


def test_findings_point_at_the_line_of_a_snapshot_and_of_a_script(
    run_cli: Run, tmp_path: Path, sound_snapshot: dict[str, Any]
) -> None:
    sound_snapshot["facts"]["driver.version"]["value"] = "450.80.02"
    file = tmp_path / "node.json"
    file.write_text(json.dumps(sound_snapshot, indent=1), encoding="utf-8")
    lines = file.read_text(encoding="utf-8").splitlines()
    done = run_cli("check", "--snapshot", "node.json", "--format", "sarif")
    name, line = first_place(done.stdout)
    assert name == "node.json"
    assert re.match(r'\s*"(driver|torch)\.', lines[line - 1])
    script = tmp_path / "serve.sh"
    script.write_text("#!/bin/sh\n\nvllm serve m \\\n  --seed many\n", encoding="utf-8")
    done = run_cli("lint", "serve.sh", "--engine-version", "0.11.0", "--format", "sarif")
    assert first_place(done.stdout) == ("serve.sh", 4)


def first_place(text: str) -> tuple[str, int]:
    place = json.loads(text)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]["startLine"]


def test_the_summary_of_a_job_is_added_to(run_cli: Run, tmp_path: Path, broken: list[str]) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n", encoding="utf-8")
    args = ("check", *broken, "--require", "flash-attn")
    env = {"GITHUB_STEP_SUMMARY": str(summary)}
    done = run_cli(*args, "--format", "github", env=env)
    text = summary.read_text(encoding="utf-8")
    assert done.returncode == 1
    assert text.startswith("# Before\n### FAIL: ")
    assert "::error" not in text
    run_cli(*args, "--format", "json", env=env)
    assert summary.read_text(encoding="utf-8") == text


def test_a_summary_that_cannot_be_written_changes_no_verdict(
    run_cli: Run, tmp_path: Path, broken: list[str]
) -> None:
    args = ("check", *broken, "--require", "flash-attn", "--format", "github")
    done = run_cli(*args, env={"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "file")})
    assert done.returncode == 1
    assert done.stderr.startswith("flashdoctor: warning: no summary was written: ")
    assert done.stdout == run_cli(*args).stdout


@pytest.mark.parametrize(
    "args", [("check", "--snapshot", "example:list"), ("smoke", "--classify", "-")]
)
def test_what_has_no_report_has_no_such_format(call_main: Call, args: tuple[str, ...]) -> None:
    code, _, err = call_main(*args, "--format", "sarif")
    assert code == 2
    assert "is written once, as terminal or json" in err


def test_several_logs_have_one_report_each(call_main: Call, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a", "b")]
    for name in files:
        Path(name).write_text(LOG, encoding="utf-8")
    code, _, err = call_main("diagnose", *files, "--format", "sarif")
    assert code == 2
    assert "--format sarif is one report, and 2 files were given" in err
    args = ("--format", "jsonl", "--format", "sarif", "--output", str(tmp_path / "s"))
    assert "goes alone" in call_main("diagnose", files[0], *args)[2]


def test_renderers_are_imported_only_when_asked(run_cli: Run, sound: list[str]) -> None:
    done = run_cli("check", *sound, env={"PYTHONVERBOSE": "1"})
    loaded = set(re.findall(r"import '?flashdoctor\.render\.(\w+)", done.stderr))
    assert loaded
    assert loaded.isdisjoint({"outline", "inert", *GATES})


def test_findings_of_a_machine_point_at_the_line_that_asks_for_the_package(
    run_cli: Run, tmp_path: Path
) -> None:
    venv.create(tmp_path / "v", symlinks=True, with_pip=False)
    (tmp_path / "requirements.txt").write_text("# pinned\n\ntorch==2.7.1\n", encoding="utf-8")
    args = ("check", "--python", "v", "--require", "sdpa", "--smoke", "off", "--format", "github")
    done = run_cli(*args)
    assert done.returncode in (1, 3)
    assert "::error file=requirements.txt,line=3,title=FD" in done.stdout
