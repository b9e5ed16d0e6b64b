"""nvidia-smi, for where NVML cannot be used from Python: its XML, else its plain table."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from flashdoctor.model.gpu_words import failure_status
from flashdoctor.model.regex import regex
from flashdoctor.probes.command import Completed, run
from flashdoctor.probes.gpu_answer import Answer
from flashdoctor.probes.nvidia_smi_table import SOURCE, parse_table
from flashdoctor.probes.nvidia_smi_xml import parse_xml
from flashdoctor.probes.tree import exists

_WSL_PROGRAM = "usr/lib/wsl/lib/nvidia-smi"  # there also where PATH leaves it out
_QUERY = ("--query-gpu=index,compute_cap", "--format=csv,noheader")  # not in the XML
_LEAST_S = 0.05
_CAPABILITY_ROW = regex(r"\s*(\d+)\s*,\s*(\d+\.\d)\s*")


def read_nvidia_smi(
    environ: Mapping[str, str], timeout_s: float, root: Path = Path("/")
) -> Answer | None:
    """Ask nvidia-smi, `timeout_s` seconds in all; None where there is none. Never raises."""
    deadline = time.monotonic() + timeout_s
    program = "nvidia-smi"
    completed = _run([program, "-q", "-x"], environ, deadline)
    if completed.failure == "not-found" and exists(root / _WSL_PROGRAM):
        program = str(root / _WSL_PROGRAM)
        completed = _run([program, "-q", "-x"], environ, deadline)
    if completed.failure == "not-found":
        return None
    answer = parse_xml(completed.stdout, environ)
    if answer is not None:
        more = _run([program, *_QUERY], environ, deadline)
        return parse_xml(completed.stdout, environ, parse_capabilities(more.stdout))
    failure = parse_failure(completed)
    if failure is not None or completed.failure:
        return failure or _silent(completed, timeout_s)
    plain = _run([program], environ, deadline)
    table = parse_table(plain.stdout, environ)
    return table or parse_failure(plain) or _silent(plain, timeout_s)


def _run(args: list[str], environ: Mapping[str, str], deadline: float) -> Completed:
    return run(args, timeout_s=max(deadline - time.monotonic(), _LEAST_S), env=environ)


def _silent(completed: Completed, timeout_s: float) -> Answer:
    """Make an answer of a program that said nothing of use."""
    if completed.failure == "timeout":
        error = f"no answer from nvidia-smi within {timeout_s:.1f} s"
        return Answer(source=SOURCE, status="timeout", error=error)
    status = "no-permission" if completed.failure == "permission" else "unknown-error"
    how = completed.failure or f"status {completed.status}"
    return Answer(source=SOURCE, status=status, error=f"nvidia-smi gave no GPU list ({how})")


def parse_failure(completed: Completed) -> Answer | None:
    """Read one of nvidia-smi's error texts; None where it printed none."""
    text = f"{completed.stdout}\n{completed.stderr}".strip()
    if "No devices were found" in text:
        return Answer(source=SOURCE, status="ok", count=0, error="No devices were found")
    status = failure_status(text)
    if status is None:
        return None
    said = [line.strip() for line in text.splitlines() if failure_status(line)]
    words = (said or [text])[0].removeprefix("Failed to initialize NVML: ")
    return Answer(source=SOURCE, status=status, error=words)


def parse_capabilities(text: str) -> dict[int, str]:
    """Read the rows of `--query-gpu=index,compute_cap`; older drivers answer with an error."""
    rows = map(_CAPABILITY_ROW.fullmatch, text.splitlines())
    return {int(row[1]): row[2] for row in rows if row}
