"""A planned launch as text that other programs read: shell, docker, compose, Kubernetes, systemd.

Each form quotes in its own way, so that the engine gets the same arguments from all of them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from flashdoctor.errors import UsageError
from flashdoctor.model.versions import public
from flashdoctor.tune import spans

SERVE_FROM = "0.5.2"
"""`vllm serve` exists from here on."""

IMAGE = "vllm/vllm-openai"
PORT = 8000
_CACHE = "/root/.cache/huggingface"
_SLUG = 40


class Launch(NamedTuple):
    """What is started. `folder` is the absolute path where the model is a folder of this machine.

    A flag whose value is None stands alone.
    """

    model: str
    version: str
    flags: tuple[tuple[str, str | None], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    folder: str | None = None
    gpus: int = 1


def command(launch: Launch) -> list[str]:
    """Return the arguments that start the server."""
    return [word for group in _groups(launch, launch.model) for word in group]


def program(launch: Launch) -> str:
    """Return the words of a shell before the first flag."""
    return shlex.join(_groups(launch, launch.model)[0])


def emit(form: str, launch: Launch) -> str:
    """Return the launch in a form of FORMS; `UsageError` for what no text file can hold."""
    for text in (launch.model, launch.folder or "", *_texts(launch)):
        if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in text):
            raise UsageError(f"{text!r} cannot be written as text", hint="rename the folder")
    return FORMS[form](launch)


def _texts(launch: Launch) -> Iterable[str]:
    for name, value in (*launch.flags, *launch.environment):
        yield from (name, value or "")


def _groups(launch: Launch, model: str) -> list[list[str]]:
    """Return the program with the model, then each flag with its value."""
    program = ["vllm", "serve", f"./{model}" if model.startswith("-") else model]
    if spans.order(launch.version) < spans.order(SERVE_FROM):
        module = "vllm.entrypoints.openai.api_server"
        program = ["python", "-m", module, *_flag("--model", model)]
    return [program, *(_flag(name, value) for name, value in launch.flags)]


def _flag(name: str, value: str | None) -> list[str]:
    if value is None:
        return [name]
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _image_groups(launch: Launch) -> list[list[str]]:
    """Return what the image's entrypoint is given; it takes `--model` in every release."""
    flags = (_flag(name, value) for name, value in launch.flags)
    return [_flag("--model", launch.folder or launch.model), *flags]


def _image(launch: Launch) -> str:
    return f"{IMAGE}:v{public(launch.version).lstrip('v')}"


def shell(launch: Launch) -> str:
    """Return a command for a POSIX shell, one flag a line."""
    first, *rest = [shlex.join(group) for group in _groups(launch, launch.model)]
    settings = [f"{name}={shlex.quote(value)}" for name, value in launch.environment]
    return " \\\n".join([*settings, first, *(f"  {line}" for line in rest)]) + "\n"


def docker(launch: Launch) -> str:
    """Return a `docker run` command for the official image of this release."""
    lines = [
        f"docker run --rm --gpus {launch.gpus} --ipc=host",
        f"--publish {PORT}:{PORT}",
        _docker_mount(launch),
        *(shlex.join(["--env", f"{name}={value}"]) for name, value in launch.environment),
        *([] if launch.folder else ["--env HF_TOKEN"]),
        shlex.quote(_image(launch)),
        *(shlex.join(group) for group in _image_groups(launch)),
    ]
    return " \\\n  ".join(lines) + "\n"


def _docker_mount(launch: Launch) -> str:
    if launch.folder is None:
        return f'--volume "$HOME/.cache/huggingface:{_CACHE}"'
    parts = ("type=bind", f"source={launch.folder}", f"target={launch.folder}", "readonly")
    return shlex.join(["--mount", ",".join(map(_csv_field, parts))])


def _csv_field(text: str) -> str:
    """Quote a field as docker's reader of `--mount` wants it, which is one for CSV."""
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text


def compose(launch: Launch) -> str:
    """Return a compose file; `$` is doubled, as compose would fill in variables."""
    source = _compose_text(launch.folder) if launch.folder else '"${HOME}/.cache/huggingface"'
    target = _compose_text(launch.folder or _CACHE)
    lines = [
        "services:",
        "  vllm:",
        f"    image: {_compose_text(_image(launch))}",
        "    ipc: host",
        "    ports:",
        f'      - "{PORT}:{PORT}"',
        *_compose_environment(launch),
        "    volumes:",
        "      - type: bind",
        f"        source: {source}",
        f"        target: {target}",
        *(["        read_only: true"] if launch.folder else []),
        "    command:",
        *(f"      - {_compose_text(word)}" for group in _image_groups(launch) for word in group),
        "    deploy:",
        "      resources:",
        "        reservations:",
        "          devices:",
        "            - driver: nvidia",
        f"              count: {launch.gpus}",
        "              capabilities:",
        "                - gpu",
    ]
    return "\n".join(lines) + "\n"


