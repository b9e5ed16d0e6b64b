from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from flashdoctor.cli import tune as command
from flashdoctor.tune import emit, plan

Call = Callable[..., tuple[int, str, str]]
DATA = Path(__file__).resolve().parent.parent / "data"
LLAMA = str(DATA / "models" / "llama3.1-8b")
SCHEMA = json.loads((DATA / "tune_v1.schema.json").read_text(encoding="utf-8"))
H200 = ("--assume", "gpu=NVIDIA H200", "--engine-version", "0.25.1")
SMALL = ("--pin", "gpu-memory-utilization=0.12")


def test_a_plan_is_a_command_with_reasons(call_main: Call) -> None:
    code, out, err = call_main("tune", LLAMA, *H200)
    assert (code, err) == (0, "")
    assert out.startswith("FITS  llama3.1-8b on NVIDIA H200, vLLM 0.25.1, goal throughput\n")
    assert "--max-num-seqs 512" in out
    assert "the most that CUDA graphs cover" in out
    assert "Attention: FLASH_ATTN, FA3" in out


def test_what_does_not_fit_is_exit_1_with_vllms_words(call_main: Call) -> None:
    code, out, err = call_main("tune", LLAMA, *H200, *SMALL)
    assert (code, err) == (1, "")
    assert out.startswith("DOES NOT FIT  llama3.1-8b on NVIDIA H200")
    said = " ".join(out.split())
    assert "No available memory for the cache blocks. Try increasing" in said
    assert "What would make it fit:" in out
    code, out, _ = call_main("tune", LLAMA, *H200, *SMALL, "--quiet")
    assert (code, out.count("\n")) == (1, 1)


@pytest.mark.parametrize("more", [(), SMALL, ("--goal", "latency", "--allow", "fp8-kv")])
def test_json_is_alone_on_stdout_and_has_the_shape(call_main: Call, more: tuple[str, ...]) -> None:
    code, out, err = call_main("tune", LLAMA, *H200, *more, "--format", "json")
    body = json.loads(out)
    jsonschema.validate(body, SCHEMA)
    assert (err, body["exit_code"], body["fits"]) == ("", code, code == 0)


@pytest.mark.parametrize("form", command.FORMS)
def test_each_form_is_emitted(call_main: Call, form: str, tmp_path: Path) -> None:
    file = tmp_path / "launch"
    args = ("tune", LLAMA, *H200, "--emit", form, "--output", str(file))
    assert call_main(*args) == (0, "", "")
    assert "--max-num-seqs" in file.read_text(encoding="utf-8")
    assert LLAMA in file.read_text(encoding="utf-8")


def test_the_shells_form_is_the_jsons_command(call_main: Call) -> None:
    _, out, _ = call_main("tune", LLAMA, *H200, "--emit", "shell")
    _, body, _ = call_main("tune", LLAMA, *H200, "--format", "json")
    assert shlex.split(out.replace("\\\n", "")) == shlex.split(json.loads(body)["command"])


def test_a_config_stands_for_its_folder(call_main: Call) -> None:
    _, out, _ = call_main("tune", f"{LLAMA}/config.json", *H200, "--emit", "shell")
    assert shlex.split(out.replace("\\\n", ""))[:3] == ["vllm", "serve", LLAMA]


def test_snapshots_and_examples(call_main: Call) -> None:
    code, out, _ = call_main("tune", LLAMA, "--snapshot", "example:h200", "--goal", "latency")
    assert code == 0
    assert "NVIDIA H200" in out


def test_nothing_is_emitted_for_what_does_not_fit(call_main: Call) -> None:
    code, out, err = call_main("tune", LLAMA, *H200, *SMALL, "--emit", "shell")
    assert (code, out) == (1, "")
    assert "does not fit" in err


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("tune",), 2, "MODEL"),
        (("tune", "/nowhere", *H200), 2, "/nowhere"),
        (("tune", LLAMA, "--assume", "os=Ubuntu 22.04"), 3, "compute capability"),
        (("tune", LLAMA, *H200, "--goal", "speed"), 2, "--goal takes"),
        (("tune", LLAMA, *H200, "--emit", "helm"), 2, "--emit takes"),
        (("tune", LLAMA, *H200, "--pin", "swap-space=4"), 2, "has no --swap-space"),
        (("tune", LLAMA, *H200, "--allow", "int4"), 2, "--allow does not know"),
        (("tune", LLAMA, *H200, "--max-model-len", "long"), 2, "number of tokens"),
        (("tune", LLAMA, *H200, "--workload", "1x2"), 2, "three numbers"),
        (("tune", LLAMA, *H200, "--workload", "0x2x3"), 2, "three numbers"),
        (("tune", LLAMA, *H200, "--snapshot", "x"), 2, "exclude each other"),
        (("tune", LLAMA, *H200, "-q", "-v"), 2, "exclude each other"),
        (("tune", LLAMA, *H200, "--emit", "shell", "--format", "json"), 2, "--emit prints"),
        (("tune", LLAMA, "--assume", "gpu=T4", "--engine-version", "x"), 2, "not a version"),
    ],
)
def test_wrong_usage(call_main: Call, args: tuple[str, ...], code: int, words: str) -> None:
    got, out, err = call_main(*args)
    assert (got, out) == (code, "")
    assert words in err
    assert err.count("\n") == 1


def test_words_of_the_command_line_are_those_of_the_planner() -> None:
    assert plan.GOALS == command.GOALS
    assert tuple(emit.FORMS) == command.FORMS
