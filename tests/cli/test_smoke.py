from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import PIPE
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashdoctor.cli.main import main
from flashdoctor.cli.progress import Progress
from flashdoctor.render.formats import FORMATS
from flashdoctor.target import payload
from tests.processes import has_gone, read_pid

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Call = Callable[..., tuple[int, str, str]]
DATA = Path(__file__).resolve().parent.parent / "data"
SCHEMA = json.loads((DATA / "smoke_v1.schema.json").read_text(encoding="utf-8"))
NAMES = json.loads((DATA / "smoke" / "kernel_names.json").read_text(encoding="utf-8"))
BY_BACKEND = {"default": "cudnn", "flash": "torch-flash", "cudnn": "cudnn",
              "mem-efficient": "mem-efficient"}  # fmt: skip

# Plays the agent on an H200: what a case is told to be stands in CHANGED by its name.
AGENT = """
NAMES, BY_BACKEND, CHANGED = {names}, {by_backend}, {changed}
def main(parts, options, emit):
    emit({{"agent": "smoke", "event": "start", "torch": "2.11.0+cu130", "device": "NVIDIA H200",
          "capability": "9.0", "import_s": 1.0, "cuda_s": 0.5}})
    for case in options["cases"]:
        name, backend = case["name"], case["backend"]
        emit({{"agent": "smoke", "event": "begin", "name": name}})
        result = {{"agent": "smoke", "event": "result", "name": name, "status": "ran", "ms": 1.0,
                  "profiler": "ok", "max_abs_error": 0.01}}
        if backend in BY_BACKEND:
            result["kernels"] = [NAMES[BY_BACKEND[backend]]]
        result.update(CHANGED.get(name, {{}}))
        if options.get("model_dir"):
            trust = options["trust_remote_code"]
            result["got"] = {{"model_dir": options["model_dir"], "trust": trust}}
        emit(result)
    emit({{"agent": "smoke", "event": "end"}})
"""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return the interpreter of an environment without torch."""
    venv.create(tmp_path / "venv", symlinks=True, with_pip=False)
    return tmp_path / "venv" / "bin" / "python"


@pytest.fixture
def h200(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return a function that puts a played agent in place: it gives the options to run it with."""

    def play(**changed: Mapping[str, Any]) -> list[str]:
        told = {name.replace("_", "-"): value for name, value in changed.items()}
        agent = AGENT.format(names=repr(NAMES), by_backend=repr(BY_BACKEND), changed=repr(told))
        real = payload._text
        monkeypatch.setattr(payload, "_PARTS", {**payload._PARTS, "smoke": ("smoke",)})
        monkeypatch.setattr(payload, "_text", lambda n: agent if n == "smoke" else real(n))
        monkeypatch.setattr(payload, "_code", lambda _name: "")
        return ["smoke", "--python", str(bare)]

    return play


CASES = ["--case", "sdpa-default-d128", "--case", "sdpa-flash-d128,sdpa-flash-mask"]
REFUSED = {"sdpa_flash_mask": {"status": "refused", "kernels": [], "messages": [
    "Flash attention kernel not used because:",
    "Flash Attention does not support non-null attn_mask."]}}  # fmt: skip


def test_what_runs_is_proven(call_main: Call, h200: Any) -> None:
    code, out, err = call_main(*h200(**REFUSED), *CASES)
    assert (code, err) == (0, "")
    assert out.startswith(
        "PROVEN  SDPA runs cuDNN's kernel and torch's flash kernel on NVIDIA H200"
    )
    assert "pytorch_flash::flash" in out
    assert "x SDPA, flash only, with" in out


def test_json_is_alone_on_stdout_and_has_the_shape(call_main: Call, h200: Any) -> None:
    code, out, err = call_main(*h200(**REFUSED), *CASES, "--format", "json")
    body = json.loads(out)
    jsonschema.validate(body, SCHEMA)
    assert (code, err, body["exit_code"], body["verdict"]) == (0, "", 0, "pass")
    cases = {case["name"]: case for case in body["cases"]}
    assert list(cases) == ["sdpa-default-d128", "sdpa-flash-d128", "sdpa-flash-mask"]
    assert cases["sdpa-flash-d128"]["proven"] is True
    assert cases["sdpa-flash-mask"]["reasons"][0]["cause"] == "sdpa-attn-mask-blocks-flash"
    assert (body["proven"], body["torch_start_seconds"]) == (["cudnn", "torch-flash"], 1.5)


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize(
    ("changed", "more", "code"),
    [
        ({}, [], 0),
        ({}, ["--require", "sdpa"], 0),
        ({}, ["--require", "flash-attn"], 1),
        ({"sdpa_flash_d128": {"status": "wrong"}}, [], 1),
        ({"sdpa_flash_d128": {"kernels": [], "status": "error", "fatal": False}}, [], 0),
        ({"sdpa_flash_d128": {"kernels": [NAMES["cudnn"]]}}, [], 0),
    ],
)
def test_the_exit_code_is_the_same_in_every_format(
    call_main: Call, h200: Any, changed: Any, *, more: list[str], code: int, output_format: str
) -> None:
    args = [*h200(**REFUSED, **changed), *CASES, *more, "--format", output_format]
    assert call_main(*args)[0] == code


