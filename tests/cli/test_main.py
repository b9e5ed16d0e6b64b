from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import pytest

from flashdoctor import __version__, pipeline
from flashdoctor.errors import InputError

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Call = Callable[..., tuple[int, str, str]]

COMMANDS = (
    ("check",),
    ("snapshot",),
    ("rules", "list"),
    ("rules", "explain"),
    ("matrix", "show"),
    ("smoke",),
    ("diagnose",),
)
SLOW_TO_IMPORT = {
    "rich", "pydantic", "packaging", "xml", "email", "pynvml", "elftools", "asyncio", "ctypes",
    "torch", "tempfile", "http", "pygments",
}  # fmt: skip

WRONG = [
    (("chek",), "there is no command 'chek'; did you mean 'check'?"),
    (("check", "--fromat", "json"), "No such option: --fromat"),
    (("check", "extra"), "unexpected extra argument"),
    (("check", "--python"), "requires an argument"),
    (("check", "--verbose=1"), "does not take a value"),
    (
        ("check", "--format", "jsn"),
        "takes terminal, json, sarif, junit, github, markdown or html, not 'jsn'; did you mean",
    ),
    (("check", "--smoke", "yes"), "--smoke takes auto, on or off"),
    (("check", "--fail-on", "warn"), "did you mean 'warning'?"),
    (("check", "--require", "sdpa,vlm"), "not 'vlm'; did you mean 'vllm'?"),
    (("check", "--assume", "torch"), "is not KEY=VALUE"),
    (("check", "--assume", "tork=2.6"), "did you mean 'torch'"),
    (("check", "--assume", "torch=2.6", "--python", "x"), "--python and --assume exclude"),
    (("check", "--assume", "torch=2.6", "--snapshot", "-"), "--snapshot and --assume exclude"),
    (("check", "--assume", "torch=2.6", "--smoke", "on"), "--smoke on runs something"),
    (("check", "--quiet", "--verbose"), "exclude each other"),
    (("check", "--snapshot", "example:no-such"), "no example is called"),
    (("check", "--select", ",", "--assume", "torch=2.6"), "--select names no rule"),
    (("check", "--select", "FD999,nonsense", "--assume", "torch=2.6"), "no rule 'FD999'"),
    (("check", "--ignore", "302", "--assume", "torch=2.6"), "--ignore: no rule '302'"),
    (("snapshot", "--format", "yaml"), "--format takes terminal or json"),
    (("snapshot", "--smoke", "on", "--python", "\x1b[31m\n::error::", "--format", "x"), "--format"),
    (("rules",), "Missing command"),
    (("rules", "explain"), "Missing argument"),
    (("rules", "explain", "FD000"), "no rule 'FD000'"),
    (("rules", "list", "--format", ""), "--format takes terminal or json, not ''"),
    (("matrix", "show"), "Missing argument"),
    (("matrix", "show", "trch"), "did you mean 'torch'?"),
    (("matrix", "show", "torch", "0.0.1"), "no row of torch is called '0.0.1'"),
    (
        ("check", "--assume", "torch=2.6", "--output", "/no/such/folder/file"),
        "--output: cannot write",
    ),
]


@pytest.mark.parametrize(("args", "said"), WRONG, ids=lambda value: " ".join(value)[:40])
def test_wrong_usage_is_one_line_and_exit_2(
    call_main: Call, args: tuple[str, ...], said: str
) -> None:
    code, out, err = call_main(*args)
    assert code == 2
    assert out == ""
    assert err.startswith("flashdoctor: error: ")
    assert err.count("\n") == 1
    assert err.rstrip("\n").isprintable()
    assert said in err


@pytest.mark.parametrize(
    "args", [("check", "--fromat"), ("rules", "explain", "FD000"), ("check", "x")]
)
def test_wrong_usage_of_the_real_program(run_cli: Run, args: tuple[str, ...]) -> None:
    done = run_cli(*args)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "flashdoctor" in done.stderr.partition("(")[2]  # the hint


