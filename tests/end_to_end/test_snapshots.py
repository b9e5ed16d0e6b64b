"""A snapshot judged elsewhere gives the same report, and nobody can be told from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

# What must not leave the machine, planted wherever a user has it.
USER = "janeroe"
HOST = "roe-workstation"
HUB = "hf_QwErTyUiOpAsDfGhJkLzXcVbNm123456"
FORGE = "ghp_0123456789abcdefABCDEF0123456789abcd"
CLOUD = "AKIAIOSFODNN7EXAMPLE"
PASSWORD = "correct-horse-battery"
ADDRESS = "10.20.30.40"
CARD = "GPU-00000001-0000-0000-0000-000000000000"
OTHER_CARD = "GPU-5ca1ab1e-dead-beef-cafe-0123456789ab"
PRIVATE = [
    USER, HOST, HUB, FORGE, CLOUD, PASSWORD, ADDRESS, "5ca1ab1e", "00000001-0000",
    "somebody", "token=secret",
]  # fmt: skip
OUTPUTS = (
    ("check", "--format", "json"),
    ("check", "--verbose"),
    ("check", "--require", "vllm,flash-attn,fa3,fa4,transformers", "--verbose"),
    ("check", "--quiet"),
    ("snapshot",),
    ("snapshot", "--format", "terminal"),
)
TELLING = (("check", "--format", "json"), ("snapshot",))

VARIABLES = {
    "USER": USER,
    "LOGNAME": USER,
    "HOSTNAME": HOST,
    "HF_TOKEN": HUB,
    "AWS_ACCESS_KEY_ID": CLOUD,
    "LD_LIBRARY_PATH": f"/home/{USER}/lib",
    "PYTHONPATH": f"/home/{USER}/src",
    "CUDA_HOME": f"/home/{USER}/cuda-12.6",
    "CUDA_VISIBLE_DEVICES": f"{CARD},{OTHER_CARD}",
    "VLLM_ATTENTION_BACKEND": f"FLASH_ATTN token={HUB}",
    "PYTORCH_CUDA_ALLOC_CONF": f"expandable_segments:True,password={PASSWORD}",
    "TORCH_CUDA_ARCH_LIST": f"9.0 https://{USER}:{FORGE}@{HOST}/list",
    "NVIDIA_VISIBLE_DEVICES": OTHER_CARD,
    "NVIDIA_REQUIRE_CUDA": f"cuda>=12.4 serial={OTHER_CARD}",
}

SAYS_TOO_MUCH = f"""\
import sys
raise OSError("/home/{USER}/lib/libcudart.so.12: cannot open shared object file; "
              "host={ADDRESS} HF_TOKEN={HUB} {OTHER_CARD} {USER}@{HOST}.example.com")
"""


@pytest.fixture
def stack(rig: Any, target: Any) -> Any:
    """A machine and a target with an error, a warning and a live import."""
    target.torch().flash_attn("2.8.3+cu12torch2.7cxx11abiFALSE", abi=False)
    return rig("h200"), target


def test_a_snapshot_gives_the_report_that_the_machine_gave(command: Any, stack: Any) -> None:
    machine, target = stack
    words = ("--python", str(target.python), "--smoke", "auto")
    direct = command.run("check", "--format", "json", *words, rig=machine)
    file = command.folder / "machine.json"
    taken = command.run("snapshot", *words, "--output", str(file), rig=machine)
    assert (taken.returncode, taken.stdout, taken.stderr) == (0, "", "")
    judged = ("check", "--format", "json", "--snapshot")
    from_file = command.run(*judged, str(file))
    from_stdin = command.run(*judged, "-", stdin=file.read_text(encoding="utf-8"))
    assert direct.returncode == from_file.returncode == from_stdin.returncode == 1
    assert from_file.stdout == direct.stdout
    assert from_stdin.stdout == direct.stdout
    assert json.loads(direct.stdout)["findings"][0]["cause"] == "cxx11-abi-mismatch"


@pytest.mark.parametrize("require", ["flash-attn", "vllm"])
def test_what_is_required_is_asked_of_the_snapshot(command: Any, stack: Any, require: str) -> None:
    machine, target = stack
    words = ("--python", str(target.python), "--smoke", "off")
    snapshot = command.run("snapshot", *words, rig=machine).stdout
    options = ("--require", require, "--fail-on", "warning", "--format", "json")
    direct = command.run("check", *words, *options, rig=machine)
    replayed = command.run("check", "--snapshot", "-", *options, stdin=snapshot)
    assert (replayed.stdout, replayed.returncode) == (direct.stdout, direct.returncode)


def test_the_terminal_says_the_same_of_a_snapshot(command: Any, stack: Any) -> None:
    machine, target = stack
    words = ("--python", str(target.python), "--smoke", "off")
    snapshot = command.run("snapshot", *words, rig=machine).stdout
    direct = command.run("check", *words, rig=machine).stdout
    replayed = command.run("check", "--snapshot", "-", stdin=snapshot).stdout
    assert replayed.partition("\n")[2] == direct.partition("\n")[2]
    assert direct.startswith("FAIL  ")


def test_two_snapshots_of_one_machine_are_equal(command: Any, stack: Any) -> None:
    machine, target = stack
    words = ("snapshot", "--python", str(target.python), "--smoke", "auto")
    first, second = (command.run(*words, rig=machine).stdout for _ in range(2))
    assert first == second
    assert json.loads(first)["schema"] == "flashdoctor/snapshot/v1"


def test_nothing_private_is_in_any_output(command: Any, rig: Any, make_target: Any) -> None:
    target = make_target(Path("home") / USER / "proj" / "env")
    target.torch(init=SAYS_TOO_MUCH).flash_attn("2.8.3+cu12torch2.7cxx11abiTRUE")
    remote = f"https://{USER}:{FORGE}@{HOST}.example.com/flash_attn-2.8.3-py3-none-any.whl"
    folder = next(target.packages.glob("flash_attn-*.dist-info"))
    (folder / "direct_url.json").write_text(json.dumps({"url": remote}), encoding="utf-8")
    look_everywhere(command, rig("rtx4090"), target, said="libcudart.so.12")


def test_nor_is_it_where_the_interpreter_fails(command: Any, rig: Any, make_target: Any) -> None:
    target = make_target(Path("home") / USER / "env")
    target.write("sitecustomize.py", SAYS_TOO_MUCH.replace("raise OSError", "sys.exit"))
    look_everywhere(command, rig("h200"), target, said="ended with status 1")


def look_everywhere(command: Any, machine: Any, target: Any, said: str) -> None:
    """Look through every output for what is private, and for what is told all the same."""
    (Path(machine.root) / ".dockerenv").touch()  # the container's variables count
    libraries = f"{machine.environ['LD_LIBRARY_PATH']}:{VARIABLES['LD_LIBRARY_PATH']}"
    environ = {**VARIABLES, "LD_LIBRARY_PATH": libraries, "HOME": f"/home/{USER}"}
    words = ("--python", str(target.python), "--smoke", "on")
    for args in OUTPUTS:
        done = command.run(*args, *words, rig=machine, environ=environ)
        text = done.stdout + done.stderr
        assert done.returncode == int(args[0] == "check")
        assert [word for word in PRIVATE if word in text] == [], args
        assert said in text or args not in TELLING
