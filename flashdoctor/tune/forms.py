"""Find the launches of a vLLM server in what people write them in. Pure, nothing is run.

`vllm serve`, `python -m vllm.entrypoints...`, `docker run`, variables in front and exported before,
`bash -c`, unit files and Dockerfiles; and YAML: Kubernetes, compose, and vLLM's own --config.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from flashdoctor.logs.launches import Launch, find_launch
from flashdoctor.model.regex import regex
from flashdoctor.tune.words import Word, split_commands
from flashdoctor.tune.yaml_text import Node, read_documents

Program: TypeAlias = Literal["serve", "server", "demo", "config"]

_ASSIGNMENT = regex(r"([A-Za-z_]\w*)=(.*)", 16)  # 16: re.DOTALL
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ash"})
_YAML = regex(r"(?:\s*(?:#[^\n]*)?\n)*(?:---|[ ]*(?:- )?[\w.\"'/-]+[ ]*:(?:[ \t]|\n|$)|[ ]*- )")
_UNIT = regex(r"^(ExecStart|Environment|ENTRYPOINT|CMD|ENV|RUN)(?:=|[ \t]+)", 8)  # 8: re.MULTILINE
_FROM = regex(r"(?im)^FROM[ \t]+(?:--\S+[ \t]+)?(\S+)")
_PREFIX = regex(r"(?:[-@:+!]*)")
_TAG = regex(r"[^\s:]+(?:/[^\s:]+)*:v?(\d+\.\d+(?:\.\d+)?(?:\.post\d+)?)\b.*")
_IMAGE = regex(r"(?:\S*/)?vllm[\w.-]*-openai(?:[:@]\S*)?")
_SERVERS: Mapping[str, Program] = {
    "vllm.entrypoints.openai.api_server": "server",
    "vllm.entrypoints.api_server": "demo",
}
_SPEAKERS = frozenset({"echo", "printf", "pgrep", "pkill", "grep", "which", "git", "pip", "cat"})
"""What names a launch and does not make it."""
_CLI = "vllm.entrypoints.cli.main"
_EXPORTS = frozenset({"export", "set", "ENV", "Environment", "declare"})
_CONFIG_KEYS = frozenset({"model", "port", "host", "dtype", "quantization", "tokenizer"})
_LONG_KEY = regex(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+")
_COMMANDS = ("command", "entrypoint", "args")


class Setting(NamedTuple):
    """An environment variable that is set for a launch."""

    name: str
    value: Word
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One launch of a server. `words` are its arguments.

    `program`: `serve` is `vllm serve`, `server` its module or image, `demo` the old api_server,
    `config` a YAML file of flags. `version` is what the tag of its image says.
    """

    program: Program
    words: tuple[Word, ...]
    line: int
    environment: tuple[Setting, ...] = ()
    version: str | None = None


def read_commands(text: str, *, yaml: bool | None = None) -> list[Command]:
    """Return the launches in a text, in their order. `yaml` says what it is, None: find out."""
    is_yaml = _YAML.match(text) is not None if yaml is None else yaml
    if is_yaml:
        found = [command for node in read_documents(text) for command in _in_document(node)]
        if found or yaml:
            return found
    return list(_in_shell(_as_shell(text)))


def read_config(text: str, where: str = "") -> tuple[Word, ...]:
    """Return the arguments that vLLM makes of a `--config` file."""
    words: list[Word] = []
    for node in read_documents(text):
        if isinstance(node, dict):
            words += _config_words(node)
    return tuple(Word(word, word.line, where) for word in words)


def _as_shell(text: str) -> str:
    """Turn the lines of unit files and Dockerfiles that hold commands into shell."""
    if not _UNIT.search(text):
        return text
    named = _FROM.findall(text)
    image = named[-1] if named and _IMAGE.fullmatch(named[-1]) else ""
    return "\n".join(_unit_line(line, image) for line in text.split("\n"))


