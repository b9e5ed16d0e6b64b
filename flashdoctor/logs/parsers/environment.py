"""Environment variables, in every way in which people set and show them. Pure.

Advice in error messages (`try setting X=1`) sets nothing: an assignment counts at the start of a
line or a command, behind `-e` and the like, in code and in YAML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.statements import MENTION, STATED, BlockParser, say
from flashdoctor.logs.variables import NAME, facts_of, is_kept, toolkit_of
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "environment"
_MAX_KEPT = 64
_MAX_VALUE = 400
_MAX_LINES = 3000
"""Lines with a variable's name that are read: the first value of each counts."""

_VALUE = r"(?P<value>\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|[^\s\"'&|;`][^\s&|;`]{0,400})"
_PROMPT = r"(?:[-*•]\s+|[$#>%]\s+|\S{1,80}[$#>]\s+|`{1,3}|\(\w[\w.-]{0,30}\)\s+)?"
_OTHERS = r"(?:[A-Za-z_]\w{0,60}=(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|\S{0,200})\s+){0,12}"
_SETTERS = (
    r"(?:export\s+|setx?\s+\"?|set -gx? |\$env:|ENV\s+|env\s+|declare -x |Environment=\"?|sudo\s+)?"
)
_ASSIGNED = regex(rf"^\s*{_PROMPT}{_SETTERS}{_OTHERS}{_SETTERS}(?P<name>{NAME})\s?=\s?{_VALUE}")
_MORE = regex(rf"(?<=\s)(?P<name>{NAME})={_VALUE}")
_ANY = regex(NAME)
_REST = regex(r"^\s*(?:export\s+)?(?P<name>NVIDIA_REQUIRE_CUDA)=(?P<value>[^\"'\n]{1,3900})$")
_TARGETS = regex(
    r"^\s*(?:export\s+)?(?P<name>TORCH_CUDA_ARCH_LIST)="
    r"(?P<value>(?:\d{1,2}\.\d(?:\+PTX|a)?[ ;]{0,2}){1,40})$"
)
_OPTION = regex(rf"(?:\s|^|\[|\")(?:-e|--env)[\s=]+[\"']?(?P<name>{NAME})={_VALUE}")
_SPACED = regex(rf"^\s*{_PROMPT}(?:ENV|setx|setenv|set -x|set -gx)\s+(?P<name>{NAME})\s+{_VALUE}")
_YAML = regex(rf"^\s*(?:-\s+)?[\"']?(?P<name>{NAME})[\"']?\s*:\s+{_VALUE}\s*,?\s*$")
_CODE = regex(
    rf"os\.(?:environ(?:\[|\.setdefault\(|\.update\(\{{)|putenv\()\s*[\"'](?P<name>{NAME})[\"']"
    rf"\s*(?:\]\s*=|,|:)\s*(?:str\()?(?P<value>\"[^\"\n]{{0,400}}\"|'[^'\n]{{0,400}}'|\d{{1,6}})"
)
_LISTED = regex(rf"^\s*-\s+[\"']?(?P<name>{NAME})={_VALUE}")
_SPOKEN = regex(rf"\b(?:with|using|and) `?(?P<name>{NAME})=(?P<value>[\w.,:-]{{1,60}})")
_ADVICE = regex(
    r"\b(?:try|consider|please|should|could|can be|for details|to avoid|to use|to enable|run with"
    r"|pass(?:ing)?|rerun|error|warning|if)\b",
    re.IGNORECASE,
)
_NAMED = regex(rf"^\s*-?\s*name:\s*[\"']?(?P<name>{NAME})[\"']?\s*$")
_ITS_VALUE = regex(r"^\s*value:\s*(?P<value>\S.{0,200}?)\s*$")
_ECHO = regex(rf"^\s*{_PROMPT}(?:echo \"?\$\{{?|printenv )(?P<name>{NAME})\}}?\"?\s*$")
_ECHOED = regex(r"^\s*(?P<value>[\w/.,:;+<>=\\-]{1,400})\s*$")
_STATED_FORMS = (_REST, _TARGETS, _ASSIGNED, _OPTION, _SPACED, _YAML, _CODE, _LISTED)


