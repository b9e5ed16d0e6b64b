from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.environment import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("export CUDA_VISIBLE_DEVICES=0,1", "gpu.visible_devices", "0,1"),
        ("$ VLLM_USE_V1=0 vllm serve x", "env.vllm_use_v1", "0"),
        ("A=1 VLLM_USE_V1=0 python x.py", "env.vllm_use_v1", "0"),
        ("set CUDA_VISIBLE_DEVICES=2", "gpu.visible_devices", "2"),
        ('$env:CUDA_VISIBLE_DEVICES = "0"', "gpu.visible_devices", "0"),
        ("setenv VLLM_USE_V1 1", "env.vllm_use_v1", "1"),
        ("ENV VLLM_ATTENTION_BACKEND=XFORMERS", "env.vllm_attention_backend", "XFORMERS"),
        ("- VLLM_ATTENTION_BACKEND=XFORMERS", "env.vllm_attention_backend", "XFORMERS"),
        ("  VLLM_ATTENTION_BACKEND: 'XFORMERS'", "env.vllm_attention_backend", "XFORMERS"),
        ("os.environ['VLLM_USE_V1'] = '0'", "env.vllm_use_v1", "0"),
        ("os.environ.setdefault('VLLM_USE_V1', '0')", "env.vllm_use_v1", "0"),
        ("docker run --env NVIDIA_VISIBLE_DEVICES=all x", "container.visible_devices", "all"),
        ("docker run -e NVIDIA_DISABLE_REQUIRE=1 x", "container.require_disabled", True),
        ("NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471",
         "container.require_cuda", "cuda>=12.4 brand=tesla,driver>=470,driver<471"),
        ("export LD_LIBRARY_PATH=/usr/lib/x:$LD_LIBRARY_PATH", "env.ld_library_path",
         ["/usr/lib/x"]),
        ("CONDA_PREFIX=/opt/conda/envs/x", "python.environment", "conda"),
        ("TORCH_CUDA_ARCH_LIST=5.2 6.0 9.0+PTX", "env.torch_cuda_arch_list", "5.2 6.0 9.0+PTX"),
    ],
)  # fmt: skip
def test_a_variable_in_any_syntax(line: str, path: str, value: object, entries: Entries) -> None:
    assert entries(PARSER, line)[path] == [1, 2, value]


@pytest.mark.parametrize(
    "line",
    [
        "Try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        "Set VLLM_ATTENTION_BACKEND=FLEX_ATTENTION to use FlexAttention backend",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "(run with NCCL_DEBUG=INFO for details)",
        "set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1",
        "unset CUDA_VISIBLE_DEVICES",
        "export HF_TOKEN=hf_not_a_real_one",
        "CUDA_HOME=$HOME",
        "CUDA_ERROR: no",
    ],
)
def test_advice_and_other_names_set_nothing(line: str, stated: Stated) -> None:
    found = stated(PARSER, line)
    assert {path for path in found if path != "launch.environment"} == set()


def test_what_is_said_in_passing_is_a_mention(entries: Entries) -> None:
    found = entries(PARSER, "I run it with VLLM_USE_V1=0 on this box")
    assert found["env.vllm_use_v1"] == [1, 1, "0"]


def test_the_answer_of_echo(stated: Stated) -> None:
    found = stated(PARSER, "$ echo $CUDA_HOME\n/usr/local/cuda-11.8")
    assert (found["toolkit.home"], found["toolkit.version"]) == ("/usr/local/cuda-11.8", "11.8")


def test_no_secret_is_kept(stated: Stated) -> None:
    found = stated(PARSER, "export VLLM_API_KEY=not-a-real-one VLLM_USE_V1=1")
    assert found["launch.environment"] == [{"name": "VLLM_USE_V1", "value": "1"}]
