from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

Call = Callable[..., tuple[int, str, str]]
SCHEMA = json.loads(
    (Path(__file__).parents[1] / "data" / "lint_v1.schema.json").read_text(encoding="utf-8")
)
MODEL = Path(__file__).parents[1] / "data" / "models" / "llama3.1-8b"
AT = ("--engine-version", "0.25.1")


def test_a_right_launch_passes(call_main: Call) -> None:
    code, out, err = call_main("lint", "vllm serve m --max-model-len 8192", *AT)
    assert (code, err) == (0, "")
    assert out.startswith("PASS  nothing is wrong with this launch for vLLM 0.25.1\n")


def test_a_wrong_flag_fails_and_json_says_what_to_write(call_main: Call) -> None:
    text = "vllm serve m \\\n  --disable-cuda-graph"
    code, out, _ = call_main("lint", text, *AT, "--format", "json")
    body = json.loads(out)
    Draft202012Validator(SCHEMA).validate(body)
    [finding] = body["findings"]
    assert (code, body["exit_code"], body["verdict"]) == (1, 1, "fail")
    assert finding["flag"] == "--disable-cuda-graph"
    assert finding["line"] == 2
    assert finding["replacement"] == "--enforce-eager"
    assert finding["cause"] == "vllm-flag-unrecognized"


@pytest.mark.parametrize(
    ("version", "fail_on", "verdict", "code"),
    [
        ("0.10", "error", "pass", 0),
        ("0.13.0", "error", "warn", 0),
        ("0.13.0", "warning", "warn", 1),
        ("0.20", "error", "fail", 1),
        ("0.20", "never", "fail", 0),
    ],
)
def test_exit_codes(call_main: Call, version: str, fail_on: str, verdict: str, code: int) -> None:
    args = ("--engine-version", version, "--fail-on", fail_on, "--format", "json")
    found, out, _ = call_main("lint", "vllm serve m --swap-space 4", *args)
    assert (found, json.loads(out)["verdict"]) == (code, verdict)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["hello"], 3, "no launch of a vLLM server"),
        ([""], 2, "empty"),
        (["vllm serve m", "--engine-version", "latest"], 2, "not a version"),
        (["vllm serve m", "--format", "yaml"], 2, "--format"),
        (["vllm serve m", "--fail-on", "info"], 2, "--fail-on"),
        (["vllm serve m", "--assume", "vllm=0.10.2", "--python", "x"], 2, "exclude"),
        (["vllm serve m", "-q", "-v"], 2, "exclude"),
        (["vllm serve m", "--python", "/nowhere/at/all"], 2, "/nowhere/at/all"),
        ([], 2, "COMMAND"),
    ],
)
def test_wrong_usage_and_no_launch(call_main: Call, args: list[str], code: int, said: str) -> None:
    found, out, err = call_main("lint", *args)
    assert found in {code, 3 if "--python" in args else code}
    assert out == ""
    assert said in err


def test_the_release_is_named_by_what_is_known(call_main: Call) -> None:
    def engine(*args: str) -> tuple[str, str]:
        _, out, _ = call_main("lint", *args, "--format", "json")
        found = json.loads(out)["launches"][0]["engine"]
        return found["version"], found["named_by"]

    image = "docker run vllm/vllm-openai:v0.9.1 --model m"
    assert engine("vllm serve m", "--assume", "vllm=0.10.2") == ("0.10.2", "--assume")
    assert engine("vllm serve m", *AT, "--assume", "vllm=0.10.2")[0] == "0.25.1"
    assert engine(image, "--assume", "gpu=H200") == ("0.9.1", "the tag of the image")
    assert engine("vllm serve m", "--assume", "gpu=H200")[1].startswith("no release was named")


def test_an_installed_vllm_is_read(call_main: Call, tmp_path: Path) -> None:
    site = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    (site / "vllm" / "engine").mkdir(parents=True)
    (site / "vllm-0.10.2.dist-info").mkdir()
    (tmp_path / "env" / "bin").mkdir()
    python = tmp_path / "env" / "bin" / "python"
    python.write_text("#!/bin/sh\n", encoding="utf-8")
    python.chmod(0o755)
    source = "def add_cli_args(parser):\n    parser.add_argument('--only-here', type=int)\n"
    (site / "vllm" / "engine" / "arg_utils.py").write_text(source, encoding="utf-8")
    args = ("--python", str(python), "--format", "json")
    code, out, _ = call_main("lint", "vllm serve m --only-here 1", *args)
    body = json.loads(out)
    assert (code, body["launches"][0]["engine"]["version"]) == (0, "0.10.2")
    assert "installed" in body["launches"][0]["engine"]["flags_from"]
    code, out, _ = call_main("lint", "vllm serve m --port 1", *args)
    assert code == 1


def test_files_standard_input_and_words(call_main: Call, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\nvllm serve m --foo\n", encoding="utf-8")
    code, out, _ = call_main("lint", str(script), *AT, "--format", "json")
    assert (code, json.loads(out)["findings"][0]["line"]) == (1, 2)
    code, out, _ = call_main("lint", *AT, "-q", "--", "vllm", "serve", "m", "--foo")
    assert code == 1
    config = tmp_path / "c.yaml"
    config.write_text("model: m\nfoo-bar: 1\n", encoding="utf-8")
    code, out, _ = call_main("lint", str(config), *AT, "--format", "json")
    assert [(one["flag"], one["line"]) for one in json.loads(out)["findings"]] == [("--foo-bar", 2)]


def test_a_config_file_beside_a_script_is_read_with_it(call_main: Call, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("port: 1\n\nswap-space: 4\n", encoding="utf-8")
    script = tmp_path / "run.sh"
    script.write_text("vllm serve m --config c.yaml --port 2\n", encoding="utf-8")
    code, out, _ = call_main("lint", str(script), *AT, "--format", "json")
    [finding] = json.loads(out)["findings"]
    assert code == 1
    assert (finding["flag"], finding["line"], finding["where"]) == ("--swap-space", 3, "c.yaml")
    script.write_text("vllm serve m --config gone.yaml\n", encoding="utf-8")
    assert call_main("lint", str(script), *AT)[0] == 0


def test_a_launch_from_standard_input(run_cli: Callable[..., object]) -> None:
    done = run_cli("lint", "-", *AT, stdin="vllm serve m --model-names x\n")
    assert getattr(done, "returncode", None) == 1
    assert "Write --served-model-name instead." in getattr(done, "stdout", "")


def test_a_model_that_does_not_fit(call_main: Call) -> None:
    args = ("--assume", "gpu=RTX 4090", "--assume", "vllm=0.25.1", "--model", str(MODEL))
    code, out, _ = call_main("lint", "vllm serve m --max-model-len 131072", *args)
    assert code == 1
    assert "does not fit on" in out
    assert call_main("lint", "vllm serve m --max-model-len 8192", *args)[0] == 0
