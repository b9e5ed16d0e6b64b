from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.docker_image import PARSER

Entries = Callable[[Parser, str], dict[str, list[Any]]]
Stated = Callable[[Parser, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("FROM nvidia/cuda:12.1.1-runtime-ubuntu20.04", {"os.distribution": "Ubuntu 20.04"}),
        ("FROM nvidia/cuda:11.8.0-cudnn8-devel-rockylinux8",
         {"toolkit.version": "11.8.0", "os.distribution": "Rocky Linux 8"}),
        ("FROM nvidia/cuda:13.0.1-devel-ubi9",
         {"toolkit.version": "13.0.1", "os.distribution": "Red Hat Enterprise Linux 9"}),
        ("from pytorch/pytorch:2.4.0-cuda12.1-cudnn9-devel",
         {"torch.version": "2.4.0", "torch.cuda": "12.1", "toolkit.version": "12.1"}),
        ("docker pull pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime",
         {"torch.version": "2.4.0", "torch.cuda": "12.1"}),
        ("docker run --gpus all vllm/vllm-openai:v0.10.2 --model x", {"vllm.version": "0.10.2"}),
        ("    image: vllm/vllm-openai:v0.11.1-cu130",
         {"vllm.version": "0.11.1", "vllm.cuda": "13.0"}),
        ("image: docker.io/vllm/vllm-openai:latest", {}),
        ("FROM nvcr.io/nvidia/pytorch:24.05-py3",
         {"launch.image": "nvcr.io/nvidia/pytorch:24.05-py3"}),
        ("docker run rocm/vllm:rocm6.3.1_mi300_ubuntu22.04_py3.12_vllm_0.6.6", {"os.rocm": True}),
        ("FROM nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3", {"os.jetson": True}),
        ("FROM python:3.11-slim", {"python.version": "3.11"}),
        ("FROM ubuntu:20.04 AS base", {"os.distribution": "Ubuntu 20.04"}),
    ],
)  # fmt: skip
def test_an_image(line: str, expected: dict[str, Any], entries: Entries) -> None:
    found = entries(PARSER, line)
    assert {path: entry[2] for path, entry in found.items()} == {
        "container.kind": "docker",
        **expected,
    }
    assert {entry[1] for entry in found.values()} == {1}


@pytest.mark.parametrize(
    "line",
    [
        "FROM nvidia/cuda:${CUDA}-devel-ubuntu22.04",
        "see https://hub.docker.com/r/nvidia/cuda",
        "from python: the interpreter",
        "my-nvidia/cuda:12.4.1",
    ],
)
def test_no_image(line: str, stated: Stated) -> None:
    assert stated(PARSER, line) == {}
