"""Agent part: requirements, environment markers and version specifiers; pure.

The standard library has none of these, and `packaging` may be missing in the target.
"""

from __future__ import annotations

import re

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?\s*(.*)$")
_TOKEN = re.compile(
    r"""\s*(?:(?P<paren>[()]) | (?P<text>"[^"]*"|'[^']*')
    | (?P<op><=|>=|===|==|!=|~=|<|>|not\s+in\b|in\b) | (?P<join>and\b|or\b)
    | (?P<name>[A-Za-z_.]+))""",
    re.VERBOSE,
)
_VERSION = re.compile(
    r"""\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<pre_number>\d*))?
    (?:[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?
    (?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?
    (?:\+(?P<local>[\w.-]+))?\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_CLAUSE = re.compile(r"(===|==|!=|<=|>=|~=|<|>)\s*(.+)")
_RANKS = {"a": 0, "alpha": 0, "b": 1, "beta": 1}
_VERSION_VARIABLES = ("python_version", "python_full_version", "implementation_version")
_OPERATIONS = {
    "==": lambda left, right: left == right,
    "===": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}


def normalise(name: str) -> str:
    """Return a distribution's name as the index compares it: `flash_attn` is `flash-attn`."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Requirement:
    """One Requires-Dist: a normalised name, extras, the specifier without blanks, the marker."""

    __slots__ = ("extras", "marker", "name", "specifier")

    def __init__(self, name: str, extras: tuple[str, ...], specifier: str, marker: str) -> None:
        self.name = name
        self.extras = extras
        self.specifier = specifier
        self.marker = marker


def parse_requirement(line: str) -> Requirement:
    """Read `torch==2.8.0; extra == "x"` and the old `torch (==2.8.0)`; ValueError otherwise."""
    head, _, marker = line.partition(";")
    match = _REQUIREMENT.match(head)
    if match is None:
        raise ValueError("not a requirement: " + line[:80])
    rest = match.group(3).strip()
    specifier = "" if rest.startswith("@") else "".join(rest.strip("()").split())
    extras = tuple(normalise(item.strip()) for item in (match.group(2) or "").split(",") if item)
    return Requirement(normalise(match.group(1)), extras, specifier, marker.strip())


def applies(requirement: Requirement, environment: dict, extras: tuple = ()) -> bool:
    """Whether a requirement counts in this environment, with these extras asked for."""
    if not requirement.marker:
        return True
    return any(
        evaluate(requirement.marker, dict(environment, extra=extra)) for extra in (extras or ("",))
    )


def evaluate(marker: str, environment: dict) -> bool:
    """Evaluate an environment marker (PEP 508); ValueError where it is not one."""
    reader = _MarkerReader(_tokens(marker), environment)
    result = reader.either()
    if reader.tokens:
        raise ValueError("marker goes on behind its end: " + marker[:80])
    return result


def _tokens(marker: str) -> list:
    found, position, marker = [], 0, marker.rstrip()
    while position < len(marker):
        match = _TOKEN.match(marker, position)
        if match is None:
            raise ValueError("not a marker: " + marker[:80])
        found.append((match.lastgroup, match.group(match.lastgroup)))
        position = match.end()
    return found


class _MarkerReader:
    """Recursive descent over the tokens of one marker; `and` binds closer than `or`."""

    def __init__(self, tokens: list, environment: dict) -> None:
        self.tokens = tokens
        self.environment = environment

    def take(self, *wanted: str) -> str:
        kind, text = self.tokens.pop(0) if self.tokens else ("end", "")
        if kind not in wanted:
            raise ValueError("unexpected %r in a marker" % text)
        return text

    def next_is(self, text: str) -> bool:
        return bool(self.tokens) and self.tokens[0][1] == text

    def either(self) -> bool:
        result = self.both()
        while self.next_is("or"):
            self.take("join")
            result = self.both() or result
        return result

    def both(self) -> bool:
        result = self.single()
        while self.next_is("and"):
            self.take("join")
            result = self.single() and result
        return result

    def single(self) -> bool:
        if self.next_is("("):
            self.take("paren")
            result = self.either()
            if self.take("paren") != ")":
                raise ValueError("a bracket stays open in a marker")
            return result
        left, operation, right = self.operand(), self.take("op"), self.operand()
        return _compare(left, " ".join(operation.split()), right)

    def operand(self) -> tuple:
        """Return (value, whether it is compared as a version)."""
        kind = self.tokens[0][0] if self.tokens else "end"
        text = self.take("text", "name")
        if kind == "text":
            return text[1:-1], False
        if text not in self.environment:
            raise ValueError("unknown variable in a marker: " + text[:40])
        return self.environment[text], text in _VERSION_VARIABLES


def _compare(left: tuple, operation: str, right: tuple) -> bool:
    if (left[1] or right[1]) and "in" not in operation:
        if right[1]:  # '3.8' <= python_version
            flipped = operation.translate(str.maketrans("<>", "><"))
            return satisfies(right[0], flipped + left[0])
        return satisfies(left[0], operation + right[0])
    if operation not in _OPERATIONS:
        raise ValueError("no such comparison of texts: " + operation)
    return bool(_OPERATIONS[operation](left[0], right[0]))


def version_key(text: str) -> tuple:
    """Return what PEP 440 orders versions by, the local tag left out; ValueError otherwise."""
    match = _VERSION.match(text)
    if match is None:
        raise ValueError("not a version: " + text[:80])
    release = _release(match.group("release"))
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    pre, post, dev = match.group("pre"), match.group("post"), match.group("dev")
    if pre:
        rank = (_RANKS.get(pre.lower(), 2), int(match.group("pre_number") or 0))
    else:
        rank = (-1, 0) if dev and not post else (3, 0)
    return (
        int(match.group("epoch") or 0),
        release,
        rank,
        int(match.group("post_number") or 0) if post else -1,
        int(match.group("dev_number") or 0) if dev else float("inf"),
    )


def _release(text: str) -> tuple:
    return tuple(int(number) for number in text.split("."))


def satisfies(version: str, specifier: str) -> bool:
    """Whether a version fulfils every clause of `>=1.2,<2,!=1.5.*`; ValueError otherwise."""
    return all(_fulfils(version, clause) for clause in specifier.split(",") if clause.strip())


def _fulfils(version: str, clause: str) -> bool:
    match = _CLAUSE.match(clause.strip())
    if match is None:
        raise ValueError("not a version specifier: " + clause[:80])
    operation, wanted = match.group(1), match.group(2).strip()
    if operation == "===":
        return version.strip().lower() == wanted.lower()
    if wanted.endswith(".*"):
        return _has_prefix(version, wanted[:-2]) == (operation == "==")
    if operation == "~=":
        return version_key(version) >= version_key(wanted) and _has_prefix(
            version, wanted.rpartition(".")[0]
        )
    return bool(_OPERATIONS[operation](version_key(version), version_key(wanted)))


def _has_prefix(version: str, prefix: str) -> bool:
    wanted = _release(prefix)
    numbers = version_key(version)[1]
    return (numbers + (0,) * len(wanted))[: len(wanted)] == wanted
