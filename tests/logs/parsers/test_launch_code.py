from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.launch_code import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('llm = LLM("x/y", tensor_parallel_size=4, kv_cache_dtype="fp8")',
         {"launch.program": "vllm", "model.name": "x/y", "launch.tensor_parallel_size": 4,
          "launch.kv_cache_dtype": "fp8"}),
        ('p = pipeline("text-generation", model="x/y", torch_dtype=torch.float16)',
         {"launch.program": "transformers", "model.name": "x/y", "launch.dtype": "float16"}),
        ("m = AutoModel.from_pretrained(name, load_in_4bit=True)",
         {"launch.quantization": "bitsandbytes"}),
        ('    model_kwargs={"attn_implementation": "sdpa"},',
         {"launch.attn_implementation": "sdpa"}),
        ("gemma-2-27b loaded with attn_implementation='flash_attention_2'",
         {"launch.attn_implementation": "flash_attention_2"}),
        ("attn_implementation: flash_attention_2",
         {"launch.attn_implementation": "flash_attention_2"}),
        ("m = AutoModel.from_pretrained(name, use_flash_attention_2=True)",
         {"launch.attn_implementation": "flash_attention_2"}),
    ],
)  # fmt: skip
def test_one_call(text: str, expected: dict[str, Any], stated: Stated) -> None:
    found = stated(PARSER, text)
    assert {path: found.get(path) for path in expected} == expected


@pytest.mark.parametrize(
    "line",
    [
        'Example: `AutoModel.from_pretrained("x/y", attn_implementation="eager")`',
        'Please load your model with the argument `attn_implementation="eager"` meanwhile.',
        '    if config._attn_implementation == "flash_attention_2":',
        "    config = cls._autoset(config, use_flash_attention_2=use_flash_attention_2)",
    ],
)
def test_advice_and_library_code_state_nothing(line: str, stated: Stated) -> None:
    found = stated(PARSER, line)
    assert {"launch.attn_implementation", "model.name"}.isdisjoint(found)


def test_the_first_argument_by_name_is_not_the_model(stated: Stated) -> None:
    assert "model.name" not in stated(PARSER, 'llm=LLM(load_format="dummy",**kw)')


def test_a_call_in_a_traceback_ends_with_the_frame(stated: Stated) -> None:
    text = (
        "    return model_class.from_pretrained(\n"
        '  File "/x/modeling_utils.py", line 3, in from_pretrained\n'
        'dtype="float32"\n'
    )
    assert "launch.dtype" not in stated(PARSER, text)
