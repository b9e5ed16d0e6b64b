from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashdoctor.cli.main import main
from flashdoctor.render.formats import FORMATS

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Call = Callable[..., tuple[int, str, str]]
SCHEMA = Path(__file__).resolve().parent.parent / "data" / "report_v1.schema.json"


def test_a_sound_stack_passes(run_cli: Run, sound: list[str]) -> None:
    done = run_cli("check", *sound)
    assert done.returncode == 0
    assert done.stdout.startswith("PASS  ")
    assert done.stderr == ""


def test_a_broken_stack_fails_with_a_cause_and_a_command(run_cli: Run, broken: list[str]) -> None:
    done = run_cli("check", *broken, "--require", "flash-attn")
    assert done.returncode == 1
    assert done.stdout.startswith("FAIL  flash-attn cannot run in the assumed stack\n")
    assert "x flash        flash-attn 2.7.4.post1" in done.stdout
    assert "flashdoctor rules explain FD3" in done.stdout


def test_nothing_known_is_never_a_pass(run_cli: Run) -> None:
    done = run_cli("check", "--assume", "os=Ubuntu 22.04")
    assert done.returncode == 3
    assert done.stdout.startswith("UNDETERMINED  ")
    assert "flashdoctor check --assume 'os=Ubuntu 22.04' --assume gpu=NAME" in done.stdout


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize(("fail_on", "code"), [("error", 1), ("warning", 1), ("never", 0)])
def test_the_exit_code_is_the_same_in_every_format(
    call_main: Call, broken: list[str], output_format: str, fail_on: str, code: int
) -> None:
    options = ["--require", "flash-attn", "--format", output_format, "--fail-on", fail_on]
    assert call_main("check", *broken, *options)[0] == code


def test_json_is_alone_on_stdout_and_has_the_shape(
    run_cli: Run, sound: list[str], broken: list[str]
) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for items in (sound, broken, ["--assume", "os=Ubuntu 22.04"]):
        done = run_cli("check", *items, "--format", "json")
        body = json.loads(done.stdout)
        jsonschema.validate(body, schema)
        assert done.returncode == body["exit_code"]
        assert done.stderr == ""


def test_quiet_is_the_verdict_alone(call_main: Call, broken: list[str]) -> None:
    _, full, _ = call_main("check", *broken, "--require", "flash-attn")
    _, quiet, _ = call_main("check", *broken, "--require", "flash-attn", "--quiet")
    assert quiet == full.splitlines(keepends=True)[0]


def test_verbose_adds_sources(call_main: Call, broken: list[str]) -> None:
    _, out, _ = call_main("check", *broken, "--verbose")
    assert "(--assume)" in out
    assert "tables of " in out


def test_select_and_ignore(call_main: Call, broken: list[str]) -> None:
    def judged(*options: str) -> set[str]:
        body = json.loads(call_main("check", *broken, "--format", "json", *options)[1])
        parts = (body["passed"], *([i["id"] for i in body[k]] for k in ("findings", "skipped")))
        return {rule for part in parts for rule in part}

    everything = judged()
    family = judged("--select", "fd3")
    assert family == {rule for rule in everything if rule.startswith("FD3")}
    assert family
    one, other = sorted(everything)[:2]
    assert judged("--select", f"{one}, {other}") == {one, other}
    assert judged("--ignore", one, "--ignore", other) == everything - {one, other}
    name = json.loads(call_main("rules", "explain", one, "--format", "json")[1])["rules"][0]["name"]
    assert judged("--select", name) == {one}


def test_a_snapshot_is_judged_from_a_file_and_from_stdin(run_cli: Run, snapshot_file: Path) -> None:
    text = snapshot_file.read_text(encoding="utf-8")
    from_file = run_cli("check", "--snapshot", str(snapshot_file), "--format", "json")
    from_stdin = run_cli("check", "--snapshot", "-", "--format", "json", stdin=text)
    assert from_file.stdout == from_stdin.stdout
    assert json.loads(from_file.stdout)["facts"]["torch.version"]["value"] == "2.7.1+cu126"
    assert from_file.returncode == 0


def test_the_report_of_a_snapshot_is_the_same_on_every_run(
    call_main: Call, snapshot_file: Path
) -> None:
    args = ("check", "--snapshot", str(snapshot_file), "--verbose")
    assert call_main(*args) == call_main(*args)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[]",
        "null",
        "{}",
        '{"schema": "flashdoctor/snapshot/v2", "facts": {}}',
        '{"schema": "flashdoctor/snapshot/v1"}',
        '{"schema": "flashdoctor/snapshot/v1", "facts": {"torch.version": 1}}',
        '{"schema": "flashdoctor/snapshot/v1", "facts": {"gpu.name": {"state": "known"}}}',
        '{"schema": "flashdoctor/snapshot/v1", "facts": {}, "conflicts": 7}',
        "[" * 100_000,
        '{"a": ' * 5000,
        "\x00\x01",
        "9" * 10_000,
    ],
    ids=lambda text: repr(text[:24]),
)
def test_a_broken_snapshot_is_exit_3_and_one_line(
    call_main: Call, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text, encoding="utf-8")
    code, out, err = call_main("check", "--snapshot", str(file), "--format", "json")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert err.startswith("flashdoctor: error: ")


@pytest.mark.parametrize("name", ["no-such-file", ".", "nul\x00byte"])
def test_an_unreadable_snapshot_is_exit_3(call_main: Call, tmp_path: Path, name: str) -> None:
    code, out, err = call_main("check", "--snapshot", str(tmp_path / name))
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert err.startswith("flashdoctor: error: cannot read ")