def _unit_line(line: str, image: str = "") -> str:
    """Return a line as shell; flags alone are what `image` is handed."""
    match = _UNIT.match(line)
    if match is None:
        return line
    rest = line[match.end() :]
    if match[1] == "ExecStart":
        return _PREFIX.sub("", rest, count=1)
    if match[1] in ("ENV", "Environment"):
        return f"export {rest}" if "=" in rest else "export " + "=".join(rest.split(None, 1))
    try:
        words = json.loads(rest)
    except ValueError:
        return rest
    if not isinstance(words, list):
        return rest
    quoted = ("'" + str(word).replace("'", "'\\''") + "'" for word in words)
    flags_only = match[1] == "CMD" and str(*words[:1]).startswith("-")
    front = f"docker run {image} " if image and flags_only else ""
    return front + " ".join(quoted)


def _in_shell(text: str, first_line: int = 1, depth: int = 0) -> Iterator[Command]:
    exported: list[Setting] = []
    for words in split_commands(text, first_line):
        front = list(_settings_in_front(words))
        if len(front) == len([word for word in words if word not in _EXPORTS]):
            exported += front
            continue
        inner = list(_of_words(words, depth))
        yield from (_with(command, [*exported, *front]) for command in inner)


def _settings_in_front(words: Sequence[Word]) -> Iterator[Setting]:
    for word in words:
        setting = _setting(word)
        if setting is not None:
            yield setting
        elif word not in _EXPORTS and word not in {"env", "sudo", "$", "exec", "nohup"}:
            return


def _setting(word: Word) -> Setting | None:
    match = _ASSIGNMENT.fullmatch(word)
    return Setting(match[1], word.part(match[2]), word.line) if match else None


def _with(command: Command, settings: Iterable[Setting]) -> Command:
    return replace(command, environment=(*settings, *command.environment))


def _of_words(words: Sequence[Word], depth: int = 0) -> Iterator[Command]:
    """Yield the launches of one simple command, those in `bash -c` included."""
    script = _script(words)
    if script is not None and depth < 3:  # noqa: PLR2004 - a shell in a shell in a container
        head = words[: words.index(script)]
        for command in _in_shell(script, script.line, depth + 1):
            yield _with(command, _docker_settings(head))
        return
    launch = find_launch(words)
    if launch is None:
        words = _behind_wrappers(words)
        launch = find_launch(words) if words else None
    if launch is None or launch.program != "vllm":
        return
    found = _of_launch(launch, words)
    if found is not None:
        yield _with(found, _docker_settings(words))


def _behind_wrappers(words: Sequence[Word]) -> Sequence[Word]:
    """Return the launch that `timeout 60`, `setsid`, `srun` or `"$PY"` stands in front of."""
    if any(word.rpartition("/")[2] in _SPEAKERS for word in words[:2]):
        return ()
    for place, (word, following) in enumerate(pairwise(words)):
        if word == "-m" and following in _SERVERS:
            return [Word("python", words[0].line), *words[place:]]
        if following == "serve" and word.rpartition("/")[2] == "vllm":
            return words[place:]
    return ()


def _script(words: Sequence[Word]) -> Word | None:
    """Return what `bash -c` is to run, also `bash -lc`."""
    for place, word in enumerate(words[:-2]):
        flag = words[place + 1]
        if word.rpartition("/")[2] in _SHELLS and flag[:1] == "-" and flag[-1] == "c":
            return words[place + 2]
    return None


def _of_launch(launch: Launch, words: Sequence[Word]) -> Command | None:
    tail = [word if isinstance(word, Word) else Word(word) for word in launch.tail]
    before = words[len(words) - len(tail) - 1] if len(words) > len(tail) else ""
    program: Program = _SERVERS.get(before, "server")
    if tail[:1] == ["serve"]:
        program, tail = "serve", tail[1:]
    elif before.rpartition("/")[2] == "vllm" or before == _CLI:
        return None  # another command of vllm
    elif before.startswith("vllm.entrypoints") and before not in _SERVERS:
        return None
    image = next((str(value) for path, value in launch.container if path == "launch.image"), "")
    return Command(program=program, words=tuple(tail), line=words[0].line, version=_version(image))


def _version(image: str) -> str | None:
    """Return the release that an image of vLLM names in its tag."""
    match = _TAG.fullmatch(image)
    return match[1] if match and "vllm" in image else None


