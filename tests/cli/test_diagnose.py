from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from flashdoctor import pipeline
from flashdoctor.errors import MatrixError

Call = Callable[..., tuple[int, str, str]]

SCHEMA = json.loads(
    (Path(__file__).parents[1] / "data" / "report_v1.schema.json").read_text(encoding="utf-8")
)
DRIVER = (
    "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please update"
    " your GPU driver by downloading and installing a new version\n"
)
OLD_DRIVER = f"$ pip freeze\ntorch==2.9.1+cu130\n\nError log:\n{DRIVER}"
HEALTHY = """\
Collecting environment information...
PyTorch version: 2.7.1+cu126
CUDA used to build PyTorch: 12.6
OS: Ubuntu 22.04.4 LTS (x86_64)
Python version: 3.11.9 (64-bit runtime)
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA H100 80GB HBM3
Nvidia driver version: 570.124.06
[pip3] torch==2.7.1+cu126
"""
CAUSE = "driver-too-old-for-cuda"


@pytest.fixture
def paste(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes a file and gives its name."""

    def write(name: str, text: str | bytes) -> str:
        file = tmp_path / name
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(file)

    return write


def bodies(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_the_cause_its_line_and_the_exit_code(call_main: Call, paste: Callable[..., str]) -> None:
    code, out, err = call_main("diagnose", paste("a.log", OLD_DRIVER))
    assert (code, err) == (1, "")
    first, second, *_ = out.splitlines()
    assert first.startswith("FAIL  ")
    assert first.endswith(", certain")
    assert second.startswith("      5 | RuntimeError: The NVIDIA driver on your system is too old")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
def test_standard_input_in_any_encoding(
    tmp_path: Path, child_env: dict[str, str], encoding: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flashdoctor", "diagnose", "-", "--format", "json"],
        input=OLD_DRIVER.replace("\n", "\r\n").encode(encoding),
        capture_output=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env=child_env,
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["findings"][0]["cause"] == CAUSE


def test_json_is_one_report_of_the_schema(call_main: Call, paste: Callable[..., str]) -> None:
    code, out, _ = call_main("diagnose", "--format", "json", paste("a.log", OLD_DRIVER))
    body = json.loads(out)
    Draft202012Validator(SCHEMA).validate(body)
    assert (code, body["exit_code"], body["verdict"]) == (1, 1, "fail")
    finding = body["findings"][0]
    assert finding["cause"] == CAUSE
    assert finding["evidence"][0]["line"] == 5
    assert "12020" in finding["evidence"][0]["value"]
    assert body["facts"]["torch.version"]["value"] == "2.9.1+cu130"


def test_a_healthy_stack_passes(call_main: Call, paste: Callable[..., str]) -> None:
    code, out, _ = call_main("diagnose", paste("a.txt", HEALTHY))
    assert code == 0
    assert out.startswith("PASS  nothing in this text is wrong\n")
    assert "NVIDIA H100 80GB HBM3" in out


def test_what_cannot_be_recognised_asks_for_more(
    call_main: Call, paste: Callable[..., str]
) -> None:
    code, out, _ = call_main("diagnose", paste("a.txt", "Dear all,\nit does not work.\n"))
    assert code == 3
    assert out.startswith("UNDETERMINED  nothing in this text was recognised\n")
    assert "Ask for: python -m torch.utils.collect_env\n" in out
    assert "Ask for: nvidia-smi" in out


def test_jsonl_gives_a_report_a_line_in_order(
    call_main: Call, paste: Callable[..., str], tmp_path: Path
) -> None:
    files = [
        paste("one.log", OLD_DRIVER),
        str(tmp_path / "missing.log"),
        paste("two.txt", HEALTHY),
        str(tmp_path),
        paste("three.gz", gzip.compress(OLD_DRIVER.encode())),
        paste("four.gz", gzip.compress(OLD_DRIVER.encode())[:40]),
    ]
    code, out, err = call_main("diagnose", *files, "--format", "jsonl")
    assert (code, err) == (1, "")
    reports = bodies(out)
    assert [body["file"] for body in reports] == files
    assert [body["verdict"] for body in reports] == [
        "fail", "undetermined", "pass", "undetermined", "fail", "undetermined",
    ]  # fmt: skip
    for body in reports:
        Draft202012Validator(SCHEMA).validate(body)
    assert [body.get("error", "") for body in reports] == [
        "",
        f"cannot read {files[1]}: No such file or directory",
        "",
        f"{files[3]} is a folder",
        "",
        f"cannot read {files[5]}: its end is missing",
    ]
    assert {body["exit_code"] for body in reports if "error" in body} == {3}


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ((HEALTHY,), 0),
        ((HEALTHY, "hello"), 3),
        ((HEALTHY, "hello", OLD_DRIVER), 1),
        ((OLD_DRIVER, HEALTHY), 1),
    ],
)
@pytest.mark.parametrize("output_format", ["jsonl", "terminal"])
def test_the_worst_of_several_is_the_exit_code(
    call_main: Call,
    paste: Callable[..., str],
    texts: tuple[str, ...],
    code: int,
    output_format: str,
) -> None:
    files = [paste(f"{number}.txt", text) for number, text in enumerate(texts)]
    assert call_main("diagnose", *files, "--format", output_format)[0] == code


def test_several_on_a_terminal_have_headings(call_main: Call, paste: Callable[..., str]) -> None:
    files = [paste("a.log", OLD_DRIVER), paste("no\nb.log", ""), paste("c.png", b"\x89PNG\r\n")]
    code, out, _ = call_main("diagnose", *files)
    heads = [line for line in out.splitlines() if line.startswith("== ")]
    assert heads == [f"== {name}".replace("\n", " ") for name in files]
    assert f"UNDETERMINED  {files[2]} is a picture, not text\n" in out
    assert code == 1


def test_a_single_file_that_cannot_be_read_is_an_error(call_main: Call, tmp_path: Path) -> None:
    assert call_main("diagnose", str(tmp_path)) == (
        3,
        "",
        f"flashdoctor: error: {tmp_path} is a folder (name the files in it)\n",
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "Missing argument"),
        (("a", "b", "--format", "json"), "--format jsonl prints one report a line"),
        (("-", "-"), "standard input can be read only once"),
        (
            ("a", "--format", "jsnl"),
            "--format takes terminal, json, sarif, junit, github, markdown, html or jsonl",
        ),
        (("a", "-v", "-q"), "exclude each other"),
        (("a", "--redact", "--format", "json"), "--redact prints the text itself"),
        (("a", "--redact", "-q"), "--redact prints the text itself"),
        (("a", "--require", "vlm"), "did you mean 'vllm'?"),
        (("a", "--fail-on", "errors"), "did you mean 'error'?"),
        (("a", "--select", "LS9999999"), "--select: no rule 'LS9999999'"),
    ],
)
def test_wrong_usage(call_main: Call, args: tuple[str, ...], said: str) -> None:
    code, out, err = call_main("diagnose", *args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_options_reach_the_judgement(call_main: Call, paste: Callable[..., str]) -> None:
    file = paste("a.log", OLD_DRIVER)
    assert call_main("diagnose", file, "--fail-on", "never")[0] == 0
    ids = [
        item["id"]
        for item in bodies(call_main("diagnose", file, "--format", "jsonl")[1])[0]["findings"]
    ]
    assert CAUSE not in call_main("diagnose", file, "--ignore", "FD1,LS1", "--format", "jsonl")[1]
    family = ids[0][:3].lower()
    assert call_main("diagnose", file, "--select", family)[0] == 1
    assert call_main("diagnose", file, "--select", "LS9", "-q")[1].startswith("PASS")
    required = call_main("diagnose", file, "--require", "flash-attn", "--format", "jsonl")[1]
    assert "flash-attn" in bodies(required)[0]["required"]


def test_quiet_and_verbose(call_main: Call, paste: Callable[..., str]) -> None:
    file = paste("a.log", OLD_DRIVER)
    assert call_main("diagnose", file, "-q")[1].count("\n") == 1
    assert "source https://" in call_main("diagnose", file, "--verbose")[1]


def test_output_goes_to_a_file(call_main: Call, paste: Callable[..., str], tmp_path: Path) -> None:
    file, target = paste("a.log", OLD_DRIVER), tmp_path / "out"
    for args in ((), ("--format", "json"), ("--format", "jsonl"), ("--redact",)):
        code, out, _ = call_main("diagnose", file, *args, "--output", str(target))
        assert (code, out) == (0 if args == ("--redact",) else 1, "")
        assert "NVIDIA driver" in target.read_text(encoding="utf-8")
        target.unlink()


def test_one_paste_that_breaks_us_does_not_stop_the_others(
    call_main: Call, paste: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = pipeline.diagnose

    def diagnose(lines: Any, **options: Any) -> Any:
        read = list(lines)
        if any("boom" in line.text for line in read):
            raise RuntimeError("a bug")
        return original(iter(read), **options)

    monkeypatch.setattr(pipeline, "diagnose", diagnose)
    files = [paste("a", "boom"), paste("b", OLD_DRIVER)]
    code, out, _ = call_main("diagnose", *files, "--format", "jsonl")
    first, second = bodies(out)
    assert (code, first["error"]) == (1, "internal error: RuntimeError: a bug")
    assert second["findings"][0]["cause"] == CAUSE


def test_bad_matrices_stop_everything(
    call_main: Call, paste: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def diagnose(_lines: Any, **_options: Any) -> Any:
        raise MatrixError("torch.toml: bad")

    monkeypatch.setattr(pipeline, "diagnose", diagnose)
    code, out, err = call_main("diagnose", paste("a", ""), paste("b", ""), "--format", "jsonl")
    assert (code, out, err) == (3, "", "flashdoctor: error: torch.toml: bad\n")


def test_redact_prints_the_text_for_sharing(call_main: Call, paste: Callable[..., str]) -> None:
    token = "hf_" + "aB3" * 9
    text = f"/home/jo/x\n::error::fake\n##[error]old\nHF_TOKEN={token}\n\x1b[2Jlast\n"
    shown = "~/x\n: :error::fake\n## [error]old\nHF_TOKEN=<secret>\nlast\n"
    file = paste("a.log", text)
    assert call_main("diagnose", "--redact", file) == (0, shown, "")
    both = call_main("diagnose", "--redact", file, file)[1]
    assert both == f"== {file}\n{shown}== {file}\n{shown}"
    code, _, err = call_main("diagnose", "--redact", f"{file}.missing")
    assert (code, "No such file" in err) == (3, True)


@pytest.mark.skipif(os.name != "posix", reason="needs a pipe without a reader")
def test_redact_stops_when_nobody_reads(
    paste: Callable[..., str], tmp_path: Path, child_env: dict[str, str]
) -> None:
    file = paste("a.log", "INFO a line of the log\nINFO another one\n" * 200_000)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "flashdoctor", "diagnose", "--redact", file],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            timeout=5,
            env=child_env,
            cwd=tmp_path,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_hostile_text_is_inert_on_the_screen_and_in_json(
    call_main: Call, paste: Callable[..., str]
) -> None:
    bad = "\x1b]0;title\x07::error::fake ##[error]old \x1b[2J\u202e"
    file = paste("a.log", f"{bad}{DRIVER.rstrip()} {bad}\n")
    for args in ((), ("--verbose",), ("--format", "json"), ("--format", "jsonl")):
        code, out, _ = call_main("diagnose", file, *args)
        assert code == 1
        assert "##[" not in out
        assert all(
            line.isprintable() and not line.lstrip().startswith("::") for line in out.split("\n")
        )


def test_nothing_slow_is_imported(
    paste: Callable[..., str], tmp_path: Path, child_env: dict[str, str]
) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-m",
            "flashdoctor",
            "diagnose",
            paste("a", OLD_DRIVER),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env=child_env,
    )
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    slow = {"rich", "pydantic", "packaging", "xml", "email", "asyncio", "ctypes", "zipfile", "gzip"}
    assert names & slow == set()
    assert "flashdoctor" in names


def test_a_home_folder_in_the_name_of_a_file_is_cut_in_jsonl(
    call_main: Call, tmp_path: Path
) -> None:
    file = tmp_path / "home" / "jdoe7" / "x.log"
    file.parent.mkdir(parents=True)
    file.write_text(
        "CUDA error: no kernel image is available for execution on the device", encoding="utf-8"
    )
    assert "jdoe7" not in call_main("diagnose", str(file), "--format", "jsonl")[1]