def test_a_mask_is_not_flash_attn(call_main: Call, h200: Any) -> None:
    args = [*h200(**REFUSED), "--case", "sdpa-flash-mask", "--require", "flash-attn"]
    code, out, _ = call_main(*args, "--format", "json")
    finding = json.loads(out)["findings"][-1]
    assert (code, finding["id"], finding["cause"]) == (1, "FD413", "sdpa-attn-mask-blocks-flash")
    code, out, _ = call_main(*args)
    assert (code, out.partition("  ")[0]) == (1, "FAIL")


def test_a_blind_profiler_is_exit_3(call_main: Call, h200: Any) -> None:
    blind = {"kernels": [], "profiler": "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"}
    code, out, _ = call_main(*h200(sdpa_flash_d128=blind), "--case", "sdpa-flash-d128")
    assert code == 3
    assert out.startswith("UNPROVEN  no kernel could be named: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")
    assert "only torch-flash was allowed to run, 1.00 ms" in out


def test_without_torch_nothing_is_proven(run_cli: Run, bare: Path) -> None:
    done = run_cli("smoke", "--python", str(bare))
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("UNPROVEN  ModuleNotFoundError: No module named 'torch'\n")
    done = run_cli("smoke", "--python", str(bare), "--format", "json", "--require", "flash-attn")
    body = json.loads(done.stdout)
    jsonschema.validate(body, SCHEMA)
    assert (done.returncode, body["verdict"], body["proven"]) == (3, "undetermined", [])
    assert {case["status"] for case in body["cases"]} == {"not-run"}


def test_quiet_and_verbose(call_main: Call, h200: Any) -> None:
    args = [*h200(**REFUSED), *CASES]
    full = call_main(*args)[1]
    assert call_main(*args, "--quiet")[1] == full.splitlines(keepends=True)[0]
    verbose = call_main(*args, "--verbose")[1]
    assert "sdpa-flash-mask  Flash attention kernel not used because:" in verbose


def test_output_goes_to_the_file(call_main: Call, h200: Any, tmp_path: Path) -> None:
    file = tmp_path / "smoke.json"
    args = [*h200(), *CASES, "--format", "json", "--output", str(file)]
    assert call_main(*args) == (0, "", "")
    jsonschema.validate(json.loads(file.read_text(encoding="utf-8")), SCHEMA)


def test_a_model_goes_to_the_agent(call_main: Call, h200: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    args = [*h200(), *CASES, "--model", str(tmp_path), "--trust-remote-code", "--format", "json"]
    got = json.loads(call_main(*args)[1])["cases"][0]["got"]
    assert got["trust"] is True
    assert got["model_dir"].endswith(tmp_path.name)


def test_the_list_says_what_there_is(call_main: Call, bare: Path) -> None:
    code, out, err = call_main("smoke", "--list", "--python", str(bare))
    assert (code, err) == (0, "")
    assert "v sdpa-flash-mask" in out
    assert "refused: sdpa-attn-mask-blocks-flash" in out
    assert "flash-attn is not installed" in out
    body = json.loads(call_main("smoke", "--list", "--python", str(bare), "--format", "json")[1])
    rows = {row["name"]: row for row in body["cases"]}
    assert rows["flash-attn-d128"]["available"] is False
    assert rows["vllm"]["on_request"] is True
    one = call_main("smoke", "--list", "--python", str(bare), "--case", "vllm")[1]
    assert one.startswith("- vllm  ")
    assert one.count("\n") == 1


LISTED = "\n".join([NAMES["fa2"], "", NAMES["cudnn"], "  no_such_kernel  "]) + "\n"


def test_kernels_are_named_offline(run_cli: Run, tmp_path: Path) -> None:
    file = tmp_path / "kernels.txt"
    file.write_text(LISTED, encoding="utf-8")
    done = run_cli("smoke", "--classify", str(file), "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert [row["family"] for row in rows] == ["fa2", "cudnn", "other"]
    assert [row["kernel"] for row in rows] == [NAMES["fa2"], NAMES["cudnn"], "no_such_kernel"]
    piped = run_cli("smoke", "--classify", "-", "--format", "json", stdin=LISTED)
    assert piped.stdout == done.stdout
    shown = run_cli("smoke", "--classify", str(file))
    assert shown.stdout.startswith("fa2    void flash::flash_fwd_kernel")


@given(text=st.text(max_size=200))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_is_classified(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str
) -> None:
    file = tmp_path / "kernels.txt"
    file.write_text(text, encoding="utf-8", errors="replace")
    code = main(["smoke", "--classify", str(file), "--format", "json"])
    out, err = capfd.readouterr()
    assert code in {0, 3}
    assert "internal error" not in err
    assert bool(out) != bool(err)


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (
            ["--case", "sdpa-flsh-mask"],
            2,
            "no case 'sdpa-flsh-mask'; did you mean 'sdpa-flash-mask",
        ),
        (["--case", ","], 2, "--case names no case"),
        (["--require", "flash"], 2, "--require takes"),
        (["--format", "yaml"], 2, "--format takes terminal, json, sarif,"),
        (["--quiet", "--verbose"], 2, "exclude each other"),
        (["--classify", "x", "--case", "sdpa"], 2, "so --case means nothing"),
        (["--classify", "x", "--list"], 2, "so --list means nothing"),
        (["--classify", "x", "--model", "y"], 2, "so --model means nothing"),
        (["--classify", "no-such-file"], 3, "cannot read no-such-file"),
        (["--classify", os.devnull], 3, "holds no kernel name"),
        (["--trust-remote-code"], 2, "--trust-remote-code is about --model"),
        (["--model", "no-such-folder"], 2, "--model: there is no no-such-folder"),
        (["--python", "no-such-python"], 3, "no Python at no-such-python"),
    ],
)
def test_wrong_usage_is_one_line(call_main: Call, args: list[str], code: int, words: str) -> None:
    got, out, err = call_main("smoke", *args)
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert words in err