def _docker_settings(words: Sequence[Word]) -> Iterator[Setting]:
    """Yield what `-e NAME=VALUE` and `--env=NAME=VALUE` of a container set."""
    if not any(word in ("run", "create") for word in words[:4]):
        return
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        text = word.part(value) if equals and name in ("--env", "-e") else None
        if word in ("-e", "--env") and place + 1 < len(words):
            text = words[place + 1]
        setting = _setting(text) if text is not None else None
        if setting is not None:
            yield setting


def _in_document(node: Node) -> list[Command]:
    found = list(_containers(node, ()))
    if found or not isinstance(node, dict) or not _is_config(node):
        return found
    words = tuple(_config_words(node))
    line = words[0].line if words else 1
    return [Command(program="config", words=words, line=line)] if words else []


def _is_config(node: Mapping[Word, Node]) -> bool:
    """Whether a mapping can be a --config file: names of flags at its top, no manifest."""
    if {"apiVersion", "services", "kind", "spec"} & set(node):
        return False
    return any(key in _CONFIG_KEYS or _LONG_KEY.fullmatch(key) for key in node)


def _containers(node: Node, outer: tuple[Setting, ...]) -> Iterator[Command]:
    """Yield the launches of each container in a manifest or a compose file."""
    if isinstance(node, list):
        for item in node:
            yield from _containers(item, outer)
    elif isinstance(node, dict):
        yield from _container(node)
        for key, value in node.items():
            if key not in _COMMANDS:
                yield from _containers(value, outer)


def _container(node: Mapping[Word, Node]) -> Iterator[Command]:
    image = node.get(Word("image"))
    name = image if isinstance(image, Word) else Word("")
    parts = {key: _command_words(node.get(Word(key))) for key in _COMMANDS}
    compose = not parts["args"] and (bool(parts["command"]) and "entrypoint" in node)
    words = [*parts["entrypoint"], *parts["command"], *parts["args"]]
    if not words and not (name and _IMAGE.fullmatch(name)):
        return
    settings = tuple(_environment(node.get(Word("env")) or node.get(Word("environment"))))
    found = list(_of_words(words)) if words else []
    if not found and _IMAGE.fullmatch(name) and not (parts["command"] and parts["args"]):
        line = words[0].line if words else name.line
        found = [Command(program="server", words=tuple(words), line=line)] if not compose else []
    for command in found:
        yield replace(_with(command, settings), version=command.version or _version(name))


def _command_words(node: Node) -> list[Word]:
    """Return the words of `command:` or `args:`, a list or a text that a shell would split."""
    if isinstance(node, list):
        return [Word(item.strip("\n"), item.line) for item in node if isinstance(item, Word)]
    if isinstance(node, Word):
        joined = " \\\n".join(line.rstrip().removesuffix("\\") for line in node.split("\n"))
        return [word for words in split_commands(joined, node.line) for word in words]
    return []


def _environment(node: Node) -> Iterator[Setting]:
    for item in node if isinstance(node, list) else ():
        if isinstance(item, Word) and (setting := _setting(item)):
            yield setting
        elif isinstance(item, dict):
            name, value = item.get(Word("name")), item.get(Word("value"))
            if isinstance(name, Word) and isinstance(value, Word):
                yield Setting(str(name), value, name.line)
    for key, value in node.items() if isinstance(node, dict) else ():
        if isinstance(value, Word):
            yield Setting(str(key), value, key.line)


def _config_words(node: Mapping[Word, Node]) -> Iterator[Word]:
    """Yield what vLLM's load_config_file makes of a mapping: `--key value` in order."""
    for key, value in node.items():
        flag = key.part(f"--{key}")
        if isinstance(value, list):
            yield from (flag, *(item for item in value if isinstance(item, Word)))
        elif isinstance(value, dict):
            yield from (flag, key.part(json.dumps(_plain(value))))
        elif value is None or value.lower() in ("true", "yes", "on"):
            yield flag
        elif value.lower() not in ("false", "no", "off"):
            yield from (flag, value)


def _plain(node: Node) -> object:
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(item) for item in node]
    return None if node is None else str(node)
