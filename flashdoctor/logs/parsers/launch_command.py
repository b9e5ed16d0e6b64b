"""Launch commands: vLLM, sglang, TGI, lmdeploy, torchrun, scripts, in `docker run` or not. Pure.

A command goes on where a line ends in a backslash (or a backtick, or a caret), and where the next
line starts with a flag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.command_line import split_words
from flashdoctor.logs.launches import find_launch, state_launch
from flashdoctor.logs.statements import MENTION, STATED, BlockParser, say, say_absent
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "launch command"
_MAX_LINES = 80
_MAX_CHARACTERS = 8000
_MAX_COMMANDS = 500

_PROGRAM = (
    r"(?:vllm (?:serve|bench|chat|run-batch)|sglang serve|text-generation-launcher|trtllm-serve"
    r"|lmdeploy (?:serve|chat|lite)|aphrodite run|torchrun|accelerate launch|deepspeed"
    r"|llamafactory-cli|swift (?:sft|infer|rlhf|deploy|pt)|(?:docker|podman|nerdctl|nvidia-docker)"
    r" (?:container )?(?:run|create)|(?:\S{0,200}/)?python[\d.]{0,5}(?:\.exe)? )"
)
_BEFORE = (
    r"(?:\S{1,80}[$#>%]\s{1,4}|[$#>%!]\s{0,4}|(?:[-*\u2022]\s{1,4})?(?:[\w ]{1,30}: ?)?`{0,3}"
    r"|CMD |ENTRYPOINT |RUN "
    r"|\(\w[\w.-]{0,30}\) (?:\S{1,80}[$#>%] )?|PS [^>]{1,100}> )?"
)
_PREFIX = (
    r"(?:(?:export )?[A-Za-z_]\w{0,80}=(?:\"[^\"]{0,200}\"|'[^']{0,200}'|\S{0,300})\s{1,4}"
    r"|(?:sudo|nohup|time|exec|env|uv run|poetry run|srun|numactl)(?: -{1,2}\S{1,40}"
    r"(?: \d\S{0,10})?)"
    r"{0,6}\s{1,4}){0,16}"
)
_START = regex(rf"^\s{{0,40}}{_BEFORE}(?P<command>{_PREFIX}(?:/\S{{0,80}}/)?{_PROGRAM}.*)$")
_INSIDE = regex(
    r"(?:`|\b(?:with|run|running|ran|command|cmd|using|start|started|launch|launched"
    r"|via)[: `\"']{1,3})"
    r"(?P<command>(?:vllm serve|python3? -m (?:vllm|sglang)\.[\w.]{1,60}|sglang serve) "
    r"[^`]{1,2000})"
)
_LIST = regex(
    r"(?:command|args|entrypoint|CMD|ENTRYPOINT)\"?\s{0,4}:?\s{0,4}(\[\s{0,4}[\"'].{1,3000}\])"
)
_ITEM = regex(r"\"([^\"]*)\"|'([^']*)'")
_YAML = regex(r"^\s{0,200}(?:-\s{1,4})?(?:command|args):(?P<rest>(?:\s.*)?)$")
_YAML_REST = regex(r"[>|][+-]?|--\S.*|\S{0,200}vllm serve .*|")
_YAML_ITEM = regex(r"^\s*-\s+(?P<item>\S.*)|^\s+(?P<folded>\S.*)")
_FLAG = regex(r"^\s*-{1,2}[A-Za-z]\S{0,60}")
_GOES_ON = ("\\", " `", " ^")
_PROSE = regex(r"\b(?:should|could|please|try|instead|would|e\.g\.|for example)\b", re.IGNORECASE)


class _Feed:
    """One command that may go on, or one YAML list of its words."""

    def __init__(self) -> None:
        self._commands = 0
        self._clear()

    def _clear(self) -> None:
        self.open = False
        self._parts: list[str] = []
        self._size = 0
        self._line: Line | None = None
        self._trust = STATED
        self._yaml = False
        self._continued = False

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line that starts a command, or one that it goes on with."""
        if self.open:
            if self._takes(line.text):
                return
            yield from self._close()
        if self._commands < _MAX_COMMANDS:
            yield from self._look(line)

    def _look(self, line: Line) -> Iterator[Found]:
        """Look for a command that starts in a line."""
        command = _START.match(line.text)
        inside = None if command else _INSIDE.search(line.text)
        listed, scalar = _LIST.search(line.text), _yaml_scalar(line.text)
        if command:
            self._begin(command["command"], line, STATED)
        elif inside and not _PROSE.search(line.text):
            self._begin(inside["command"].rstrip(".,;:"), line, MENTION)
            yield from self._close()
        elif listed:
            words = [item[1] or item[2] or "" for item in _ITEM.finditer(listed[1])]
            yield from _state(_in_container(words), line, STATED)
        elif scalar is not None:
            self._yaml = True
            self._begin(scalar, line, STATED)

    def end(self) -> Iterable[Found]:
        """Give the command that the paste ended with."""
        return self._close()

    def _begin(self, text: str, line: Line, trust: int) -> None:
        self._commands += 1
        self.open, self._line, self._trust = True, line, trust
        self._add(text)

    def _add(self, text: str) -> None:
        part = text.rstrip()
        self._continued = part.endswith(_GOES_ON)
        if self._continued:
            part = part[:-1].rstrip()
        self._size += len(part)
        if self._size <= _MAX_CHARACTERS and len(self._parts) < _MAX_LINES:
            self._parts.append(part)

    def _takes(self, text: str) -> bool:
        """Whether the line belongs to the command; then it is kept."""
        if self._yaml:
            item = _YAML_ITEM.match(text)
            if item is None or re.match(r"\s*(?:-\s+)?[\w.]{1,40}:(?:\s|$)", text):
                return False
            self._add(_unquoted((item["item"] or item["folded"]).rstrip()))
            return True
        if self._continued or _FLAG.match(text):
            if not text.strip():
                return False
            self._add(text)
            return True
        return False

    def _close(self) -> Iterator[Found]:
        parts, line, trust, yaml = self._parts, self._line, self._trust, self._yaml
        self._clear()
        if line is not None:
            words = split_words(" ".join(parts).strip().strip("`"))
            yield from _state(_in_container(words) if yaml else words, line, trust)


