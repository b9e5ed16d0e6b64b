"""Agent part: the facts gathered so far, and the guard that keeps one failure from taking all."""

from __future__ import annotations


class Report:
    """Facts by path, and the files that flashdoctor goes on to look into."""

    def __init__(self) -> None:
        self.facts = {}  # type: dict
        self.extensions = {}  # type: dict
        self.torch_lib = None  # type: str | None

    def known(self, path: str, value: object, source: str) -> None:
        """State a value."""
        self.facts[path] = {"path": path, "state": "known", "value": value, "source": source}

    def absent(self, path: str, source: str, reason: str = "") -> None:
        """State that something was looked for and is not there."""
        self._without_value("absent", path, source, reason)

    def unknown(self, path: str, source: str, reason: str) -> None:
        """State that something could not be established, and why."""
        self._without_value("unknown", path, source, reason)

    def _without_value(self, state: str, path: str, source: str, reason: str) -> None:
        fact = {"path": path, "state": state, "value": None, "source": source}
        self.facts[path] = dict(fact, reason=reason) if reason else fact

    def known_or_absent(self, path: str, value: object, source: str) -> None:
        """State a value, or its absence where it is None."""
        if value is None:
            self.absent(path, source)
        else:
            self.known(path, value, source)

    def extension(self, path: str, file: str | None, source: str) -> None:
        """State an extension's file and hand it on to be looked into."""
        self.known_or_absent(path + ".extension", file, source)
        if file:
            self.extensions[path] = file

    def guard(self, paths: tuple, step: object, *arguments: object) -> object:
        """Return what a step returns; where it raises, what it left unsaid becomes unknown."""
        try:
            return step(*arguments)
        except Exception as error:
            reason = "%s: %s" % (type(error).__name__, error)
            for path in paths:
                if path not in self.facts:
                    self.unknown(path, "agent", reason[:300])
            return None

    def to_json(self) -> dict:
        """Return the object that goes back to flashdoctor."""
        files = {"extensions": self.extensions}  # type: dict
        if self.torch_lib:
            files["torch_lib"] = self.torch_lib
        return {"agent": "collect", "facts": list(self.facts.values()), "files": files}
