"""A command's arguments as vLLM's FlexibleArgumentParser takes them. Pure.

`_` and `-` are the same up to the first dot, the beginning of a name is enough, JSON flags take
dotted keys, `-O2` and `-cc` are understood by release, switches have `--no-x`. Source: vLLM
0.6.6, 0.8.5, 0.10.2 and 0.33.0, vllm/utils and vllm/utils/argparse_utils.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from flashdoctor.logs.command_line import flag_name
from flashdoctor.tune.flags import Flag, FlagTable
from flashdoctor.tune.words import Word

HELP = frozenset({"--help", "-h"})
_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
_O_IS_LEVEL = "0.12.0"
_O_IS_THERE = "0.6.5"
_HAS_INVERSES = "0.33.0"
_TRUTHS = frozenset({"true", "false"})
_INVERSES = {"enable-": "disable-", "disable-": "enable-"}


class Given(NamedTuple):
    """One flag of a command. `flag` is None where none is known by what was written.

    `inline` is what stood behind `=`; `values` are the words it took, that one included. `key` is
    what stood behind the first dot. `options`: what an ambiguous beginning could mean.
    """

    written: Word
    flag: Flag | None
    values: tuple[Word, ...] = ()
    negative: bool = False
    inline: Word | None = None
    key: str = ""
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The flag's name without dashes, as the tables have it."""
        return self.flag.name if self.flag else flag_name(self.written.lstrip("-"))


class Parsed(NamedTuple):
    """The flags in their order, and the words that belong to none."""

    given: tuple[Given, ...]
    words: tuple[Word, ...]

    def last(self, name: str) -> Given | None:
        """Return the last mention of a flag: the one that counts."""
        return next(
            (one for one in reversed(self.given) if one.flag and one.flag.name == name), None
        )


class _Option(NamedTuple):
    flag: Flag
    negative: bool = False


def parse(words: Sequence[Word], table: FlagTable) -> Parsed:
    """Sort words into the flags of a release, with their values, and other words."""
    options = _options(table)
    given: list[Given] = []
    others: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            others += words[at:]
            break
        if not looks_like_flag(word):
            others.append(word)
            continue
        if word.partition("=")[0] in HELP:
            continue
        one = _recognise(word, table, options, words[at] if at < len(words) else None)
        taken = _taken(one, words[at:])
        given.append(one._replace(values=(*one.values, *taken)))
        at += len(taken)
    return Parsed(tuple(given), tuple(others))


def looks_like_flag(word: str) -> bool:
    """Whether argparse takes a word for a flag: a dash, no number, no blank in its name."""
    if len(word) < 2 or word[0] != "-" or _NUMBER.fullmatch(word):  # noqa: PLR2004 - `-`
        return False
    return " " not in word.partition("=")[0]


def config_file(words: Sequence[Word]) -> str | None:
    """Return the file that `--config FILE` names; vLLM takes it in this form only."""
    place = next((place for place, word in enumerate(words) if word == "--config"), None)
    return str(words[place + 1]) if place is not None and place + 1 < len(words) else None


def _options(table: FlagTable) -> dict[str, _Option]:
    found: dict[str, _Option] = {}
    for flag in table.flags.values():
        for text in (f"--{flag.name}", *flag.aliases):
            found[text] = _Option(flag)
    for flag in table.flags.values():
        if flag.kind == "bool_optional":
            for text in _negatives(flag, inverses=table.release.reached(_HAS_INVERSES)):
                found.setdefault(text, _Option(flag, negative=True))
    return found


def _negatives(flag: Flag, *, inverses: bool) -> Iterator[str]:
    yield f"--no-{flag.name}"
    for start, other in _INVERSES.items():
        if inverses and flag.name.startswith(start):
            yield f"--{other}{flag.name.removeprefix(start)}"


def _recognise(
    word: Word, table: FlagTable, options: Mapping[str, _Option], following: Word | None
) -> Given:
    if word.startswith("-O"):
        level = _optimization(word, table, following)
        if level is not None:
            return level
    head, equals, value = word.partition("=")
    inline = word.part(value) if equals else None
    name = "--" + flag_name(head[2:]) if head.startswith("--") else head
    dotted, _, key = name.partition(".")
    one = Given(word.part(head), None, (inline,) if inline is not None else (), inline=inline)
    if key:
        one = one._replace(key=key.removesuffix("+"))
    return _resolved(one, dotted, options)


def _resolved(one: Given, name: str, options: Mapping[str, _Option]) -> Given:
    option = options.get(name)
    if option is not None:
        return one._replace(flag=option.flag, negative=option.negative)
    if not name.startswith("--") and name[:2] in options:  # -n2
        short = options[name[:2]]
        value = one.written.part(name[2:])
        return one._replace(flag=short.flag, inline=value, values=(value,))
    found = {text: option for text, option in options.items() if text.startswith(name)}
    meant = {(option.flag.name, option.negative) for option in found.values()}
    if len(meant) == 1:
        option = next(iter(found.values()))
        return one._replace(flag=option.flag, negative=option.negative)
    return one._replace(options=tuple(sorted(found)))


def _optimization(word: Word, table: FlagTable, following: Word | None) -> Given | None:
    """Read -O, -O3, -O=3, -O 3, -O.level=3: by release a level or the compilation config."""
    by_level = table.release.reached(_O_IS_LEVEL)
    name = "optimization-level" if by_level else "compilation-config"
    flag = table.flags.get(name)
    if flag is None or not table.release.reached(_O_IS_THERE):
        return None
    head, _, _ = word.partition("=")
    rest = word[2:].removeprefix("=")
    if word.startswith("-O.") and not by_level:
        inline = word.part(word.partition("=")[2]) if "=" in word else None
        values = () if inline is None else (inline,)
        return Given(word.part(head), flag, values, inline=inline, key=head.partition(".")[2])
    key = "" if by_level or rest.startswith("{") else "level"
    if rest:
        value = word.part(rest)
        return Given(word.part("-O"), flag, (value,), inline=value, key=key)
    json = following is not None and following.lstrip().startswith("{")
    return Given(word, flag, key="" if json else key)


def _taken(one: Given, rest: Sequence[Word]) -> list[Word]:
    """Return the words behind a flag that are its values."""
    if one.inline is not None:
        return []
    words: list[Word] = []
    for word in rest:
        if looks_like_flag(word):
            break
        words.append(word)
    if one.flag is None:
        return words[:1] if _unknown_takes(words) else []
    if one.key:
        return words[:1]
    if one.flag.is_switch:
        return [word for word in words[:1] if word.lower() in _TRUTHS]
    if one.flag.many or one.flag.kind == "LoRAParserAction":
        return words
    return words[:1]


def _unknown_takes(words: Sequence[Word]) -> bool:
    """Whether the words behind an unknown flag are its value: one, and no more."""
    return len(words) == 1
