"""What pip and uv say while they install: what is there, what goes, what was put in its place.

The last word on a package counts, and counts once the paste is over: an installation that follows
replaces what was found before. Files that are fetched or guessed at are only mentions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from flashdoctor.logs.parsers._packages import (
    PATHS,
    normalised,
    state_index,
    state_package,
    state_wheel,
)
from flashdoctor.logs.parsers._stated import on
from flashdoctor.logs.statements import MENTION, REPORT, STATED, BlockParser
from flashdoctor.model import versions
from flashdoctor.model.facts import Fact, absent, known
from flashdoctor.model.log import Found, Line

_SOURCE = "pip's output"
_NAME = r"(?P<name>[A-Za-z0-9][\w.-]{0,80}?)"
_VERSION = r"(?P<version>\d[\w.!+]{0,62})"
_INSTALLED = re.compile(rf"(?<!\S){_NAME}-{_VERSION}(?=\s|$)")
_SATISFIED = re.compile(
    rf"Requirement already (?:satisfied|up-to-date):\s{{1,4}}{_NAME}(?=[\[\s=<>!~;,@(])"
    rf".{{0,400}}\((?P<version>\d[\w.!+]{{0,62}})\)\s*$"
)
_FOUND = re.compile(rf"Found existing installation:\s{{1,4}}{_NAME}\s{{1,4}}{_VERSION}\s*$")
_UNINSTALLED = re.compile(rf"Uninstalling\s{{1,4}}{_NAME}-{_VERSION}:?\s*$")
_UV = re.compile(rf"^\s{{0,4}}[+~]\s{_NAME}=={_VERSION}(?:\s\(from .{{0,200}})?\s*$")
_POETRY = re.compile(
    rf"^\s{{0,6}}[-\u2022*]\s(?:Installing|Updating|Downgrading)\s{_NAME}\s"
    rf"\((?:\d\S{{0,62}}\s->\s)?{_VERSION}(?:\s\S{{1,300}})?\)"
)
_TOKENS = re.compile(r"[\s'\"`()<>=,;|]+")
_WHEEL = re.compile(r"(\S{1,500}\.whl)(?:\.metadata|[#?:.]\S{0,200})?", re.IGNORECASE)
_SDIST = re.compile(rf"(?:^|[\s/]){_NAME}-{_VERSION}\.(?:tar\.gz|zip)\b")
_CONFLICT = re.compile(
    rf"(?<![\w.-]){_NAME}\s{_VERSION}\s(?:requires|has requirement)\s"
    r"(?P<needed>[A-Za-z0-9][\w.-]{0,80})(?:\[[\w,.-]{0,40}\])?\s?(?P<pin>[=<>!~][^;]{0,80}?)"
    r"(?:;[^,]{0,80})?,\sbut you(?:'ll)? have\s(?P<other>[A-Za-z0-9][\w.-]{0,80})\s"
    r"(?P<found>\d[\w.!+]{0,62})(?<!\.)"
)
_MISSING = re.compile(
    rf"(?<![\w.-]){_NAME}\s{_VERSION}\srequires\s(?P<needed>[A-Za-z0-9][\w.-]{{0,80}})"
    r"[^,;]{0,80},\swhich is not installed"
)
_COLLECTING = re.compile(rf"Collecting\s{_NAME}(?:\[[\w,.-]{{0,60}}\])?=={_VERSION}(?=\s|$)")
_INDEX = re.compile(
    r"Looking in indexes: https?://\S{1,100}/whl/(?:nightly/|test/)?"
    r"(?P<build>cu\d{3}|cpu|xpu|rocm[\d.]{1,8})/?\s*$"
)
_BUILT = "created wheel for"
_GUESSED = "guessing wheel url"
_NO_WHEEL = ("precompiled wheel not found", "http error 404")
_PINS: Mapping[tuple[str, str], str] = {
    ("vllm", "torch"): "vllm.torch_pin",
    ("vllm", "transformers"): "vllm.transformers_pin",
    ("vllm", "flashinfer-python"): "vllm.flashinfer_pin",
    ("transformers", "torch"): "transformers.torch_pin",
    ("transformers", "kernels"): "transformers.kernels_pin",
    ("torch", "triton"): "torch.triton_pin",
}


class _Output:
    """The last state of each package that the output tells of."""

    open = False

    def __init__(self) -> None:
        self._found: dict[str, Found] = {}
        self._guess: list[Found] = []

    def feed(self, line: Line) -> Iterable[Found]:
        """Read one line; what may still be replaced is kept for the end."""
        folded = line.text.lower()
        if any(words in folded for words in _NO_WHEEL):
            self._guess = []
        elif _GUESSED in folded:
            self._guess = list(_wheels(line, MENTION))
        for words, read in _LINES.items():
            if words in folded:
                self._keep(read(line))
        if ".whl" in folded and _GUESSED not in folded:
            return _wheels(line, STATED if _BUILT in folded else MENTION)
        return ()

    def end(self) -> Iterable[Found]:
        """Give what stands at the end."""
        return [*self._found.values(), *self._guess]

    def _keep(self, items: Iterable[Found]) -> None:
        """Let a later statement replace an earlier one, unless that is better founded."""
        for item in items:
            held = self._found.get(item.fact.path)
            if held is None or (item.trust >= held.trust and not _is_vaguer(item, held)):
                self._found[item.fact.path] = item


def _is_vaguer(item: Found, held: Found) -> bool:
    """Whether a version is the one held, only without its local tag."""
    text = str(held.fact.value)
    return "+" in text and str(item.fact.value) == versions.public(text)


def _wheels(line: Line, trust: int) -> Iterator[Found]:
    for token in _TOKENS.split(line.text):
        match = _WHEEL.fullmatch(token) if ".whl" in token.lower() else None
        if match:
            yield from on(line, state_wheel(match[1], _SOURCE), trust)


def _one(pattern: re.Pattern[str], trust: int = STATED) -> Callable[[Line], Iterator[Found]]:
    def read(line: Line) -> Iterator[Found]:
        match = pattern.search(line.text)
        if match:
            yield from on(line, state_package(match["name"], match["version"], _SOURCE), trust)

    return read


def _installed(line: Line) -> Iterator[Found]:
    """Read `Successfully installed torch-2.6.0 nvidia-cudnn-cu12-9.1.0.70 ...`."""
    for match in _INSTALLED.finditer(line.text):
        yield from on(line, state_package(match["name"], match["version"], _SOURCE))


def _conflict(line: Line) -> Iterator[Found]:
    """Read `vllm 0.6.3 requires torch==2.4.0, but you have torch 2.5.1 which is incompatible.`."""
    for match in _CONFLICT.finditer(line.text):
        yield from on(line, state_package(match["name"], match["version"], _SOURCE))
        yield from on(line, state_package(match["other"], match["found"], _SOURCE))
        path = _PINS.get((match["name"].lower(), match["needed"].lower()))
        if path:
            yield from on(line, _pin(path, match["pin"]), REPORT)


def _missing(line: Line) -> Iterator[Found]:
    """Read `flash-attn 2.7.4 requires einops, which is not installed.`."""
    for match in _MISSING.finditer(line.text):
        yield from on(line, state_package(match["name"], match["version"], _SOURCE))
        path = PATHS.get(normalised(match["needed"]))
        if path:
            yield from on(line, [absent(path, _SOURCE, "pip says so")], REPORT)


def _index(line: Line) -> Iterator[Found]:
    """Read `Looking in indexes: ...`, where PyTorch's index is the only one."""
    match = _INDEX.search(line.text)
    if match:
        yield from on(line, state_index(match["build"], _SOURCE), MENTION)


