# ruff: noqa: PTH113, PTH118, PTH119, PTH120, PTH123, PTH208 - pathlib's import costs more than this whole scan
"""Agent part: which distributions and modules stand on `sys.path`, without importing any.

importlib.metadata reads the metadata of every distribution to find one; here one listing a folder
gives all names, and only the watched ones are opened.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.machinery import EXTENSION_SUFFIXES

_ENDINGS = (".dist-info", ".egg-info", ".egg")
_RUNS = re.compile(r"[-_.]+")


def parse_info_name(filename: str) -> tuple | None:
    """Return (normalised name, version or None) of a metadata folder's name, else None.

    pip renames what it could not delete to `~orch-2.6.0.dist-info`; that counts as nothing.
    """
    for ending in _ENDINGS:
        if filename.endswith(ending) and not filename.startswith("~"):
            name, _, rest = filename[: -len(ending)].partition("-")
            version = rest if ending == ".dist-info" else rest.partition("-py")[0]
            return _RUNS.sub("-", name).lower(), version or None
    return None


def parse_headers(text: str) -> dict:
    """Return the header fields of a METADATA text: lower-case name -> values in order."""
    fields = {}  # type: dict
    last = None
    for line in text.replace("\r\n", "\n").partition("\n\n")[0].split("\n"):
        if line[:1] in (" ", "\t") and last:
            fields[last][-1] += "\n" + line.strip()
            continue
        name, colon, value = line.partition(":")
        if colon:
            last = name.strip().lower()
            fields.setdefault(last, []).append(value.strip())
    return fields


def read_text(path: str, limit: int = -1) -> str | None:
    """Return a file's text, at most `limit` characters, None where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(limit)
    except OSError:
        return None


class Distribution:
    """One installed distribution: its metadata, and the `sys.path` folder it stands in."""

    def __init__(self, name: str, version: str, folder: str, info: str, headers: dict) -> None:
        self.name = name
        self.version = version
        self.folder = folder
        self.info = info
        self.headers = headers

    def header(self, name: str) -> str | None:
        """Return the first header of this name."""
        return self.headers.get(name.lower(), [None])[0]

    def requires(self) -> list:
        """Return the lines of Requires-Dist."""
        return self.headers.get("requires-dist", [])

    def read(self, name: str) -> str | None:
        """Return a file of the metadata folder (WHEEL, RECORD, direct_url.json)."""
        return read_text(os.path.join(self.info, name))


def read_distribution(folder: str, info: str, parsed: tuple) -> Distribution | None:
    """Read a metadata folder or file below `folder`; None where its metadata is missing.

    That is what a broken uninstall leaves, and Python does not count it as installed either.
    """
    places = ("METADATA", "PKG-INFO", os.path.join("EGG-INFO", "PKG-INFO"))
    for path in (*(os.path.join(info, place) for place in places), info):
        text = read_text(path)
        if text is not None:
            headers = parse_headers(text)
            version = headers.get("version", [parsed[1] or ""])[0]
            return Distribution(parsed[0], version, folder, info, headers)
    return None


class Scan:
    """The listing of every folder of a search path, in its order."""

    def __init__(self, path: list, watched: set, prefixes: tuple = ()) -> None:
        self.folders = []  # type: list
        self.distributions = {}  # type: dict
        self._names = {}  # type: dict
        self._watched = watched
        self._prefixes = prefixes
        seen = set()
        for folder in path:
            real = os.path.realpath(folder)
            if real not in seen:
                seen.add(real)
                self._add(folder)

    def _add(self, folder: str) -> None:
        try:
            names = sorted(os.listdir(folder))
        except OSError:  # a zip file, or gone
            return
        self.folders.append(folder)
        self._names[folder] = frozenset(names)
        # An egg counts only once easy-install.pth has put it on the path itself.
        if folder.endswith(".egg"):
            self._keep(folder, folder)
        for name in names:
            if name.endswith(_ENDINGS) and not name.endswith(".egg"):
                self._keep(folder, os.path.join(folder, name))

    def _keep(self, folder: str, info: str) -> None:
        parsed = parse_info_name(os.path.basename(info))
        if parsed and (parsed[0] in self._watched or parsed[0].startswith(self._prefixes)):
            found = read_distribution(folder, info, parsed)
            if found is not None:
                self.distributions.setdefault(found.name, []).append(found)

    def first(self, *names: str) -> Distribution | None:
        """Return the distribution that Python would take for the first of these names."""
        for name in names:
            if self.distributions.get(name):
                return self.distributions[name][0]
        return None

    def names(self, folder: str) -> frozenset:
        """Return the names in a folder of the path."""
        return self._names.get(folder, frozenset())

    def provides(self, folder: str, module: str) -> str | None:
        """Return the file or folder that `import module` would take from this folder.

        A folder without `__init__` is a namespace portion: the import goes on searching.
        """
        names = self.names(folder)
        if module in names:
            package = os.path.join(folder, module)
            if any(
                os.path.isfile(os.path.join(package, "__init__" + suffix))
                for suffix in (".py", ".pyc", *EXTENSION_SUFFIXES)
            ):
                return package
        for suffix in (".py", *EXTENSION_SUFFIXES, ".pyc"):
            if module + suffix in names:
                return os.path.join(folder, module + suffix)
        return None

    def locate(self, module: str) -> str | None:
        """Return where `import module` would take a top-level module from, None if nowhere.

        Finders of editable installs stand on `sys.meta_path` and are asked last; that imports
        nothing, since the module has no parent package.
        """
        for folder in self.folders:
            found = self.provides(folder, module)
            if found:
                return found
        return self._ask_finders(module)

    def _ask_finders(self, module: str) -> str | None:
        for finder in sys.meta_path:
            name = getattr(finder, "__module__", None) or type(finder).__module__
            if name.startswith("__editable__"):
                spec = finder.find_spec(module, None)
                origin = getattr(spec, "origin", None)
                if origin and os.path.basename(origin).startswith("__init__."):
                    return os.path.dirname(origin)
                if origin:
                    return origin
        return None

    def extension(self, folder: str | None, *stems: str) -> str | None:
        """Return an extension module's file in a folder: one this Python loads, else any."""
        try:
            names = sorted(os.listdir(folder)) if folder else []
        except OSError:
            names = []
        for stem in stems:
            for suffix in EXTENSION_SUFFIXES:
                if stem + suffix in names:
                    return os.path.join(folder, stem + suffix)
            for name in names:
                if name.startswith(stem + ".") and name.endswith((".so", ".pyd")):
                    return os.path.join(folder, name)
        return None
