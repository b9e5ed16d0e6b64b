"""What a launch command states: the program, the model, the flags that decide. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashdoctor.logs.command_line import (
    Arguments,
    read_arguments,
    read_quantity,
    shown,
    skip_prefix,
    visible_flags,
)
from flashdoctor.model.regex import regex

Stated = tuple[str, Any]
"""A fact's path and its value; None stands for something that the command leaves out."""

_PYTHON = regex(r"(?:\S*/)?(?:python(?:\d(?:\.\d{1,2})?)?(?:\.exe)?|py|ipython)")
_MODULES: Mapping[str, str] = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
    "vllm.entrypoints.openai.run_batch": "vllm",
    "vllm.entrypoints.cli.main": "vllm",
    "fastchat.serve.vllm_worker": "vllm",
    "sglang.launch_server": "sglang",
    "sglang.srt.server": "sglang",
    "sglang.bench_one_batch": "sglang",
    "sglang.bench_offline_throughput": "sglang",
    "sglang_router.launch_server": "sglang",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate",
}
_TOOLS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    # program: word of launch.program, subcommands (none: any use of it)
    "vllm": ("vllm", ("serve", "bench", "chat", "complete", "run-batch")),
    "sglang": ("sglang", ("serve",)),
    "text-generation-launcher": ("tgi", ()),
    "lmdeploy": ("lmdeploy", ("serve", "chat", "lite")),
    "trtllm-serve": ("trtllm", ()),
    "aphrodite": ("aphrodite", ("run",)),
    "torchrun": ("torchrun", ()),
    "accelerate": ("accelerate", ("launch",)),
    "deepspeed": ("deepspeed", ()),
    "llamafactory-cli": ("llamafactory", ("train", "chat", "api", "export", "webchat")),
    "swift": ("swift", ("sft", "infer", "rlhf", "deploy", "pt")),
    "axolotl": ("axolotl", ("train",)),
}
_WITH_MODEL = {"vllm": ("serve", "chat"), "aphrodite": ("run",), "trtllm": (), "sglang": ("serve",)}
_IMAGES = {
    "vllm-openai": "vllm",
    "sglang": "sglang",
    "text-generation-inference": "tgi",
    "tritonserver": "triton-server",
    "lmdeploy": "lmdeploy",
}
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "nvidia-docker", "nvidia-docker2"})
_DOCKER_VALUES = frozenset((
    "v", "volume", "p", "publish", "e", "env", "name", "gpus", "runtime", "shm-size", "ipc",
    "network", "net", "entrypoint", "w", "workdir", "mount", "device", "ulimit", "restart", "u",
    "user", "env-file", "memory", "m", "cpus", "pull", "platform", "h", "hostname", "add-host",
    "cap-add", "cap-drop", "security-opt", "log-opt", "log-driver", "label", "l", "pid",
    "tmpfs", "cpuset-cpus", "group-add", "annotation", "memory-swap", "expose", "dns",
))  # fmt: skip
"""Options of `docker run` whose value may be a word of its own."""
_SIZE = regex(r"(\d{1,6}(?:\.\d)?)\s?([kmgKMG]?)i?[bB]?")
_MIB = {"": 2.0**-20, "k": 2.0**-10, "m": 1.0, "g": 1024.0}
_MODEL_FLAGS = (
    "model", "model-path", "model-id", "model-name-or-path", "model-tag", "base-model",
    "pretrained-model-name-or-path", "model-dir",
)  # fmt: skip
_MODEL = regex(r"[~.\w/\\:][\w.@:/\\ -]{1,200}")
_BACKEND = regex(r"[\"']?backend[\"']?\s*:\s*[\"']?([A-Za-z_]\w{1,40})")
_WORD = regex(r"[A-Za-z0-9][\w.+-]{0,60}")
_DECIDING = frozenset({"tensor-parallel-size", "gpu-memory-utilization", "max-model-len",
                       "attn-implementation", "quantization"})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A launch command taken apart. `tail` is what the program itself is handed."""

    program: str
    arguments: Arguments
    words: tuple[str, ...]
    container: tuple[Stated, ...] = ()
    tail: tuple[str, ...] = ()


def find_launch(words: Sequence[str]) -> Launch | None:
    """Take a command apart; None where it launches nothing that is known here."""
    at = skip_prefix(words)
    if at >= len(words):
        return None
    tool = words[at].rpartition("/")[2]
    if tool in _CONTAINERS:
        return _container(words, at)
    if _PYTHON.fullmatch(words[at]):
        return _python(words, at)
    if tool in _TOOLS:
        program, commands = _TOOLS[tool]
        rest = words[at + 1 :]
        if commands and not (rest and rest[0] in commands):
            return None
        return _launch(program, words, at + 1)
    return None


def _launch(program: str, words: Sequence[str], at: int) -> Launch:
    tail = tuple(words[at:])
    return Launch(program=program, arguments=read_arguments(tail), words=tuple(words), tail=tail)


def _python(words: Sequence[str], at: int) -> Launch | None:
    """Read `python -m MODULE ...` and `python SCRIPT.py --model ...`."""
    rest = list(words[at + 1 :])
    while rest and rest[0] in {"-u", "-s", "-I", "-O"}:
        rest = rest[1:]
    start = len(words) - len(rest)
    if rest[:1] == ["-m"] and len(rest) > 1:
        return _launch(_MODULES[rest[1]], words, start + 2) if rest[1] in _MODULES else None
    if not rest or not rest[0].endswith(".py"):
        return None
    program = "vllm" if rest[0].endswith("api_server.py") else "python"
    launch = _launch(program, words, start + 1)
    flags = launch.arguments.flags
    known = program == "vllm" or launch.arguments.first(*_MODEL_FLAGS) or _DECIDING & set(flags)
    return launch if known else None


def _container(words: Sequence[str], at: int) -> Launch | None:
    """Read `docker run [options] IMAGE [command]`."""
    rest = list(words[at + 1 :])
    if rest[:1] == ["container"]:
        rest = rest[1:]
    if rest[:1] not in (["run"], ["create"]):
        return None
    options, rest = _docker_options(rest[1:])
    if not rest:
        return None
    image, command = rest[0], rest[1:]
    inner = find_launch(command)
    entrypoint = options.get("entrypoint") or ""
    if inner is None and entrypoint and not entrypoint.startswith("-"):
        inner = find_launch([*entrypoint.split(), *command])
    program = inner.program if inner else _program_of_image(image)
    arguments = inner.arguments if inner else read_arguments(command if program else ())
    kind = "podman" if words[at].endswith("podman") else "docker"
    return Launch(
        program=program or kind,
        arguments=arguments,
        words=tuple(words),
        container=tuple(_container_facts(kind, image, options)),
        tail=inner.tail if inner else tuple(command),
    )


def _docker_options(words: list[str]) -> tuple[dict[str, str | None], list[str]]:
    options: dict[str, str | None] = {}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = words[at].lstrip("-").partition("=")
        at += 1
        if not equals and name in _DOCKER_VALUES and at < len(words):
            value = words[at]
            at += 1
        options.setdefault(name, value or None)
    return options, words[at:]


def _program_of_image(image: str) -> str | None:
    name = image.rpartition("/")[2].partition(":")[0]
    return next((program for part, program in _IMAGES.items() if name.startswith(part)), None)


def _container_facts(kind: str, image: str, options: Mapping[str, str | None]) -> Iterator[Stated]:
    yield "container.kind", kind
    yield "launch.image", image
    device = options.get("device") or ""
    if "gpus" in options:
        yield "launch.gpus", options["gpus"] or "all"
    elif options.get("runtime") == "nvidia" or device.startswith("nvidia.com/gpu"):
        yield "launch.gpus", device or "runtime nvidia"
    elif kind == "docker":
        yield "launch.gpus", None
    size = _SIZE.fullmatch(options.get("shm-size") or "")
    if size:
        yield "os.shm_mib", round(float(size[1]) * _MIB[size[2].lower()])


def state_launch(launch: Launch) -> Iterator[Stated]:
    """Yield what a command states."""
    yield "launch.program", launch.program
    yield "launch.command", shown(launch.words)
    yield from launch.container
    if launch.arguments.flags:
        yield "launch.flags", visible_flags(launch.arguments)
    model = _model(launch)
    if model:
        yield "model.name", model
    yield from state_flags(launch.arguments, upper=launch.program == "vllm")


def state_flags(arguments: Arguments, *, upper: bool) -> Iterator[Stated]:
    """Yield the facts of the flags that decide, whatever the program calls them.

    vLLM takes the name of an attention backend in any case; `upper` gives it as its list has it.
    """
    for path, names, reader in _FLAGS:
        text = arguments.first(*names)
        value = reader(text) if text else None
        if value is not None:
            yield path, value
    backend = _attention_backend(arguments)
    if backend:
        yield "launch.attention_backend", backend.upper() if upper else backend


def _attention_backend(arguments: Arguments) -> str | None:
    named = arguments.first("attention-backend", "attention-config.backend", "ac.backend")
    if named:
        return _word(named)
    setting = _BACKEND.search(arguments.first("attention-config", "ac") or "")
    return setting[1] if setting else None


def _model(launch: Launch) -> str | None:
    named = launch.arguments.first(*_MODEL_FLAGS)
    words = launch.arguments.words
    if named is None and launch.program in _WITH_MODEL:
        commands = _WITH_MODEL[launch.program]
        rest = [word for word in words if word not in commands]
        named = rest[0] if rest else None
    if named is None and launch.program == "lmdeploy":
        named = next((word for word in words if word not in {"serve", "api_server", "chat"}), None)
    return clean_model(named) if named else None


def clean_model(text: str) -> str | None:
    """Return a model's name; None for a shell variable or a place holder."""
    name = text.strip("\"'`")
    return name if _MODEL.fullmatch(name) and "$" not in name else None


