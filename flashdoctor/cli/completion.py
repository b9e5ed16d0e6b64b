"""Completion for shells: a script that knows every command and option and starts nothing.

It is written from the commands themselves, so it is as old as the flashdoctor that wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashdoctor.cli import options
from flashdoctor.cli.reports import ReportCommand
from flashdoctor.model.rule import COMPONENTS
from flashdoctor.render.formats import FORMATS

_CHOICES = re.compile(r"[a-z]+(\|[a-z]+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: its names, whether a value follows, and the values where they are few."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: the words that lead to it, the commands below it with their help, options."""

    path: tuple[str, ...]
    below: Mapping[str, str]
    options: tuple[Option, ...]

    @property
    def words(self) -> str:
        """Everything that may be typed next, with spaces."""
        return " ".join([*self.below, *(name for item in self.options for name in item.names)])


def script(shell: str, root: Any, context: Any) -> str:
    """Return the script for bash, zsh or fish; `UsageError` for another shell."""
    options.one_of("--show-completion", shell, _SCRIPTS)
    return _SCRIPTS[shell](list(read_commands(root, context)))


def read_commands(command: Any, context: Any, path: tuple[str, ...] = ()) -> Iterator[Command]:
    """Yield a command of the command line and all that are below it."""
    children = {}
    if hasattr(command, "list_commands"):
        names = command.list_commands(context)
        children = {name: command.get_command(context, name) for name in names}
    parameters = [item for item in command.get_params(context) if item.param_type_name == "option"]
    yield Command(
        path=path,
        below={name: _first_sentence(child.help) for name, child in children.items()},
        options=tuple(_read_option(command, parameter) for parameter in parameters),
    )
    for name, child in children.items():
        yield from read_commands(child, context, (*path, name))


def _read_option(command: Any, parameter: Any) -> Option:
    return Option(
        names=tuple(parameter.opts),
        help=_first_sentence(parameter.help),
        takes_value=not parameter.is_flag,
        values=_values(command, parameter),
    )


def _values(command: Any, parameter: Any) -> tuple[str, ...]:
    metavar = parameter.metavar or ""
    if _CHOICES.fullmatch(metavar):
        return tuple(metavar.split("|"))
    if "--require" in parameter.opts:
        return COMPONENTS
    if "--format" in parameter.opts:
        return tuple(FORMATS) if isinstance(command, ReportCommand) else options.TEXT_FORMATS
    return ()


def _first_sentence(text: str | None) -> str:
    return re.split(r"\.\s|\s\[|\n\n", text or "")[0].rstrip(".").replace("\n", " ")


def _bash(commands: list[Command]) -> str:
    lines = [
        "_flashdoctor() {",
        "  local at= next= i word=${COMP_WORDS[COMP_CWORD]}",
        "  for ((i = 1; i < COMP_CWORD; i++)); do",
        '    case "$at ${COMP_WORDS[i]}" in',
        f"      {'|'.join(_quoted(item.path) for item in commands if item.path)})",
        '        at="$at ${COMP_WORDS[i]}" ;;',
        "    esac",
        "  done",
        '  case "$at ${COMP_WORDS[COMP_CWORD-1]}" in',
        *(
            f"    {_quoted((*item.path, name))}) next={_word(' '.join(option.values))} ;;"
            for item in commands
            for option in item.options
            for name in option.names
            if option.takes_value
        ),
        '    *) case "$at" in',
        *(f"      {_quoted(item.path)}) next={_word(item.words)} ;;" for item in commands),
        "    esac ;;",
        "  esac",
        '  COMPREPLY=($(compgen -W "$next" -- "$word"))',
        "}",
        "complete -o default -F _flashdoctor flashdoctor",
    ]
    return "\n".join(lines) + "\n"


def _zsh(commands: list[Command]) -> str:
    start = "autoload -Uz compinit bashcompinit\n(( $+functions[compdef] )) || compinit\n"
    return f"{start}bashcompinit\n{_bash(commands)}"


def _fish(commands: list[Command]) -> str:
    lines = ["complete -c flashdoctor -e"]
    for item in commands:
        seen = [f"__fish_seen_subcommand_from {word}" for word in item.path]
        if item.below:
            seen.append(f"not __fish_seen_subcommand_from {' '.join(item.below)}")
        start = f"complete -c flashdoctor -n {_word('; and '.join(seen))}"
        lines += [f"{start} -f -a {name} -d {_word(help_)}" for name, help_ in item.below.items()]
        lines += [f"{start} {_fish_option(option)}" for option in item.options]
    return "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    words = [
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    ]
    if option.values:
        words.append(f"-x -a {_word(' '.join(option.values))}")
    elif option.takes_value:
        words.append("-r")
    return " ".join([*words, f"-d {_word(option.help)}"])


def _quoted(path: tuple[str, ...]) -> str:
    return _word("".join(f" {word}" for word in path))


def _word(text: str) -> str:
    """Return a text as one word of bash, zsh and fish: typographic where a quote would end it."""
    return "'" + text.replace("\\", "").replace("'", "\N{RIGHT SINGLE QUOTATION MARK}") + "'"


_SCRIPTS: Mapping[str, Callable[[list[Command]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
