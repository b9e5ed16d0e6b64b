"""Whole pastes through `pipeline.diagnose`: reader's lines in, report out."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import jsonschema

from flashdoctor import pipeline
from flashdoctor.model.finding import Report
from flashdoctor.model.log import Line

SCHEMA = json.loads(
    (Path(__file__).parent / "data" / "report_v1.schema.json").read_text(encoding="utf-8")
)
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
PASTE = f"""\
Collecting environment information...
PyTorch version: 2.6.0+cu124
CUDA used to build PyTorch: 12.4
GPU models and configuration: GPU 0: NVIDIA A100-SXM4-80GB
Nvidia driver version: 550.54.15

$ nvidia-smi
{MISMATCH}
user anna@build-host.example.com
"""


def diagnose(text: str, **options: object) -> Report:
    lines = [Line(number, text, text) for number, text in enumerate(text.splitlines(), start=1)]
    return pipeline.diagnose(lines, **options)  # type: ignore[arg-type]


def test_a_paste_is_read_and_judged() -> None:
    report = diagnose(PASTE)
    assert (report.verdict, report.exit_code) == ("fail", 1)
    assert report.findings[0].cause == "nvml-driver-library-mismatch"
    assert report.findings[0].evidence[0].line == 8
    assert report.snapshot.value("torch.version") == "2.6.0+cu124"
    assert report.tool["name"] == "flashdoctor"
    jsonschema.validate(report.to_json(), SCHEMA)


def test_nothing_private_of_the_paste_is_in_the_report() -> None:
    text = (
        PASTE + "RuntimeError: CUDA error: no kernel image /home/anna/x token=hf_abcdefghij12345\n"
    )
    body = json.dumps(diagnose(text).to_json())
    assert "anna" not in body
    assert "hf_abcdefghij" not in body


def test_signatures_and_rules_can_be_left_out() -> None:
    causes = [finding.cause for finding in diagnose(PASTE, ignore=["LS11", "FD124"]).findings]
    assert "nvml-driver-library-mismatch" not in causes


def test_an_empty_paste_is_undetermined() -> None:
    report = diagnose("")
    assert (report.verdict, report.exit_code) == ("undetermined", 3)
    assert report.ask
    jsonschema.validate(report.to_json(), SCHEMA)


def test_many_pastes_in_one_process_are_quick() -> None:
    diagnose(PASTE)
    start = time.process_time()
    for _ in range(50):
        diagnose(PASTE)
    assert time.process_time() - start < 2.5


def test_memory_and_time_do_not_hang_on_what_repeats() -> None:
    lines = (Line(number, MISMATCH) for number in range(1, 20_001))
    report = pipeline.diagnose(lines)
    assert len(report.findings[0].evidence) <= 5


CHECK = """
import sys
from flashdoctor import pipeline
from flashdoctor.data.tables import load_tables

pipeline.judge_snapshot(pipeline.assume(["gpu=H100 80GB HBM3", "torch=2.6.0+cu124"]))
read = [name for name in load_tables()._read if name.startswith("signatures")]
print(read, [name for name in sys.modules if name.startswith("flashdoctor.logs")])
"""


def test_a_check_reads_no_signatures() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHECK],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=Path(pipeline.__file__).parents[1],
    )
    assert done.stdout.strip() == "[] []"