def _word(text: str) -> str | None:
    return text if _WORD.fullmatch(text) else None


def _fraction(text: str) -> float | None:
    return float(text) if re.fullmatch(r"(?:0?\.\d{1,6}|[01](?:\.0{1,4})?)", text) else None


def _implementation(text: str) -> str | None:
    """Return attn_implementation; LLaMA-Factory's `fa2` stands for it as well."""
    shorter = {"fa2": "flash_attention_2", "fa3": "flash_attention_3", "disabled": "eager"}
    return _word(shorter.get(text, text))


def _dtype(text: str) -> str | None:
    return _word(text.removeprefix("torch."))


_FLAGS: tuple[tuple[str, tuple[str, ...], Callable[[str], Any]], ...] = (
    ("launch.tensor_parallel_size",
     ("tensor-parallel-size", "tp", "tp-size", "num-shard", "tensor-parallel"), read_quantity),
    ("launch.gpu_memory_utilization",
     ("gpu-memory-utilization", "mem-fraction-static", "cuda-memory-fraction"), _fraction),
    ("launch.max_model_len",
     ("max-model-len", "context-length", "max-total-tokens", "session-len"), read_quantity),
    ("launch.quantization", ("quantization", "q", "quantize", "quantization-method"), _word),
    ("launch.dtype", ("dtype", "torch-dtype"), _dtype),
    ("launch.kv_cache_dtype", ("kv-cache-dtype",), _word),
    ("launch.attn_implementation", ("attn-implementation", "flash-attn", "attn-impl"),
     _implementation),
)  # fmt: skip
