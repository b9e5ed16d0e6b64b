"""Names of container images, in a Dockerfile's FROM, a `docker run` or a compose file.

A tag says what the image holds when it is started; what was installed into it later, it does not
say. So all of it counts as a mention. Tags: hub.docker.com/r/nvidia/cuda, .../pytorch/pytorch,
.../vllm/vllm-openai, each with its way of naming versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from flashdoctor.logs.parsers._stated import on, state
from flashdoctor.logs.statements import MENTION, LineParser
from flashdoctor.model import versions
from flashdoctor.model.facts import Fact, known
from flashdoctor.model.log import Found, Line

_SOURCE = "container image"
_IMAGE = re.compile(
    r"(?<![\w-])(?P<name>nvidia/cuda|pytorch/pytorch|vllm/vllm-openai(?:-rocm)?|nvidia/pytorch"
    r"|nvidia/tritonserver|nvidia/vllm|rocm/(?:vllm|pytorch)(?:-[\w-]{1,20})?|lmsysorg/sglang"
    r"|nvidia/l4t-[\w-]{1,30}|dustynv/[\w-]{1,30}):(?P<tag>\w[\w.-]{0,127})"
)
_BASE = re.compile(
    r"^\s{0,8}FROM\s{1,4}(?:--platform=\S{1,40}\s{1,4})?(?:docker\.io/)?(?:library/)?"
    r"(?P<name>python|ubuntu|debian):(?P<tag>\d[\w.-]{0,60})",
    re.IGNORECASE,
)
_CUDA_TAG = re.compile(r"(?P<version>\d{1,2}\.\d(?:\.\d{1,2})?)-(?P<rest>[\w.-]*)")
_TORCH_TAG = re.compile(
    r"(?P<torch>\d\.\d{1,2}(?:\.\d{1,2})?)-cuda(?P<cuda>\d{1,2}\.\d)-(?P<rest>[\w.-]*)"
)
_VLLM_TAG = re.compile(
    r"v(?P<version>\d\.\d{1,2}\.\d{1,2}(?:\.?(?:post|rc)\d{1,2})?)(?:-(?P<rest>[\w.-]*))?"
)
_SYSTEM = re.compile(
    r"(?P<name>ubuntu|debian|rockylinux|centos|ubi|amzn|oraclelinux)(?P<version>\d[\d.]*)"
)
_SYSTEMS = {
    "ubuntu": "Ubuntu", "debian": "Debian", "rockylinux": "Rocky Linux", "centos": "CentOS",
    "ubi": "Red Hat Enterprise Linux", "amzn": "Amazon Linux", "oraclelinux": "Oracle Linux",
}  # fmt: skip


def _read(line: Line) -> Iterator[Found]:
    for image in _IMAGE.finditer(line.text):
        yield from on(line, [known("container.kind", "docker", _SOURCE)], MENTION)
        yield from on(line, _state_image(image["name"], image["tag"]), MENTION)
    base = _BASE.match(line.text)
    if base:
        yield from on(line, [known("container.kind", "docker", _SOURCE)], MENTION)
        yield from on(line, _state_base(base["name"].lower(), base["tag"]), MENTION)


def _state_image(name: str, tag: str) -> Iterator[Fact]:
    if name.startswith(("rocm/", "vllm/vllm-openai-rocm")):
        yield known("os.rocm", True, _SOURCE)
    elif name.startswith(("nvidia/l4t", "dustynv/")):
        yield known("os.jetson", True, _SOURCE)
    elif name == "nvidia/pytorch":  # the tag is a month: what it stands for is in the tables
        yield known("launch.image", f"nvcr.io/{name}:{tag}", _SOURCE)
    elif name in _TAGS:
        yield from _TAGS[name](tag)


def _state_base(name: str, tag: str) -> Iterator[Fact]:
    number = tag.partition("-")[0]
    if name == "python":
        yield from state("python.version", number, _SOURCE)
    else:
        yield known("os.distribution", f"{_SYSTEMS[name]} {number}", _SOURCE)


def _cuda_image(tag: str) -> Iterator[Fact]:
    """Read `12.4.1-cudnn-devel-ubuntu22.04`: only devel images hold nvcc."""
    match = _CUDA_TAG.match(tag)
    if match is None:
        return
    if "devel" in match["rest"]:
        yield known("toolkit.version", match["version"], _SOURCE)
    system = _SYSTEM.search(match["rest"])
    if system:
        yield known("os.distribution", f"{_SYSTEMS[system['name']]} {system['version']}", _SOURCE)


def _torch_image(tag: str) -> Iterator[Fact]:
    """Read `2.4.0-cuda12.1-cudnn9-devel`."""
    match = _TORCH_TAG.match(tag)
    if match:
        yield known("torch.version", match["torch"], _SOURCE)
        yield known("torch.cuda", match["cuda"], _SOURCE)
        if "devel" in match["rest"]:
            yield known("toolkit.version", match["cuda"], _SOURCE)


def _vllm_image(tag: str) -> Iterator[Fact]:
    """Read `v0.10.2`, `v0.11.1-cu130`, `v0.10.2-aarch64`."""
    match = _VLLM_TAG.match(tag)
    if match is None:
        return
    yield known("vllm.version", match["version"], _SOURCE)
    for word in (match["rest"] or "").split("-"):
        cuda = versions.cuda_of_tag(word)
        if cuda:
            yield known("vllm.cuda", cuda, _SOURCE)


_TAGS: Mapping[str, Callable[[str], Iterator[Fact]]] = {
    "nvidia/cuda": _cuda_image,
    "pytorch/pytorch": _torch_image,
    "vllm/vllm-openai": _vllm_image,
}

_KEYWORDS = (
    "nvidia/cuda:", "pytorch/pytorch:", "vllm/vllm-openai", "nvidia/pytorch:", "nvidia/vllm:",
    "nvidia/tritonserver:", "rocm/vllm", "rocm/pytorch", "lmsysorg/sglang:", "nvidia/l4t-",
    "dustynv/", "from python:", "from ubuntu:", "from debian:",
)  # fmt: skip

PARSER = LineParser(
    kind="container image",
    keywords=_KEYWORDS,
    read=_read,
)
