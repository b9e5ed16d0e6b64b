from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.python_answers import PARSER

Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.cuda.is_available(): False",
         {"live.cuda_available": False, "live.status": "ok"}),
        ("torch.cuda.is_available() returns False",
         {"live.cuda_available": False, "live.status": "ok"}),
        ("torch.version.cuda: 12.1", {"torch.cuda": "12.1"}),
        ("torch.version.cuda is None", {"torch.cuda": None}),
        ("torch.__version__ = '2.4.0+cu121'",
         {"torch.version": "2.4.0+cu121", "live.torch_version": "2.4.0+cu121",
          "live.status": "ok"}),
        ("torch.version.hip: 6.1.40091", {"torch.cuda": None, "torch.build": "rocm"}),
        ("flash_attn.__version__: 2.7.4.post1", {"flash_attn.version": "2.7.4.post1"}),
        ("torch.cuda.get_device_capability(0) -> (12, 0)",
         {"live.capability": "12.0", "gpu.compute_capability": "12.0"}),
        ("torch._C._GLIBCXX_USE_CXX11_ABI: True", {"torch.cxx11_abi": True}),
        ("    if torch.version.cuda is None:", {}),
        ("assert torch.cuda.is_available() is True", {}),
        ("self.x = torch.cuda.is_available()", {}),
        ("requests.__version__: 2.32.0", {}),
    ],
)  # fmt: skip
def test_a_value_on_the_same_line(text: str, expected: dict[str, Any], stated: Stated) -> None:
    assert stated(PARSER, text) == expected


def test_several_answers_on_one_line(stated: Stated) -> None:
    text = (
        "$ python -c 'import torch; print(torch.__version__, torch.version.cuda,"
        " torch.cuda.is_available())'\n2.9.0+cpu None False"
    )
    assert stated(PARSER, text) == {
        "torch.version": "2.9.0+cpu",
        "live.torch_version": "2.9.0+cpu",
        "live.status": "ok",
        "torch.cuda": None,
        "live.cuda_available": False,
    }


def test_an_answer_that_never_comes_is_not_waited_for(stated: Stated) -> None:
    text = ">>> torch.cuda.is_available()\n" + "word word\n" * 5 + "True"
    assert stated(PARSER, text) == {}


def test_a_notebook(stated: Stated) -> None:
    text = "In [1]: torch.cuda.get_device_name(0)\nOut[1]: 'Tesla T4'"
    assert stated(PARSER, text) == {"gpu.name": "Tesla T4"}
