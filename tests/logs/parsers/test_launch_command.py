from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.launch_command import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("vllm serve x/y -tp 2 --max-model-len 32K",
         {"launch.program": "vllm", "model.name": "x/y", "launch.tensor_parallel_size": 2,
          "launch.max_model_len": 32768}),
        ("vllm serve --enforce-eager x/y", {"model.name": "x/y"}),
        ("vllm serve x/y -ac.backend flash_attn", {"launch.attention_backend": "FLASH_ATTN"}),
        ("vllm serve x/y --attention-config '{\"backend\": \"TRITON_ATTN\"}'",
         {"launch.attention_backend": "TRITON_ATTN"}),
        (("python3 -m sglang.launch_server --model-path x/y --tp-size=4 --attention-backend fa3 "
         "--mem-fraction-static 0.8 --context-length 8192"),
         {"launch.program": "sglang", "model.name": "x/y", "launch.tensor_parallel_size": 4,
          "launch.attention_backend": "fa3", "launch.gpu_memory_utilization": 0.8,
          "launch.max_model_len": 8192}),
        ("text-generation-launcher --model-id x/y --num-shard 2 --quantize gptq",
         {"launch.program": "tgi", "launch.quantization": "gptq"}),
        ("CUDA_VISIBLE_DEVICES=4,5 lmdeploy serve api_server x/y --tp 2",
         {"launch.program": "lmdeploy", "model.name": "x/y", "launch.tensor_parallel_size": 2}),
        ("torchrun --nproc_per_node 8 train.py --model_name_or_path x/y --flash_attn fa2",
         {"launch.program": "torchrun", "model.name": "x/y",
          "launch.attn_implementation": "flash_attention_2"}),
        ("python app.py --model x/y --dtype half", {"launch.program": "python",
                                                     "launch.dtype": "half"}),
        ('CMD ["vllm", "serve", "x/y"]', {"launch.program": "vllm", "model.name": "x/y"}),
        ('ENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]',
         {"launch.program": "vllm"}),
    ],
)  # fmt: skip
def test_one_command(line: str, expected: dict[str, Any], stated: Stated) -> None:
    found = stated(PARSER, line)
    assert {path: found.get(path) for path in expected} == expected


@pytest.mark.parametrize(
    "line",
    [
        'python -c "import torch; print(torch.__version__)"',
        "python setup.py install",
        "vllm --version",
        "pip install vllm",
        "You should try vllm serve instead",
        "docker ps",
        "Please run `vllm serve x/y` instead",
    ],
)
def test_other_commands_launch_nothing(line: str, stated: Stated) -> None:
    assert stated(PARSER, line) == {}


def test_a_container_without_gpus(stated: Stated) -> None:
    found = stated(PARSER, "docker run -it ubuntu bash")
    assert (found["launch.gpus"], found["launch.image"]) == (None, "ubuntu")


@pytest.mark.parametrize("end", ["\\", "`", "^"])
def test_a_command_over_several_lines(end: str, stated: Stated) -> None:
    text = f"vllm serve x/y {end}\n  --dtype half {end}\n--max-model-len 4096\nINFO: started"
    found = stated(PARSER, text)
    assert (found["launch.dtype"], found["launch.max_model_len"]) == ("half", 4096)
    assert found["launch.command"] == "vllm serve x/y --dtype half --max-model-len 4096"


def test_in_a_sentence_it_is_a_mention(entries: Entries) -> None:
    found = entries(PARSER, "I ran `vllm serve x/y --dtype half` and it crashed")
    assert found["model.name"] == [1, 1, "x/y"]


def test_no_secret_is_kept(stated: Stated) -> None:
    found = stated(PARSER, "vllm serve x/y --api-key not-a-real-one --hf-token=not-a-real-one")
    assert found["launch.command"] == "vllm serve x/y --api-key <secret> --hf-token=<secret>"
    assert "not-a-real-one" not in str(found)


def test_a_yaml_list_of_a_command_may_start_on_its_own_line_and_blanks_are_none(
    stated: Callable[[Parser, str], dict[str, Any]],
) -> None:
    text = "    command:   \n      - vllm\n      - serve\n      - a/b-7b\n"
    assert stated(PARSER, text)["model.name"] == "a/b-7b"
    assert stated(PARSER, f"args:{' ' * 4000}x") == {}