def test_output_goes_to_the_file_and_nowhere_else(
    run_cli: Run, tmp_path: Path, broken: list[str]
) -> None:
    direct = run_cli("check", *broken, "--format", "json")
    done = run_cli("check", *broken, "--format", "json", "--output", "report.json")
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode == direct.returncode == 1
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == direct.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_examples_are_listed_and_each_is_judged(call_main: Call) -> None:
    code, out, _ = call_main("check", "--snapshot", "example:list", "--format", "json")
    names = [item["name"] for item in json.loads(out)]
    assert code == 0
    listing = call_main("check", "--snapshot", "example:list")[1]
    for name in names:
        assert f"example:{name}" in listing
        code, out, err = call_main("check", "--snapshot", f"example:{name}")
        assert code in {0, 1, 3}
        assert out.splitlines()[0].partition(" ")[0] in {"PASS", "WARN", "FAIL", "UNDETERMINED"}
        assert err == ""


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def mutate(value: Any, data: st.DataObject) -> Any:
    """Replace some parts of a JSON value by others, at any depth."""
    if data.draw(st.integers(0, 9)) == 0:
        return data.draw(junk)
    if isinstance(value, dict):
        return {key: mutate(item, data) for key, item in value.items()}
    return [mutate(item, data) for item in value] if isinstance(value, list) else value


@given(data=st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_mutated_snapshot_never_breaks_the_contract(
    sound_snapshot: dict[str, Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    data: st.DataObject,
) -> None:
    file = tmp_path / "mutated.json"
    file.write_text(json.dumps(mutate(sound_snapshot, data)), encoding="utf-8")
    for output_format in FORMATS:
        code = main(["check", "--snapshot", str(file), "--format", output_format])
        out, err = capfd.readouterr()
        assert code in {0, 1, 3}
        assert "internal error" not in err
        assert "Traceback" not in out + err
        assert bool(out) != bool(err)
        if out and output_format == "json":
            assert json.loads(out)["exit_code"] == code


@given(st.lists(st.text(max_size=12) | st.sampled_from(["check", "--assume", "--format", "json"])))
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_words_are_answered(capfd: pytest.CaptureFixture[str], words: list[str]) -> None:
    code = main(["check", "--assume", "os=x", *words])
    out, err = capfd.readouterr()
    assert code in {0, 1, 2, 3}
    assert "internal error" not in err
    assert bool(out) != bool(err)


def on_a_terminal(args: list[str], env: dict[str, str]) -> str:
    """Return what the program writes when its standard output is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "flashdoctor", *args], stdout=theirs, stdin=theirs, env=env
    ) as child:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # Linux's way to say that the other side was closed
            pass
        child.wait(timeout=60)
    os.close(ours)
    return b"".join(parts).decode("utf-8")


@pytest.mark.parametrize(
    ("changed", "colour", "unicode"),
    [
        ({}, True, True),
        ({"NO_COLOR": "1"}, False, False),
        ({"CI": "true"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"PYTHONIOENCODING": "ascii"}, True, False),
    ],
    ids=["terminal", "NO_COLOR", "CI", "dumb", "ascii"],
)
def test_colour_and_marks_on_a_terminal(
    child_env: dict[str, str],
    sound: list[str],
    changed: dict[str, str],
    colour: bool,
    unicode: bool,
) -> None:
    env = {**child_env, "TERM": "xterm-256color", **changed}
    text = on_a_terminal(["check", *sound, "--verbose"], env)
    assert "PASS" in text
    assert ("\x1b[32m" in text) == colour
    assert ("\u2713" in text) == unicode


def test_the_width_of_the_terminal_is_kept(child_env: dict[str, str], broken: list[str]) -> None:
    env = {**child_env, "TERM": "dumb", "COLUMNS": "64"}
    lines = on_a_terminal(["check", *broken], env).splitlines()
    assert [line for line in lines if len(line) > 64 and not line.startswith("    ")] == []


@pytest.mark.parametrize("form", [(), ("--verbose",)])
def test_a_release_that_the_tables_do_not_reach_is_named_once(
    call_main: Callable[..., tuple[int, str, str]], form: tuple[str, ...]
) -> None:
    items = ("gpu=H100", "driver=610", "python=3.12", "torch=2.99.1+cu132", "transformers=99.0.0")
    options = [word for item in items for word in ("--assume", item)]
    _, out, _ = call_main("check", *options, *form)
    told = " ".join(out.split())
    assert "torch 2.99.1+cu132 (they end at 2." in told
    assert told.count("flashdoctor matrix refresh tells what the index says of them.") == 1
    _, out, _ = call_main("check", *options[:6], "--assume", "torch=2.8.0")
    assert "tables of" not in " ".join(out.split())


def test_smoke_off_leaves_out_what_a_recording_proves(run_cli: Run) -> None:
    given = ("check", "--snapshot", "example:h200", "--require", "flash-attn")
    assert "is proven in" in run_cli(*given).stdout
    done = run_cli(*given, "--smoke", "off")
    assert done.returncode == 0
    assert done.stdout.startswith("PASS  flash-attn fits ")
    assert "judged,\n      not run" in done.stdout
    assert "proven" not in done.stdout
    facts = json.loads(run_cli(*given, "--smoke", "off", "--format", "json").stdout)["facts"]
    assert facts["smoke.status"]["value"] == "not-run"
    assert facts["smoke.proven"]["state"] == "unknown"
