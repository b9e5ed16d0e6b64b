from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.tune.forms import Command, read_commands, read_config

KUBERNETES = """\
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: other
        image: nginx
        args: ["--model", "no"]
      - name: vllm
        image: registry.example/vllm/vllm-openai:v0.9.1
        args:
        - --model
        - Qwen/Qwen3-8B
        - --max-model-len=4096
        env:
        - name: VLLM_USE_V1
          value: "1"
"""
IN_A_SHELL = """\
apiVersion: v1
kind: Pod
spec:
  containers:
  - image: vllm/vllm-openai:v0.10.2
    command: ["/bin/sh", "-c"]
    args:
    - |
      export VLLM_LOGGING_LEVEL=DEBUG
      vllm serve Qwen/Qwen3-8B \\
        --port 8000
"""
COMPOSE = """\
services:
  llm:
    image: vllm/vllm-openai:latest
    command: >
      --model Qwen/Qwen3-8B
      --max-num-seqs 8
    environment:
      VLLM_USE_V1: 1
"""
UNIT = """\
[Service]
Environment="VLLM_USE_V1=0"
ExecStart=/opt/venv/bin/vllm serve Qwen/Qwen3-8B \\
  --port 8000
Restart=always
"""
DOCKERFILE = (
    'FROM vllm/vllm-openai:v0.10.2\nENV VLLM_USE_V1 1\nCMD ["vllm", "serve", "m", "--port", "80"]\n'
)


def one(text: str) -> Command:
    [command] = read_commands(text)
    return command


@pytest.mark.parametrize(
    ("text", "program", "words", "version"),
    [
        ("vllm serve m --port 80", "serve", "m --port 80", None),
        ("$ sudo /opt/venv/bin/vllm serve m", "serve", "m", None),
        ("uv run vllm serve m", "serve", "m", None),
        ('FROM vllm/vllm-openai:v0.20.2\nCMD ["--model", "m", "--port", "80"]\n', "server",
         "--model m --port 80", "0.20.2"),
        ("timeout 3600 /opt/bin/vllm serve m --port 80", "serve", "m --port 80", None),
        ('setsid "$PY" -m vllm.entrypoints.openai.api_server --model m', "server", "--model m",
         None),
        ("apptainer exec --nv vllm.sif vllm serve m", "serve", "m", None),
        ("python3 -m vllm.entrypoints.openai.api_server --model m", "server", "--model m", None),
        ("python -m vllm.entrypoints.api_server --model m", "demo", "--model m", None),
        ("python -m vllm.entrypoints.cli.main serve m", "serve", "m", None),
        ("docker run --gpus all -p 80:80 vllm/vllm-openai:v0.8.5.post1 --model m", "server",
         "--model m", "0.8.5.post1"),
        ("docker run --rm vllm/vllm-openai:latest --model m", "server", "--model m", None),
        ("docker run -it my/vllm:0.9.2 vllm serve m", "serve", "m", "0.9.2"),
        ("docker run my/image bash -lc 'cd /x && vllm serve m'", "serve", "m", None),
        ("cd x && vllm serve m | tee log", "serve", "m", None),
    ],
)  # fmt: skip
def test_the_ways_to_start_a_server(
    text: str, program: str, words: str, version: str | None
) -> None:
    command = one(text)
    assert (command.program, " ".join(command.words), command.version) == (program, words, version)


@pytest.mark.parametrize(
    "text",
    ["", "hello", "vllm bench serve --model m", "vllm --help", "pip install vllm", "sglang serve m",
     "python -m vllm.entrypoints.openai.run_batch -i a", "docker run nginx", "a: 'b", "- [",
     "apiVersion: v1\nkind: Service\nspec:\n  ports: [80]\n"],
)  # fmt: skip
def test_other_text_holds_none(text: str) -> None:
    assert read_commands(text) == []


def test_variables_in_front_exported_and_of_a_container() -> None:
    text = (
        "export A=1\nB='2 3' vllm serve m\n"
        "docker run -e C=4 --env D=5 vllm/vllm-openai:v0.9.1 --model m"
    )
    first, second = read_commands(text)
    assert [(s.name, s.value, s.line) for s in first.environment] == [
        ("A", "1", 1),
        ("B", "2 3", 2),
    ]
    assert [(s.name, s.value, s.line) for s in second.environment][1:] == [
        ("C", "4", 3),
        ("D", "5", 3),
    ]


def test_kubernetes_arguments_have_their_lines() -> None:
    command = one(KUBERNETES)
    assert (command.program, command.version) == ("server", "0.9.1")
    assert [(str(word), word.line) for word in command.words] == [
        ("--model", 13), ("Qwen/Qwen3-8B", 14), ("--max-model-len=4096", 15),
    ]  # fmt: skip
    assert [(s.name, s.value, s.line) for s in command.environment] == [("VLLM_USE_V1", "1", 17)]


def test_a_script_inside_a_manifest_is_read() -> None:
    command = one(IN_A_SHELL)
    assert (command.program, command.version) == ("serve", "0.10.2")
    assert [(str(word), word.line) for word in command.words] == [
        ("Qwen/Qwen3-8B", 10), ("--port", 11), ("8000", 11),
    ]  # fmt: skip
    assert command.environment[0].name == "VLLM_LOGGING_LEVEL"


def test_compose_units_and_dockerfiles() -> None:
    compose, unit, docker = one(COMPOSE), one(UNIT), one(DOCKERFILE)
    assert [str(word) for word in compose.words] == [
        "--model", "Qwen/Qwen3-8B", "--max-num-seqs", "8",
    ]  # fmt: skip
    assert compose.environment[0].name == "VLLM_USE_V1"
    assert [word.line for word in unit.words] == [3, 4, 4]
    assert unit.environment[0].value == "0"
    assert [str(word) for word in docker.words] == ["m", "--port", "80"]
    assert docker.environment[0].value == "1"


def test_a_config_file_becomes_arguments() -> None:
    text = (
        "model: m\nport: 80\nenforce-eager: true\nenable-lora: false\n"
        "served-model-name: [a, b]\ncompilation-config:\n  level: 3\n"
    )
    command = one(text)
    assert command.program == "config"
    assert command.words == (
        "--model", "m", "--port", "80", "--enforce-eager", "--served-model-name", "a", "b",
        "--compilation-config", '{"level": "3"}',
    )  # fmt: skip
    assert read_config(text, "c.yaml")[2].where == "c.yaml"


@given(st.text(st.sampled_from("vllm serve-_=:[]{}'\"$\\\n #|dockerun")))
def test_nothing_is_refused(text: str) -> None:
    assert isinstance(read_commands(f"vllm serve {text}"), list)
    assert isinstance(read_commands(text, yaml=True), list)


@pytest.mark.parametrize(
    "text", ["RUN 5\nCMD null\n", "echo vllm serve m", "pgrep -f vllm serve", "which vllm"]
)
def test_what_only_names_a_launch_is_none(text: str) -> None:
    assert read_commands(text) == []