def _compose_environment(launch: Launch) -> list[str]:
    given = [f"      {name}: {_compose_text(value)}" for name, value in launch.environment]
    token = [] if launch.folder else ['      HF_TOKEN: "${HF_TOKEN:-}"']
    return ["    environment:", *given, *token] if given or token else []


def _compose_text(text: str) -> str:
    return yaml_text(text.replace("$", "$$"))


def kubernetes(launch: Launch) -> str:
    """Return a Deployment; `$` is doubled, as Kubernetes would fill in `$(NAME)`.

    Service links are off: a Service called vllm would set VLLM_PORT, which vLLM reads as its own.
    """
    name = slug(launch.model)
    words = [word for group in _image_groups(launch) for word in group]
    lines = [
        *_metadata(name),
        "      enableServiceLinks: false",
        "      containers:",
        "        - name: server",
        f"          image: {yaml_text(_image(launch))}",
        "          args:",
        *(f"            - {_kubernetes_text(word)}" for word in words),
        *_kubernetes_environment(launch),
        "          ports:",
        f"            - containerPort: {PORT}",
        "          resources:",
        "            limits:",
        f"              nvidia.com/gpu: {launch.gpus}",
        *_probe("startupProbe", failures=180),
        *_probe("readinessProbe", failures=3),
        *_volumes(launch),
    ]
    return "\n".join(lines) + "\n"


def _metadata(name: str) -> list[str]:
    return [
        "apiVersion: apps/v1",
        "kind: Deployment",
        "metadata:",
        f"  name: {name}",
        "spec:",
        "  replicas: 1",
        "  selector:",
        "    matchLabels:",
        f"      app: {name}",
        "  template:",
        "    metadata:",
        "      labels:",
        f"        app: {name}",
        "    spec:",
    ]


def _kubernetes_environment(launch: Launch) -> list[str]:
    lines = ["          env:"] if launch.environment else []
    for name, value in launch.environment:
        lines += [f"            - name: {name}", f"              value: {_kubernetes_text(value)}"]
    return lines


def _probe(name: str, *, failures: int) -> list[str]:
    return [
        f"          {name}:",
        "            httpGet:",
        "              path: /health",
        f"              port: {PORT}",
        "            periodSeconds: 10",
        f"            failureThreshold: {failures}",
    ]


def _volumes(launch: Launch) -> list[str]:
    """Return shared memory for the workers, and the model's folder or a cache to load it into."""
    place = yaml_text(launch.folder or _CACHE)
    only = ["              readOnly: true"] if launch.folder else []
    held = ["          hostPath:", f"            path: {place}", "            type: Directory"]
    return [
        "          volumeMounts:",
        "            - name: shared-memory",
        "              mountPath: /dev/shm",
        "            - name: model",
        f"              mountPath: {place}",
        *only,
        "      volumes:",
        "        - name: shared-memory",
        "          emptyDir:",
        "            medium: Memory",
        "        - name: model",
        *(held if launch.folder else ["          emptyDir: {}"]),
    ]


def _kubernetes_text(text: str) -> str:
    return yaml_text(text.replace("$", "$$"))


def slug(text: str) -> str:
    """Return a name that Kubernetes takes: lower case letters, digits and dashes."""
    last = text.replace("\\", "/").rstrip("/").rpartition("/")[2]
    plain = re.sub(r"[^a-z0-9]+", "-", last.lower())[:_SLUG].strip("-")
    return f"vllm-{plain}" if plain else "vllm-server"


def yaml_text(text: str) -> str:
    """Return a double-quoted YAML scalar of ASCII characters."""
    return '"' + "".join(map(_yaml_char, text)) + '"'


def _yaml_char(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if " " <= char <= "~":
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def systemd(launch: Launch) -> str:
    """Return a service unit; `%` and `$` are doubled, as systemd would fill them in."""
    first, *rest = [
        " ".join(_systemd_word(word, command=True) for word in group)
        for group in _groups(launch, launch.folder or launch.model)
    ]
    start = " \\\n  ".join([f"/usr/bin/env {first}", *rest])
    lines = [
        "[Unit]",
        f"Description=vLLM, {slug(launch.model)}",
        "Wants=network-online.target",
        "After=network-online.target",
        "",
        "[Service]",
        *(
            f"Environment={_systemd_word(f'{name}={value}', command=False)}"
            for name, value in launch.environment
        ),
        f"ExecStart={start}",
        "Restart=on-failure",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join(lines) + "\n"


def _systemd_word(word: str, *, command: bool) -> str:
    """Quote a word for a unit file; only commands have variables filled in."""
    text = word.replace("%", "%%")
    text = text.replace("$", "$$") if command else text
    if re.fullmatch(r"[A-Za-z0-9_./:=,@+%-]+", text):
        return text
    return '"' + "".join(map(_systemd_char, text)) + '"'


def _systemd_char(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else "".join(f"\\x{byte:02x}" for byte in char.encode())


FORMS: Mapping[str, Callable[[Launch], str]] = {
    "shell": shell,
    "docker": docker,
    "compose": compose,
    "kubernetes": kubernetes,
    "systemd": systemd,
}
"""What `--emit` takes."""
