"""Answers of a Python that was asked: `>>> torch.__version__`, `python -c "import torch; ..."`.

The expressions of the question stand in a queue, and the lines behind it answer them in turn. An
expression may also stand on one line with its value: `torch.cuda.is_available(): False`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from flashdoctor.logs.parsers._packages import PATHS, normalised, state_package
from flashdoctor.logs.parsers._platform import state_python
from flashdoctor.logs.parsers._stated import on, state
from flashdoctor.logs.patterns import compiled
from flashdoctor.logs.statements import REPORT, STATED, BlockParser
from flashdoctor.model import versions
from flashdoctor.model.facts import Fact, absent, known
from flashdoctor.model.log import Found, Line

_SOURCE = "Python's answer"
_VERSION = r"['\"]?(\d{1,4}(?:\.\w{1,12}){1,6}(?:[+-][\w.]{1,40})?|None)['\"]?"
_BOOL = r"(True|False)\b"
_PAIR = r"(\(\d{1,2}, \d\))"
_LIST = r"(\[[^\[\]]{0,400}\])"
_COUNT = r"(\d{1,3})(?![\w.])"
_NAME = (
    r"['\"]?((?:NVIDIA|Tesla|GeForce|Quadro|AMD|RTX|GTX|TITAN|[A-Z]{1,3}\d{2,4})"
    r"[\w .()/+-]{0,80}?)['\"]?(?=\s*$|,|\s\(\d)"
)
_SYSTEM = r"['\"]?(\d\.\d{1,2}[^'\"]{0,100})['\"]?"
_DEVICE = r"\(\s?(?:(?:device\s?=\s?)?(?:0|'cuda(?::0)?'|\"cuda(?::0)?\"|None)?)\s?\)"


def _torch(value: str) -> Iterator[Fact]:
    if value != "None":
        yield known("torch.version", value, _SOURCE)
        yield known("live.torch_version", value, _SOURCE)
        yield known("live.status", "ok", _SOURCE)


def _cuda(value: str) -> Iterator[Fact]:
    if value == "None":
        yield absent("torch.cuda", _SOURCE, "torch.version.cuda is None")
    else:
        yield known("torch.cuda", versions.minor(value) or value, _SOURCE)


def _hip(value: str) -> Iterator[Fact]:
    if value != "None":
        yield absent("torch.cuda", _SOURCE, "a ROCm build")
        yield known("torch.build", "rocm", _SOURCE)


def _targets(value: str) -> Iterator[Fact]:
    names = re.findall(r"(?:sm|compute)_\d{2,3}[af]?", value)
    if names:
        yield known("live.arch_list", names, _SOURCE)
        yield known("torch.arch_list", names, _SOURCE)


def _into(path: str) -> Callable[[str], Iterator[Fact]]:
    return lambda value: state(path, value, _SOURCE)


def _capability(value: str) -> Iterator[Fact]:
    yield from state("live.capability", value, _SOURCE)
    yield from state("gpu.compute_capability", value, _SOURCE)


def _available(value: str) -> Iterator[Fact]:
    """Read what torch said of CUDA; to say it, torch had to be imported."""
    yield from state("live.cuda_available", value, _SOURCE)
    yield known("live.status", "ok", _SOURCE)


Question = tuple[str, str, Callable[[str], Iterator[Fact]]]
_QUESTIONS: tuple[Question, ...] = (
    (r"torch\.__version__|torch\.version\.__version__", _VERSION, _torch),
    (r"torch\.version\.cuda", _VERSION, _cuda),
    (r"torch\.version\.hip", _VERSION, _hip),
    (r"torch\.cuda\.is_available\(\)", _BOOL, _available),
    (r"torch\.cuda\.device_count\(\)", _COUNT, _into("live.device_count")),
    (rf"torch\.cuda\.get_device_name{_DEVICE}", _NAME, _into("gpu.name")),
    (rf"torch\.cuda\.get_device_capability{_DEVICE}", _PAIR, _capability),
    (r"torch\.cuda\.get_arch_list\(\)", _LIST, _targets),
    (r"torch\._C\._GLIBCXX_USE_CXX11_ABI|torch\.compiled_with_cxx11_abi\(\)", _BOOL,
     _into("torch.cxx11_abi")),
    (r"torch\.cuda\.is_bf16_supported\(\)", _BOOL, lambda _value: iter(())),
    (r"torch\.backends\.cudnn\.version\(\)", r"(\d{4,6}|None)", lambda _value: iter(())),
    (r"sys\.version(?!_info)|platform\.python_version\(\)", _SYSTEM,
     lambda value: state_python(value, _SOURCE)),
)  # fmt: skip
_MODULE = re.compile(r"(?<!\w)(?P<name>[a-z]\w{1,30})\.__version__")
_MODULE_NAMES = {"flash_attn_interface": "flash-attn-3", "flash_attn_3": "flash-attn-3"}
_EXPRESSION = re.compile(
    "|".join(f"(?P<q{number}>{pattern})" for number, (pattern, _, _) in enumerate(_QUESTIONS))
    + rf"|{_MODULE.pattern}"
)
_PROMPT = re.compile(r"\s{0,4}(?:>>>|In \[\d{1,4}\]:|\$|#|%|!|\w{0,20}@[\w.:~/ -]{0,60}[$#])\s?")
_ASKED = re.compile(r"print\s?\(|python3?(?:\.\d{1,2})?\s-c\b|>>>|In \[\d|uv run")
_BETWEEN = re.compile(
    r"[`\"']?\s{0,4}(?:(?::|=|->|\u2192)\s{0,4}"
    r"|(?:returns?|is|gives?|prints?|shows?|says?|outputs?|reports?)\s{1,4}|(?<=\s))`?"
)
_CODE = re.compile(r"\b(?:if|elif|assert|while|return|and|or|not|else|raise|in)\b|==|[<>!]=")
"""What a line of a program holds, where an expression stands beside a value that is not its own."""

_OUT = re.compile(r"\s{0,4}(?:Out\[\d{1,4}\]:\s?)?")
_MAX_QUEUE = 20
_PATIENCE = 4
"""Lines that may stand between a question and its answer: warnings, mostly."""


class _Answers:
    """The expressions that wait for an answer, first first."""

    def __init__(self) -> None:
        self.open = False  # whether an answer is waited for
        self._queue: list[Question] = []
        self._patience = 0

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a question, a line that has its answer with it, or an answer."""
        found = list(self._take(line))
        self.open = bool(self._queue)
        return found

    def _take(self, line: Line) -> Iterable[Found]:
        asked = list(_asked(line.text))
        if asked and _ASKED.search(line.text):
            fresh = self._queue if not _PROMPT.match(line.text) else []
            self._queue = [*fresh, *(question for question, _ in asked)][:_MAX_QUEUE]
            self._patience = _PATIENCE
            return ()
        if asked:
            self._queue = []
            return () if _CODE.search(line.text) else on(line, _inline(line.text, asked), STATED)
        return on(line, self._answer(line.text), REPORT)

    def end(self) -> Iterable[Found]:
        """Give nothing: what has no answer says nothing."""
        return ()

    def _answer(self, text: str) -> Iterator[Fact]:
        out = _OUT.match(text)
        at = out.end() if out else 0
        answered = False
        while self._queue:
            _, pattern, read = self._queue[0]
            value = compiled(pattern).match(text, at)
            if value is None:
                break
            answered = True
            yield from read(value[1])
            self._queue.pop(0)
            at = value.end()
            at += len(text[at:]) - len(text[at:].lstrip(" ,\t|;"))
        self._wait(text, answered=answered)

    def _wait(self, text: str, *, answered: bool) -> None:
        self._patience = _PATIENCE if answered else self._patience - bool(text.strip())
        if self._patience <= 0 or (not answered and _PROMPT.match(text)):
            self._queue = []


