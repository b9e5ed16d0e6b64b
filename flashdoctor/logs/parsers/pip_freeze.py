"""`pip freeze` and lists of pins: `name==version`, `name @ file:///...whl`, editable installs.

A pin with a marker, a hash or quotes around it is a requirement: it says what should be installed,
and counts as a mention. So does every pin below a line that names a requirements file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flashdoctor.logs.parsers._packages import Companions, state_package, state_wheel
from flashdoctor.logs.parsers._stated import is_version, on
from flashdoctor.logs.statements import MENTION, STATED, BlockParser
from flashdoctor.model.log import Found, Line

_SOURCE = "pip freeze"
_NAME = r"(?P<name>[A-Za-z0-9][\w.-]{0,80})(?:\[[\w, .-]{0,60}\])?"
_PIN = re.compile(rf"{_NAME}\s{{0,2}}={{2,3}}\s{{0,2}}(?P<version>\d[\w.!+-]{{0,62}})")
_ADDRESS = re.compile(rf"\s{{0,8}}{_NAME}\s{{1,4}}@\s{{1,4}}(?P<address>\S{{1,500}})\s*$")
_LEAD = re.compile(r"(?! - )\s{0,8}(?:[-*\u2022]\s{1,4})?(?P<quote>[\"'`]{0,1})(?=[A-Za-z0-9])")
"""What may stand before the first pin. ` - name==version` is what uv says when it removes one."""
_BETWEEN = re.compile(r"[\s,;|&/]{1,20}(?:and\s{1,4})?(?=[A-Za-z0-9\"'`])")
_REQUIREMENT = re.compile(r"[\"']?\s{0,20}(?:;|--hash|\\|,\s*$|\])|[\"']")
_FILE = re.compile(
    r"requirements[\w./-]{0,40}\.txt|pyproject\.toml|setup\.(?:py|cfg)", re.IGNORECASE
)
_HASH = re.compile(r"\s{0,8}--hash=|\s{0,8}#")
_MAX_PINS = 40


class _Pins:
    """The lines of pins, and whether a requirements file was named right before them."""

    def __init__(self) -> None:
        self.open = False
        self._companions = Companions()

    def feed(self, line: Line) -> Iterable[Found]:
        """Read a line of pins or an address; others end what a requirements file began."""
        if "==" not in line.text and " @ " not in line.text:
            self.open = self._still_file(line.text)
            return ()
        address = _ADDRESS.match(line.text)
        if address:
            return on(line, state_wheel(address["address"], _SOURCE), self._trust())
        pins = _read_pins(line.text)
        if not pins:
            self.open = self._still_file(line.text)
        return self._state(pins, line)

    def end(self) -> Iterable[Found]:
        """State what stands alone in the list."""
        return self._companions.end(_SOURCE)

    def _still_file(self, text: str) -> bool:
        """Whether the next pins are those of a file: it is named here, or still goes on."""
        if _FILE.search(text) and "==" not in text:
            return True
        return self.open and (not text.strip() or _HASH.match(text) is not None)

    def _trust(self) -> int:
        return MENTION if self.open else STATED

    def _state(self, pins: list[tuple[str, str, bool]], line: Line) -> Iterator[Found]:
        for name, version, required in pins:
            self._companions.add(name, version, line)
            trust = MENTION if required else self._trust()
            yield from on(line, state_package(name, version, _SOURCE), trust)


def _read_pins(text: str) -> list[tuple[str, str, bool]]:
    """Return name, version and whether it is a requirement, for a line that is pins throughout."""
    lead = _LEAD.match(text)
    at = lead.end() if lead else 0
    quoted = bool(lead and lead["quote"])
    found: list[tuple[str, str, bool]] = []
    while lead and len(found) < _MAX_PINS:
        pin = _PIN.match(text, at)
        if pin is None or not is_version(pin["version"]):
            return []
        rest = text[pin.end() : pin.end() + 80]
        required = quoted or _REQUIREMENT.match(rest) is not None
        found.append((pin["name"], pin["version"], required))
        between = _BETWEEN.match(text, pin.end())
        if required or between is None or _PIN.match(text, between.end()) is None:
            return found if required or _ends(rest) else []
        at = between.end()
    return found


def _ends(rest: str) -> bool:
    """Whether nothing but a comment, a bracket or white space follows the last pin."""
    return not rest.strip(" \t`.,;") or rest.lstrip().startswith(("#", "("))


PARSER = BlockParser(
    kind="pip freeze",
    keywords=("==", " @ ", "requirements", "pyproject.toml", "setup.py"),
    make=_Pins,
)