def hanging(bare: Path, note: Path) -> None:
    """Give an environment a torch whose import writes down its process and never ends."""
    site = next((bare.parent.parent / "lib").glob("python3*")) / "site-packages"
    (site / "torch").mkdir()
    text = f"import os, time\nopen({str(note)!r}, 'w').write(str(os.getpid()) + chr(10))\n"
    (site / "torch" / "__init__.py").write_text(f"{text}time.sleep(300)\n", encoding="utf-8")


@pytest.mark.skipif(os.name != "posix", reason="needs its signals")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interrupt_leaves_nothing_behind(
    tmp_path: Path, child_env: dict[str, str], bare: Path, number: str
) -> None:
    note, sent = tmp_path / "pid", getattr(signal, number)
    hanging(bare, note)
    args = [sys.executable, "-m", "flashdoctor", "smoke", "--python", str(bare), "--case", "sdpa"]
    before = signal.getsignal(sent)
    if before is signal.SIG_IGN:  # under nohup a child would ignore it as well
        signal.signal(sent, signal.SIG_DFL)
    child = subprocess.Popen(args, stdout=PIPE, stderr=PIPE, env=child_env, cwd=tmp_path)
    signal.signal(sent, before)
    with child:
        read_pid(note)
        child.send_signal(sent)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, b"", b"")
    assert has_gone(note)


def said_on_a_terminal(args: list[str], env: dict[str, str], cwd: Path) -> tuple[str, str]:
    """Return what the program writes to its standard output, a pipe, and to a terminal behind 2."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "flashdoctor", *args], stdout=PIPE, stderr=theirs, env=env, cwd=cwd
    ) as child:
        os.close(theirs)
        out, _ = child.communicate(timeout=60)
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:  # Linux's way to say that the other side was closed
        pass
    os.close(ours)
    return out.decode(), b"".join(parts).decode()


@pytest.mark.parametrize(
    ("env", "more", "shown"),
    [
        ({}, [], True),
        ({}, ["--format", "json"], True),
        ({"CI": "true"}, [], False),
        ({"TERM": "dumb"}, [], False),
        ({}, ["--quiet"], False),
    ],
)
def test_progress_is_shown_on_a_terminal_only(
    tmp_path: Path, child_env: dict[str, str], bare: Path, *,
    env: dict[str, str], more: list[str], shown: bool,
) -> None:  # fmt: skip
    args = ["smoke", "--python", str(bare), "--case", "sdpa-flash", *more]
    out, err = said_on_a_terminal(args, {**child_env, "TERM": "xterm", **env}, tmp_path)
    assert out
    assert ("starting torch" in err) is shown
    assert not shown or err.endswith(f"\r{' ' * 60}\r")
    assert "\n" not in err


def test_progress_is_one_harmless_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def __init__(self) -> None:
            self.text = ""

        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> None:
            self.text += text

        def flush(self) -> None:
            if self.text.count("x") > 3:
                raise BrokenPipeError

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = Progress(quiet=False, env={"TERM": "xterm"})
    progress(3, 41, "sdpa-flash\x1b[2J\n::error::x")
    assert terminal.text.endswith("\r4 of 41: sdpa-flash ::error::x")
    progress(40, 41, "xxxxx")
    progress.clear()
    assert terminal.text.count("\n") == 0


def test_the_command_explains_itself(run_cli: Run) -> None:
    done = run_cli("smoke", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("Usage: flashdoctor smoke", "--case", "--list", "--classify", "--require",
                 "--model", "--trust-remote-code", "--format", "--output", "--quiet"):  # fmt: skip
        assert word in done.stdout


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_names_that_powershell_wrote_are_read(run_cli: Run, tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "names.txt"
    file.write_bytes("void flash::flash_fwd_kernel<x>(y)\r\n_fwd_kernel\r\n".encode(encoding))
    done = run_cli("smoke", "--classify", str(file), "--format", "json")
    assert [row["family"] for row in json.loads(done.stdout)] == ["fa2", "triton"]