def _yaml_scalar(text: str) -> str | None:
    """Return what stands behind `command:`, empty where it is on the lines below; None for else."""
    found = _YAML.match(text)
    rest = found["rest"].strip() if found else ""
    if found is None or not _YAML_REST.fullmatch(rest):
        return None
    return "" if rest[:1] in {">", "|"} else rest


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]
    return text[1:-1] if quoted else text


def _in_container(words: list[str]) -> list[str]:
    """Return the words of a container's command; flags alone are those of vLLM's server."""
    if words[:2] in (["/bin/sh", "-c"], ["/bin/bash", "-c"], ["bash", "-c"], ["sh", "-c"]):
        return split_words(" ".join(words[2:]))
    flags = {word.partition("=")[0] for word in words}
    if words[:1] != ["vllm"] and words and words[0].startswith("--") and "--model" in flags:
        return ["vllm", "serve", *words]
    return words


def _state(words: list[str], line: Line, trust: int) -> Iterator[Found]:
    launch = find_launch(words)
    for path, value in state_launch(launch) if launch else ():
        yield _found(path, value, line, trust)


def _found(path: str, value: object, line: Line, trust: int) -> Found:
    if value is None:
        return say_absent(path, line, SOURCE, trust)
    return say(path, value, line, SOURCE, trust)


PARSER = BlockParser(
    kind=SOURCE,
    keywords=(
        "vllm serve", "vllm bench", "vllm chat", "vllm run-batch", "vllm.entrypoints",
        "api_server", "sglang", "text-generation-launcher", "lmdeploy", "trtllm-serve",
        "aphrodite run", "torchrun", "accelerate launch", "deepspeed", "llamafactory-cli",
        "swift ", "docker run", "docker container run", "docker create", "podman run",
        "nvidia-docker run", "nerdctl run", "python ", "python3 ", ".py ", "--model", "command:",
        "args:", "entrypoint", "cmd [",
    ),
    make=_Feed,
)  # fmt: skip
