from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., tuple[int, str, str]]
MACHINE = ("gpu=RTX 4090", "driver=535", "python=3.12", "glibc=2.35", "platform=linux_x86_64")
ASSUMED = [word for item in MACHINE for word in ("--assume", item)]


def test_a_plan_is_printed(call_main: Call) -> None:
    code, out, err = call_main("resolve", "--want", "vllm", *ASSUMED)
    assert (code, err) == (0, "")
    assert out.startswith("v plan for vllm: RTX 4090 (8.9), driver 535")
    assert "    pip install torch==2.10.0 vllm==0.19.1 transformers==4.56.2\n" in out
    assert "flashdoctor check --require vllm" in out


def test_no_plan_exits_1(call_main: Call) -> None:
    code, out, err = call_main("resolve", "--want", "fa3", *ASSUMED)
    assert (code, err) == (1, "")
    assert out.startswith("x no plan for fa3")
    assert "made for Hopper" in out


def test_json_is_the_contract(call_main: Call) -> None:
    code, out, _ = call_main("resolve", "--want", "vllm", *ASSUMED, "--format", "json")
    body = json.loads(out)
    assert (code, body["schema"]) == (0, "flashdoctor/resolve/v1")
    assert body["plan"]["torch_index"] == "cu128"
    assert body["commands"] == ["pip install torch==2.10.0 vllm==0.19.1 transformers==4.56.2"]
    assert {"candidate", "reason", "helps"} == set(body["rejected"][0])
    assert body["matrix"]["date"] >= "2026-11-30"
    assert body["tool"]["name"] == "flashdoctor"
    none = call_main("resolve", "--want", "fa3", *ASSUMED, "--format", "json")
    assert (none[0], json.loads(none[1])["plan"]) == (1, None)


def test_what_was_planned_passes_check(call_main: Call) -> None:
    out = call_main("resolve", "--want", "flash-attn", *ASSUMED, "--format", "json")[1]
    body = json.loads(out)
    options = [word for item in body["assume"] for word in ("--assume", item)]
    options += [word for name in body["require"] for word in ("--require", name)]
    code, _, err = call_main("check", *options)
    assert (code, err) == (0, "")


def test_uv_and_files(call_main: Call, tmp_path: Path) -> None:
    uv = call_main("resolve", "--want", "vllm", *ASSUMED, "--installer", "uv")[1]
    assert "uv pip install torch==2.10.0" in uv
    file = tmp_path / "requirements.txt"
    args = ("resolve", "--want", "vllm", *ASSUMED, "--emit", "requirements")
    assert call_main(*args, "--output", str(file)) == (0, "", "")
    assert "vllm==0.19.1" in file.read_text(encoding="utf-8").splitlines()
    docker = call_main("resolve", "--want", "vllm", *ASSUMED, "--emit", "dockerfile")[1]
    assert docker.startswith("# Written by flashdoctor resolve")
    emitted = json.loads(call_main(*args, "--format", "json")[1])["emitted"]
    assert emitted == {"requirements": file.read_text(encoding="utf-8")}


def test_keep_holds_torch(call_main: Call) -> None:
    own = ("--assume", "torch=2.8.0+cu128", "--keep", "torch")
    out = call_main("resolve", "--want", "vllm", *ASSUMED, *own, "--format", "json")[1]
    assert json.loads(out)["plan"]["vllm"] == "0.10.2"


def test_a_snapshot_is_planned_for(call_main: Call, snapshot_file: Path) -> None:
    args = ("resolve", "--want", "vllm", "--snapshot", str(snapshot_file), "--format", "json")
    code, out, _ = call_main(*args)
    assert (code, json.loads(out)["plan"]["vllm"]) == (0, "0.19.1")
    example = call_main("resolve", "--want", "flash-attn", "--snapshot", "example:h200")
    assert example[0] == 0


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--want", "sglang", *ASSUMED), "'sglang' cannot be planned"),
        (("--keep", "numpy", *ASSUMED), "--keep: cannot be planned: 'numpy'"),
        (("--installer", "conda", *ASSUMED), "--installer takes pip or uv"),
        (("--emit", "yaml", *ASSUMED), "--emit takes requirements or dockerfile"),
        (("--format", "yaml", *ASSUMED), "--format takes"),
        (("--snapshot", "x", *ASSUMED), "exclude each other"),
        (("--assume", "nonsense=1"), "no fact is called"),
    ],
)
def test_wrong_usage_exits_2(call_main: Call, args: tuple[str, ...], word: str) -> None:
    code, out, err = call_main("resolve", *args)
    assert (code, out) == (2, "")
    assert word in err


def test_this_machine_is_looked_at_without_assumptions(call_main: Call) -> None:
    code, out, _ = call_main("resolve", "--python", sys.executable, "--format", "json")
    body = json.loads(out)
    assert code == body["exit_code"]
    assert body["machine"]["python"].startswith(f"{sys.version_info.major}.")
    assert body["plan"] or body["obstacles"]


@pytest.mark.parametrize(
    ("wants", "gpu", "claims"),
    [
        (["vllm", "flash-attn"], "L4", ["vllm-needs-flash-attn"]),
        (["fa3"], "A100", ["a100-fa3"]),
        (["flash-attn"], "T4", ["fa2-turing"]),
        (["vllm"], "L4", []),
        ([], "A100", []),
    ],
)
def test_a_wish_that_stands_upon_a_claim_points_at_it(
    call_main: Call, wants: list[str], gpu: str, claims: list[str]
) -> None:
    args = ["resolve", *(f"--want={want}" for want in wants), "--assume", f"gpu={gpu}"]
    body = json.loads(call_main(*args, "--format", "json")[1])
    assert [pointer["id"] for pointer in body["folklore"]] == claims
    _, out, _ = call_main(*args)
    assert out.count("folklore: ") == len(claims)
    assert all(f"flashdoctor folklore {claim}" in out for claim in claims)