def _pin(path: str, text: str) -> Iterator[Fact]:
    yield known(path, text.replace(" ", "").rstrip(","), _SOURCE)


_LINES: Mapping[str, Callable[[Line], Iterator[Found]]] = {
    "successfully installed": _installed,
    "requirement already": _one(_SATISFIED),
    "found existing installation": _one(_FOUND, MENTION),
    "uninstalling": _one(_UNINSTALLED, MENTION),
    "+ ": _one(_UV),
    "~ ": _one(_UV),
    "installing ": _one(_POETRY),
    "updating ": _one(_POETRY),
    "downgrading ": _one(_POETRY),
    "but you": _conflict,
    "which is not installed": _missing,
    "collecting ": _one(_COLLECTING, MENTION),
    "looking in indexes": _index,
    ".tar.gz": _one(_SDIST, MENTION),
}

_KEYWORDS = (
    "successfully installed", "requirement already", "found existing installation",
    "uninstalling ", " + ", " ~ ", "- installing ", "- updating ", "- downgrading ",
    "\u2022 installing ", "\u2022 updating ", "\u2022 downgrading ",
    "but you have", "but you'll have", ".whl", ".tar.gz", "precompiled wheel not found",
    "http error 404", "which is not installed", "collecting ", "looking in indexes",
)  # fmt: skip

PARSER = BlockParser(
    kind="pip's output",
    keywords=_KEYWORDS,
    make=_Output,
)
