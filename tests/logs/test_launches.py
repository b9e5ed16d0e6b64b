from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.command_line import split_words
from flashdoctor.logs.launches import clean_model, find_launch, state_launch


def read(text: str) -> dict[str, object]:
    launch = find_launch(split_words(text))
    assert launch is not None
    return dict(state_launch(launch))


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("vllm serve x/y", "vllm"),
        ("/opt/venv/bin/vllm bench serve --model x/y", "vllm"),
        ("/usr/bin/python3.11 -u -m vllm.entrypoints.openai.api_server --model x/y", "vllm"),
        ("python api_server.py --model x/y", "vllm"),
        ("sglang serve --model-path x/y", "sglang"),
        ("accelerate launch train.py", "accelerate"),
        ("deepspeed train.py", "deepspeed"),
        ("swift sft --model x/y", "swift"),
        ("docker run --gpus all ghcr.io/huggingface/text-generation-inference:2.0 --model-id x/y",
         "tgi"),
        (("docker run --gpus all --entrypoint python3 vllm/vllm-openai:v0.9.0 "
         "-m vllm.entrypoints.openai.api_server --model x/y"), "vllm"),
        ("podman run --device nvidia.com/gpu=all docker.io/vllm/vllm-openai:v0.9.0 --model x/y",
         "vllm"),
        ("docker run --rm nvidia/cuda:12.1.0-base-ubuntu22.04 nvidia-smi", "docker"),
    ],
)  # fmt: skip
def test_the_program(command: str, program: str) -> None:
    assert read(command)["launch.program"] == program


@pytest.mark.parametrize(
    "command",
    ["", "ls -l", "vllm", "vllm --version", "python", "python x.py", "python -m pip install x",
     "docker ps", "docker run", "llamafactory-cli version", "A=1"],
)  # fmt: skip
def test_other_commands(command: str) -> None:
    assert find_launch(split_words(command)) is None


@pytest.mark.parametrize(
    ("options", "gpus"),
    [("--gpus all", "all"), ("--gpus '\"device=0,1\"'", '"device=0,1"'), ("", None),
     ("--runtime=nvidia", "runtime nvidia"), ("--device=nvidia.com/gpu=all", "nvidia.com/gpu=all")],
)  # fmt: skip
def test_how_a_container_gets_its_gpus(options: str, gpus: str | None) -> None:
    assert read(f"docker run {options} ubuntu true")["launch.gpus"] == gpus


def test_shared_memory_of_a_container() -> None:
    assert read("docker run --shm-size=1.5g ubuntu true")["os.shm_mib"] == 1536
    assert "os.shm_mib" not in read("docker run --shm-size=big ubuntu true")


@pytest.mark.parametrize(
    ("text", "name"),
    [("x/y", "x/y"), ("'x/y'", "x/y"), ("$MODEL", None), ("${MODEL}", None), ("<model>", None),
     ("/data/models/x y", "/data/models/x y"), ("", None)],
)  # fmt: skip
def test_the_name_of_a_model(text: str, name: str | None) -> None:
    assert clean_model(text) == name


@given(st.lists(st.sampled_from(["vllm", "serve", "docker", "run", "--gpus", "-e", "python", "-m",
                                 "vllm.entrypoints.api_server", "--model", "x/y", "-tp", "2",
                                 "sudo", "A=1", "--", "-"]) | st.text(max_size=6)))  # fmt: skip
def test_any_words_are_survived(words: list[str]) -> None:
    launch = find_launch(words)
    facts = list(state_launch(launch)) if launch else []
    assert all(
        path.partition(".")[0] in {"launch", "model", "container", "os"} for path, _ in facts
    )
