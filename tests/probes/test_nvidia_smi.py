from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from flashdoctor.probes.command import Completed
from flashdoctor.probes.gpu_answer import Answer
from flashdoctor.probes.nvidia_smi import parse_capabilities, parse_failure, read_nvidia_smi

Recorded = Callable[[str], str]
Stub = Callable[[Mapping[str, str]], dict[str, str]]
HANG = "HANG"
PLENTY = 30.0


def need(answer: Answer | None) -> Answer:
    assert answer is not None
    return answer


_NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
    "the latest NVIDIA driver is installed and running."
)
_LOST = (
    "Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost.  Reboot the system "
    "to recover this GPU"
)
_NO_LIBRARY = "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system."
_MISMATCH = "Driver/library version mismatch"
_BLOCKED = "GPU access blocked by the operating system"
_INIT = "Failed to initialize NVML: "


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        (f"{_INIT}{_MISMATCH}", "version-mismatch", _MISMATCH),
        (f"{_INIT}{_MISMATCH}\nNVML library version: 550.107", "version-mismatch", _MISMATCH),
        (f"{_INIT}Unknown Error", "unknown-error", "Unknown Error"),
        (_NO_DRIVER, "driver-not-loaded", _NO_DRIVER),
        (
            f"modprobe: FATAL: Module nvidia not found.\n{_NO_DRIVER}",
            "driver-not-loaded",
            _NO_DRIVER,
        ),
        (
            f"{_INIT}{_BLOCKED}\nFailed to properly shut down NVML: {_BLOCKED}",
            "no-permission",
            _BLOCKED,
        ),
        (_LOST, "gpu-lost", _LOST),
        (_NO_LIBRARY, "library-not-found", _NO_LIBRARY),
        ("No devices were found", "ok", "No devices were found"),
    ],
)
def test_error_texts(text: str, status: str, words: str) -> None:
    for completed in (Completed(stdout=text, status=9), Completed(stderr=text, status=9)):
        answer = need(parse_failure(completed))
        assert (answer.status, answer.error) == (status, words)


def test_no_error_text() -> None:
    assert parse_failure(Completed(stdout="hello", status=0)) is None


def test_capabilities() -> None:
    assert parse_capabilities("0, 9.0\n1, 12.1\n") == {0: "9.0", 1: "12.1"}
    assert parse_capabilities('Field "compute_cap" is not a valid field to query.') == {}


def test_the_program_is_asked_for_xml_first(
    recorded: Recorded, nvidia_smi_stub: Stub, tmp_path: Path
) -> None:
    environ = nvidia_smi_stub({"-q -x": recorded("h200x2.xml"), "--query-gpu": "0, 9.0\n1, 9.0\n"})
    answer = need(read_nvidia_smi(environ, PLENTY, tmp_path))
    assert answer.source == "nvidia-smi -q -x"
    assert [device["compute_capability"] for device in answer.devices] == ["9.0", "9.0"]


def test_the_table_where_there_is_no_xml(
    recorded: Recorded, nvidia_smi_stub: Stub, tmp_path: Path
) -> None:
    environ = nvidia_smi_stub(
        {"-q -x": "Invalid combination of input arguments.", "": recorded("470_t4.txt")}
    )
    answer = need(read_nvidia_smi(environ, PLENTY, tmp_path))
    assert (answer.source, answer.driver) == ("nvidia-smi", "470.57.02")


def test_a_program_that_hangs(nvidia_smi_stub: Stub, tmp_path: Path) -> None:
    started = time.monotonic()
    answer = need(read_nvidia_smi(nvidia_smi_stub({"-q -x": HANG}), 1.0, tmp_path))
    assert time.monotonic() - started < 3
    assert (answer.status, answer.error) == ("timeout", "no answer from nvidia-smi within 1.0 s")


def test_a_program_that_hangs_on_the_second_question(
    recorded: Recorded, nvidia_smi_stub: Stub, tmp_path: Path
) -> None:
    environ = nvidia_smi_stub({"-q -x": recorded("h200x2.xml"), "--query-gpu": HANG})
    started = time.monotonic()
    answer = need(read_nvidia_smi(environ, 1.0, tmp_path))
    assert time.monotonic() - started < 3
    assert (answer.status, answer.count) == ("ok", 2)
    assert "compute_capability" not in answer.devices[0]


def test_a_program_that_says_nothing(nvidia_smi_stub: Stub, tmp_path: Path) -> None:
    answer = need(read_nvidia_smi(nvidia_smi_stub({}), PLENTY, tmp_path))
    assert (answer.status, answer.error) == (
        "unknown-error",
        "nvidia-smi gave no GPU list (status 2)",
    )


def test_a_program_that_may_not_be_run(nvidia_smi_stub: Stub, tmp_path: Path) -> None:
    environ = {"PATH": nvidia_smi_stub({})["PATH"].partition(":")[0]}
    Path(environ["PATH"], "nvidia-smi").chmod(0o600)
    assert need(read_nvidia_smi(environ, PLENTY, tmp_path)).status == "no-permission"


def test_no_program(tmp_path: Path) -> None:
    assert read_nvidia_smi({"PATH": str(tmp_path)}, PLENTY, tmp_path) is None


def test_the_program_of_wsl_outside_path(
    recorded: Recorded, nvidia_smi_stub: Stub, tmp_path: Path
) -> None:
    source = Path(
        nvidia_smi_stub({"-q -x": recorded("h200x2.xml")})["PATH"].partition(":")[0], "nvidia-smi"
    )
    target = tmp_path / "root/usr/lib/wsl/lib/nvidia-smi"
    target.parent.mkdir(parents=True)
    source.rename(target)
    answer = need(read_nvidia_smi({"PATH": "/nowhere"}, PLENTY, tmp_path / "root"))
    assert answer.count == 2
