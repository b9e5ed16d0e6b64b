"""What a policy expects of a stack: `driver >= 580`, `torch == 2.11.*`, `kernel fa3 proven`.

Versions compare by release numbers, as in the `when` language; a tag such as `+cu130` counts where
the expectation names one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.engine.assume import parse_value
from flashdoctor.engine.when import Truth, ordering_key
from flashdoctor.model import versions
from flashdoctor.model.catalog import FACTS, SHORT_NAMES, nearest
from flashdoctor.model.regex import regex
from flashdoctor.model.snapshot import Snapshot

PROVEN = "smoke.proven"
CASES = "smoke.cases"

_LONGEST = 200
_KERNEL = regex(r"kernel\s+(\S+)\s+proven")
_COMPARISON = regex(r"([A-Za-z][\w.-]*)\s*((?:[=!<>~]=|[<>]).*)", 16)  # 16: dots match newlines
_CLAUSE = regex(r"\s*([=!<>~]=|[<>])\s*(.*\S)\s*", 16)
_VERSION = regex(
    r"v?\d{1,9}(?:\.\d{1,9}){0,6}(?:(?P<any>\.\*)|(?:\.post\d{1,9})?(?:\+[A-Za-z0-9._]{1,40})?)"
)
_COMPATIBLE = regex(r"v?\d+(?:\.\d+)+")
_ORDERED_KINDS = frozenset({"version", "capability", "int", "float"})
_PLAIN_KINDS = frozenset({"bool", "word", "text", "path"})
_MIB_PER_GIB = 1024

Test: TypeAlias = Callable[[Any, Any], bool]
_TESTS: Mapping[str, Test] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


class Clause(NamedTuple):
    """One comparison: an operator and what the fact's value is held against."""

    op: str
    value: Any


class Expectation(NamedTuple):
    """What is expected, as it was written, and the fact that it is about.

    Without clauses it expects `family` among the kernels that were proven.
    """

    text: str
    path: str
    clauses: tuple[Clause, ...] = ()
    family: str = ""


def parse_expectation(text: str) -> Expectation:
    """Read one expectation; ValueError says what is wrong with it."""
    flat = " ".join(text.split())
    if len(flat) > _LONGEST:
        raise ValueError(f"longer than {_LONGEST} characters")
    kernel = _KERNEL.fullmatch(flat)
    if kernel:
        return Expectation(text=flat, path=PROVEN, family=_family(kernel[1]))
    match = _COMPARISON.fullmatch(flat)
    if match is None:
        raise ValueError(f"{flat!r} is neither `NAME >= VERSION` nor `kernel NAME proven`")
    path = _path(match[1])
    return Expectation(text=flat, path=path, clauses=_clauses(match[1], path, match[2]))


def _family(name: str) -> str:
    from flashdoctor.data.kernels import FAMILIES  # noqa: PLC0415 - only where a kernel is named

    if name in FAMILIES:
        return name
    raise ValueError(f"no family of kernels is called {name!r}: {', '.join(FAMILIES)}")


def _path(name: str) -> str:
    snake = name.replace("-", "_")
    for path in (SHORT_NAMES.get(snake, snake), f"{snake}.version"):
        if path in FACTS:
            return path
    close = nearest(snake)
    raise ValueError(
        f"no fact is called {name!r}" + (f"; did you mean {close!r}?" if close else "")
    )


def _clauses(name: str, path: str, text: str) -> tuple[Clause, ...]:
    kind = FACTS[path].kind
    if kind not in _ORDERED_KINDS | _PLAIN_KINDS or path.startswith("policy."):
        raise ValueError(f"{name} cannot be expected: it holds {kind}")
    parts = text.split(",") if kind in _ORDERED_KINDS else [text]
    return tuple(_clause(name, path, part) for part in parts)


def _clause(name: str, path: str, text: str) -> Clause:
    match = _CLAUSE.fullmatch(text)
    if match is None:
        raise ValueError(f"{name}: {text.strip()!r} is not an operator and a value")
    op, kind = match[1], FACTS[path].kind
    if kind == "version":
        return Clause(op, _version(op, match[2]))
    allowed = ("==", "!=") if kind in _PLAIN_KINDS else tuple(_TESTS)
    if op not in allowed:
        raise ValueError(f"{name}: {op} does not go with {kind}; {', '.join(allowed)} do")
    if name.replace("-", "_") == "gpu_memory_gib":
        return Clause(op, parse_value("gpu.memory_mib", match[2]) * _MIB_PER_GIB)
    return Clause(op, parse_value(path, _unquoted(match[2])))


def _version(op: str, text: str) -> str:
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a version such as 2.11, 2.11.* or 2.11.0+cu130")
    if match["any"] and op not in {"==", "!="}:
        raise ValueError(f"{text!r} goes with == and != only, not with {op}")
    if op == "~=" and not _COMPATIBLE.fullmatch(text):
        raise ValueError(f"~= takes two plain numbers at least, such as 2.11, not {text!r}")
    return text.lstrip("v")


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


def holds(expected: Expectation, snapshot: Snapshot) -> Truth:
    """Whether a stack is as expected; None where that cannot be told. What is absent is not."""
    fact = snapshot[expected.path]
    if expected.family:
        return _is_proven(expected.family, snapshot)
    if fact.state != "known":
        return False if fact.state == "absent" else None
    kind = FACTS[expected.path].kind
    return _all(_compare(kind, clause, fact.value) for clause in expected.clauses)


def _all(parts: Iterable[Truth]) -> Truth:
    seen = list(parts)
    if False in seen:
        return False
    return None if None in seen else True


def _is_proven(family: str, snapshot: Snapshot) -> Truth:
    """Whether that kernel ran; None where no case was run that should have hit it."""
    fact = snapshot[PROVEN]
    if fact.state == "absent":
        return False
    if family in (fact.value or ()):
        return True
    tried = snapshot.value(CASES) or ()
    return False if any(case.get("expected_family") == family for case in tried) else None


def _compare(kind: str, clause: Clause, value: Any) -> Truth:
    if kind == "version":
        return _compare_versions(clause.op, str(value), clause.value)
    if kind in _PLAIN_KINDS:
        return _TESTS[clause.op](value, clause.value)
    keys = ordering_key(kind, value), ordering_key(kind, clause.value)
    return None if None in keys else _TESTS[clause.op](*keys)


def _compare_versions(op: str, have: str, wanted: str) -> Truth:
    if wanted.endswith(".*"):
        begins = _begins(have, wanted[:-2])
        return None if begins is None else begins == (op == "==")
    keys = versions.order(have), versions.order(wanted)
    if keys[0] is None or keys[1] is None:
        return None
    if op == "~=":
        return keys[0] >= keys[1] and _begins(have, wanted.rpartition(".")[0])
    tag = versions.local_tag(wanted)
    if tag and op in {"==", "!="}:
        same = keys[0] == keys[1] and versions.local_tag(have) == tag
        return same == (op == "==")
    return _TESTS[op](*keys)


def _begins(have: str, start: str) -> Truth:
    """Whether the release numbers of `have` begin with those of `start`; missing ones are 0."""
    numbers = versions.release(have)
    if numbers is None:
        return None
    wanted = tuple(int(part) for part in start.split("."))
    return (*numbers, *(0 for _ in wanted))[: len(wanted)] == wanted