def test_without_a_command_the_help_is_the_answer(run_cli: Run) -> None:
    done = run_cli()
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Usage: flashdoctor [OPTIONS] COMMAND" in done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(run_cli: Run, command: tuple[str, ...]) -> None:
    done = run_cli(*command, "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    for word in (f"Usage: flashdoctor {' '.join(command)}", "--format", "--output", "--help"):
        assert word in done.stdout
    assert "\x1b" not in done.stdout


def test_version(run_cli: Run) -> None:
    done = run_cli("--version")
    assert (done.returncode, done.stdout) == (0, f"flashdoctor {__version__}\n")


@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("check", "--assume", "gpu=L4", "--assume", "torch=2.5.1+cu124"),
        ("check", "--assume", "gpu=L4", "--assume", "torch=2.5.1+cu124", "--format", "json"),
    ],
    ids=["help", "terminal", "json"],
)
def test_nothing_slow_is_imported(
    tmp_path: Path, child_env: dict[str, str], args: tuple[str, ...]
) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "flashdoctor", *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env=child_env,
    )
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "flashdoctor.cli.main" in names
    assert {name.partition(".")[0] for name in names} & SLOW_TO_IMPORT == set()


def test_an_expected_failure_has_its_code_and_hint(
    call_main: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_source: str) -> None:
        raise InputError("bad\n::error::thing", hint="try \x1b[1mthis")

    monkeypatch.setattr(pipeline, "load_snapshot", fail)
    assert call_main("check", "--snapshot", "x") == (
        3,
        "",
        "flashdoctor: error: bad; ::error::thing (try this)\n",
    )


def test_an_unexpected_failure_is_one_line_and_exit_3(
    call_main: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_source: str) -> None:
        raise RuntimeError("boom\nmore")

    monkeypatch.delenv("FLASHDOCTOR_DEBUG", raising=False)
    monkeypatch.setattr(pipeline, "load_snapshot", crash)
    code, out, err = call_main("check", "--snapshot", "x")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert err.startswith("flashdoctor: internal error: RuntimeError: boom more (please report")
    monkeypatch.setenv("FLASHDOCTOR_DEBUG", "1")
    assert "Traceback" in call_main("check", "--snapshot", "x")[2]


@pytest.mark.skipif(os.name != "posix", reason="needs a FIFO and SIGINT")
def test_an_interrupt_is_exit_130_without_a_word(tmp_path: Path, child_env: dict[str, str]) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    child_env.pop("PYTHONWARNINGS")  # the interrupted open() leaves its file to the collector
    args = [sys.executable, "-m", "flashdoctor", "check", "--snapshot", str(fifo)]
    with (
        subprocess.Popen(args, stdout=PIPE, stderr=PIPE, env=child_env, cwd=tmp_path) as child,
        fifo.open("wb"),  # opens when the child reads it
    ):
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, b"", b"")


@pytest.mark.skipif(os.name != "posix", reason="needs a pipe without a reader")
@pytest.mark.parametrize("args", [("matrix", "show", "gpus", "--format", "json"), ("--help",)])
def test_a_reader_that_went_away_is_no_error(
    tmp_path: Path, child_env: dict[str, str], args: tuple[str, ...]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "flashdoctor", *args],
            stdout=writer,
            stderr=PIPE,
            check=False,
            timeout=60,
            env=child_env,
            cwd=tmp_path,
        )
    finally:
        os.close(writer)
    assert done.stderr == b""
    assert done.returncode in {0, 1}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said(tmp_path: Path, child_env: dict[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "flashdoctor", "matrix", "show", "torch"],
            stdout=full,
            stderr=PIPE,
            text=True,
            check=False,
            timeout=60,
            env=child_env,
            cwd=tmp_path,
        )
    assert done.returncode == 2
    assert done.stderr == "flashdoctor: error: cannot write the output: No space left on device\n"


def test_closed_streams_are_survived(tmp_path: Path, child_env: dict[str, str]) -> None:
    script = f"'{sys.executable}' -m flashdoctor matrix show torch >&- 2>&-"
    done = subprocess.run(
        ["/bin/sh", "-c", script], check=False, timeout=60, env=child_env, cwd=tmp_path
    )
    assert done.returncode == 0


def test_a_terminal_that_is_not_utf8_gets_escapes_not_a_crash(run_cli: Run) -> None:
    plain = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run_cli("check", "--assume", "torch=2.6", "--assume", "os=Caf\u00e9 OS", env=plain)
    assert done.returncode in {0, 1, 3}
    assert "Caf\\xe9 OS" in done.stdout
    assert done.stderr == ""
