from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.prefixes import SYSLOG, SYSLOG_ISO, strip_prefixes

ERROR = "RuntimeError: CUDA error: no kernel image is available"
FRAME = '  File "/x/y.py", line 3, in run'

PREFIXES = [
    "vllm-1  | ",
    "my_app_1  | ",
    "vllm            | ",
    "2025-01-02T03:04:05.123456789Z stderr F ",
    "2025-01-02T03:04:05.123456789+01:00 stdout P ",
    "2025-01-02T03:04:05.1234567Z ",
    "\ufeff2025-01-02T03:04:05.1234567Z ",
    "2025-01-02T03:04:05.123456Z 01E ",
    "2025-01-02T03:04:05.123456Z 00O+",
    "2025-01-02T03:04:05Z ",
    "build\tRun tests\t2025-01-02T03:04:05.1234567Z ",
    "2025-01-02T03:04:05.1234567Z ##[error]",
    "##[group]",
    "::error file=a.py,line=3::",
    "::warning::",
    "Dec 29 15:21:11 node-7 python3[1234]: ",
    "Dec  9 15:21:11.123456 node7 vllm.service[1]: ",
    "<6>Dec 29 15:21:11 node7 app: ",
    "2025-12-29T15:21:11.123456+01:00 node7 vllm[12]: ",
    "2025-12-29T15:21:11+0100 node7 vllm[12]: ",
    "[   12.345678] ",
    "[98765.432100][ T1234] ",
    "<4>[   12.345678] ",
    "[Mon Dec 29 15:21:11 2025] ",
    "[2025-01-02T03:04:05.123Z] ",
    "[pod/vllm-7d9f/vllm] ",
    "(RayWorkerWrapper pid=1523, ip=10.0.0.2) ",
    "(ServeReplica:default:VLLMDeployment pid=123) ",
    "(VllmWorkerProcess pid=7) ",
    "(VllmWorker rank=0 pid=7) ",
    "(EngineCore_DP0 pid=357) ",
    "(Worker_TP0 pid=1) ",
    "(APIServer pid=291) ",
    "(pid=12, ip=10.0.0.1) ",
    "(raylet) ",
    "(raylet, ip=10.0.0.2) ",
    "(autoscaler +1m2s) ",
    "[rank0]: ",
    "[default3]:",
    "[1,0]<stderr>: ",
    "#14 123.45 ",
    "12: ",
    "E       ",
]

KEPT = [
    "(found version 12020)",
    "(base) user@host:~$ nvidia-smi",
    "(a process with pid 12) went away",
    "[pip3] torch==2.6.0",
    "[conda] pytorch 2.1.0",
    "[rank0]:[E1229 15:21:11 ProcessGroupNCCL.cpp:1] x"[9:],
    "[1/23] c++ -MMD -MF x.o",
    "| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |",
    "torch      | 2.6.0 |",
    "2024-01-01 10:00:00.000 | ERROR    | module:func:12 - msg",
    "2025-01-02 03:04:05,123 ERROR msg",
    "ERROR 12-29 15:21:11 [x.py:1] msg",
    "INFO:     Started server process [291]",
    "8.6",
    "01:00.0 3D controller: NVIDIA",
    "Error: x",
    "May be a good idea",
    "December 3",
    "# a comment",
    "#include <cuda.h>",
    "12:30:01 something",
    "kernel: NVRM: API mismatch",
    "",
    " ",
    FRAME,
]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("text", [ERROR, FRAME])
def test_a_prefix_goes_and_the_line_stays(prefix: str, text: str) -> None:
    if text == FRAME and prefix in {"12: ", "E       "}:
        text = FRAME.lstrip()
    assert strip_prefixes(prefix + text) == text


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_prefix_stays(text: str) -> None:
    assert strip_prefixes(text) == text


def test_prefixes_stand_behind_one_another() -> None:
    many = "vllm-1  | 2025-01-02T03:04:05Z stderr F (RayWorkerWrapper pid=3) (Worker_TP1 pid=4) "
    assert strip_prefixes(f"{many}[rank1]: {ERROR}") == ERROR


def test_rays_count_of_repeats_goes() -> None:
    tail = " [repeated 7x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0)"
    assert strip_prefixes(f"(W pid=1) {ERROR}{tail}") == ERROR


def test_whose_message_it_is_stays_where_that_tells_something() -> None:
    text = "kernel: NVRM: API mismatch: the client has the version 535.1"
    assert strip_prefixes(f"Dec 29 15:21:11 gpu01 {text}") == text
    assert strip_prefixes("Dec 29 15:21:11 gpu01 nvidia-persistenced[9]: Failed") == (
        "nvidia-persistenced[9]: Failed"
    )


def test_the_host_of_a_system_log_has_a_name_of_its_own() -> None:
    for pattern, text in (
        (SYSLOG, "Dec 29 15:21:11 gpu01 kernel: NVRM: x"),
        (SYSLOG_ISO, "2025-12-29T15:21:11.1+01:00 gpu01 vllm[12]: x"),
    ):
        found = pattern.match(text)
        assert found is not None
        assert found["host"] == "gpu01"


@given(st.text() | st.sampled_from(PREFIXES), st.text())
def test_what_remains_is_an_end_of_the_line(start: str, end: str) -> None:
    text = start + end
    kept = strip_prefixes(text)
    assert text.endswith(kept) or "[repeated" in text


@given(st.sampled_from(PREFIXES), st.integers(1, 30))
def test_many_prefixes_end(prefix: str, count: int) -> None:
    assert len(strip_prefixes(prefix * count)) <= len(prefix * count)