def _asked(text: str) -> Iterator[tuple[Question, int]]:
    """Yield the expressions of a line that can be answered, and where each ends."""
    for match in _EXPRESSION.finditer(text):
        number = next((key for key in match.groupdict() if key != "name" and match[key]), None)
        if number is not None:
            yield _QUESTIONS[int(number[1:])], match.end()
        elif match["name"]:
            name = _MODULE_NAMES.get(match["name"], match["name"])
            yield (match[0], _VERSION, _module(name)), match.end()


def _module(name: str) -> Callable[[str], Iterator[Fact]]:
    known_name = normalised(name) if normalised(name) in PATHS else name
    return lambda value: state_package(known_name, value, _SOURCE)


def _inline(text: str, asked: list[tuple[Question, int]]) -> Iterator[Fact]:
    """Read `torch.__version__ = 2.6.0+cu124`, and the same in prose."""
    for (_, pattern, read), end in asked:
        between = _BETWEEN.match(text, end)
        value = compiled(pattern).match(text, between.end() if between else end)
        if between and value:
            yield from read(value[1])


_KEYWORDS = (
    "__version__", "torch.version.", "torch.cuda.", "torch._c._glibcxx", "cxx11_abi()",
    "torch.backends.cudnn.version", "sys.version", "python_version()",
)  # fmt: skip

PARSER = BlockParser(kind="Python's answers", keywords=_KEYWORDS, make=_Answers)