class _Feed:
    """Keeps the variables met, and the name whose value the next line gives."""

    def __init__(self) -> None:
        self.open = False
        self._kept: dict[str, str] = {}
        self._line: Line | None = None
        self._waiting: tuple[str, re.Pattern[str]] | None = None
        self._lines = 0

    def feed(self, line: Line) -> Iterable[Found]:
        """Take a line, and give what its variables state."""
        waited, self._waiting, self.open = self._waiting, None, False
        if _ANY.search(line.text) and self._lines < _MAX_LINES:
            self._lines += 1
            yield from self._read(line)
        elif waited:
            name, shape = waited
            match = shape.match(line.text)
            if match:
                yield from self._take(name, match["value"].strip("\"'"), line, STATED)

    def _read(self, line: Line) -> Iterator[Found]:
        """Read a line in which a variable's name stands."""
        pairs = dict(_pairs(line.text))
        self._waiting = _waits(line.text)
        self.open = self._waiting is not None
        for name, value in pairs.items():
            yield from self._take(name, value, line, STATED)
        if not pairs:
            yield from self._mentioned(line)

    def _mentioned(self, line: Line) -> Iterator[Found]:
        spoken = _SPOKEN.search(line.text)
        if spoken and is_kept(spoken["name"]) and not _ADVICE.search(line.text):
            yield from self._take(spoken["name"], spoken["value"].rstrip("."), line, MENTION)

    def _take(self, name: str, value: str, line: Line, trust: int) -> Iterator[Found]:
        self._line = self._line or line
        if len(self._kept) < _MAX_KEPT:
            self._kept.setdefault(name, value[:_MAX_VALUE])
        for path, stated in facts_of(name, value):
            yield say(path, stated, line, name, trust)
        toolkit = toolkit_of(name, value)
        if toolkit:
            yield say("toolkit.version", toolkit, line, f"folder name in {name}", MENTION)

    def end(self) -> Iterable[Found]:
        """Give the list of all variables."""
        if self._line is not None:
            kept = [{"name": name, "value": value} for name, value in self._kept.items()]
            yield say("launch.environment", kept, self._line, SOURCE, STATED)


def _waits(text: str) -> tuple[str, re.Pattern[str]] | None:
    for opener, shape in ((_NAMED, _ITS_VALUE), (_ECHO, _ECHOED)):
        match = opener.match(text)
        if match and is_kept(match["name"]):
            return match["name"], shape
    return None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the variables that a line sets; the first value of a name wins at the caller."""
    found: dict[str, str] = {}
    for form in _STATED_FORMS:
        for match in form.finditer(text):
            found.setdefault(match["name"], _unquoted(match["value"]))
            if form is _ASSIGNED:
                start = max(0, match.start("name") - 1)
                for more in _MORE.finditer(text[: _command_at(text, start)]):
                    found.setdefault(more["name"], _unquoted(more["value"]))
    for name, value in found.items():
        if value and is_kept(name):
            yield name, value


def _command_at(text: str, start: int) -> int:
    """Return where the run of assignments that starts at `start` ends."""
    end = start
    for word in re.finditer(
        r"\s*(?:export\s+)?\w{1,64}=(?:\"[^\"]*\"|'[^']*'|\S*)(?=\s|$)", text[start:]
    ):
        if word.start() + start > end + 1:
            break
        end = word.end() + start
    return end


def _unquoted(value: str) -> str:
    return value.strip().strip("\"'").rstrip(",")


PARSER = BlockParser(
    kind=SOURCE,
    keywords=(
        "cuda_", "cudnn_", "nvidia_", "vllm_", "nccl_", "torch_", "torchinductor_", "pytorch_",
        "flash_att", "flashattention_", "flashinfer_", "triton_", "xformers_", "sglang_", "sgl_",
        "bnb_", "max_jobs", "nvcc_", "ld_library_path", "ld_preload", "pythonpath",
        "conda_prefix", "virtual_env", "cudacxx", "nvte_", "kernel",
    ),
    make=_Feed,
)  # fmt: skip
