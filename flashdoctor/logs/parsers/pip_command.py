"""Commands that install: pip, uv, poetry, conda, in a shell, a notebook or a Dockerfile's RUN.

A command says what somebody wanted, so all of it counts as a mention. Only exact pins count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.parsers._packages import state_index, state_package
from flashdoctor.logs.parsers._stated import on
from flashdoctor.logs.statements import MENTION, BlockParser
from flashdoctor.model import versions
from flashdoctor.model.facts import Fact, known
from flashdoctor.model.log import Found, Line

_SOURCE = "install command"
_COMMAND = re.compile(
    r"\b(?:(?P<pip>pip3?(?:\.\d{1,2})?\s+(?:install|download|wheel)|uv\s+add|poetry\s+add|pdm\s+add)"
    r"|(?P<conda>(?:conda|mamba|micromamba)\s+(?:install|create)|pixi\s+add))\b(?P<rest>[^;&|]{0,3000})"
)
_PIN = re.compile(
    r"(?<![\w./=+-])(?P<name>[A-Za-z0-9][\w.-]{0,80})(?:\[[\w,.-]{0,60}\])?\s?"
    r"(?P<sign>={1,3}|@)\s?v?(?P<version>\d[\w.!+]{0,62}?)(?:\.\*)?(?=[\s\"',\\)]|$)"
)
_INDEX = re.compile(
    r"(?<![\w-])(?:-i|--index-url|--index|--default-index)(?:\s+|=)[\"']?\S{0,200}?/whl/"
    r"(?:nightly/|test/)?(?P<build>cu\d{3}|cpu|rocm[\d.]{1,8}|xpu)\b|--torch-backend(?:\s+|=)(?P<uv>cu\d{3}|cpu)\b"
)
_TORCH = re.compile(r"(?<![\w./-])torch(?![\w-])")
_CONDA_NAMES = {"pytorch": "torch", "pytorch-gpu": "torch"}


class _Commands:
    """A command, and the lines that go on with it behind a backslash."""

    def __init__(self) -> None:
        self.open = False
        self._conda = False

    def feed(self, line: Line) -> Iterable[Found]:
        """Read every install command of the line, or what follows of the last one."""
        going_on, self.open = self.open, False
        commands = list(_COMMAND.finditer(line.text))
        if commands:
            self._conda = commands[-1]["conda"] is not None
            parts = [(match["rest"], match["conda"] is not None) for match in commands]
        elif going_on:
            parts = [(re.split(r"&&|;|\|", line.text)[0][:3000], self._conda)]
        else:
            return ()
        self.open = line.text.rstrip().endswith(("\\", "`", "^")) and "&&" not in line.text[-6:]
        facts = [fact for rest, conda in parts for fact in _read(rest, conda=conda)]
        return on(line, facts, MENTION)

    def end(self) -> Iterable[Found]:
        """Give nothing: a command cut short has been read as far as it goes."""
        return ()


def _read(rest: str, *, conda: bool) -> Iterator[Fact]:
    """Read what follows `install`: pins, and the index that torch comes from."""
    for pin in _PIN.finditer(rest):
        name, version = pin["name"].lower(), pin["version"]
        if conda:
            yield from _read_conda(name, version)
        elif pin["sign"] in {"==", "===", "@"}:
            yield from state_package(name, version, _SOURCE)
    index = None if conda else _INDEX.search(rest)
    if index and (index["uv"] or _TORCH.search(rest)):
        yield from state_index(index["build"] or index["uv"], _SOURCE)


def _read_conda(name: str, version: str) -> Iterator[Fact]:
    if name == "python":
        yield known("python.version", version, _SOURCE)
    elif name in {"pytorch-cuda", "cudatoolkit"}:
        yield known("torch.cuda", versions.minor(version) or version, _SOURCE)
    else:
        yield from state_package(_CONDA_NAMES.get(name, name), version, _SOURCE)


_KEYWORDS = (
    "pip install", "pip3 install", "pip download", "pip wheel", "uv add", "poetry add",
    "pdm add", "conda install", "mamba install", "conda create", "mamba create", "pixi add",
)  # fmt: skip

PARSER = BlockParser(
    kind="install command",
    keywords=_KEYWORDS,
    make=_Commands,
)
