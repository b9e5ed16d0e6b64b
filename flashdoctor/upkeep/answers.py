"""What pip prints about an index: `index versions -vv` and the report of `install`. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from flashdoctor.errors import InputError
from flashdoctor.model.upkeep import Metadata, Published
from flashdoctor.model.wheels import parse_wheel_name

_SAID = ("Found link ", "Skipping link: ", "Link requires ")
_LINK = re.compile(r"(?P<link>\S+\.(?:whl|tar\.gz|zip))(?=[#,\s]|$)")
_YANKED = "yanked"
_PYTHON = re.compile(r"\(requires-python:\s*(?P<clauses>[^)]*?)\s*\)")
_LOCAL = "file:"
_SDIST = re.compile(r"(?P<name>[A-Za-z0-9_.-]+?)-(?P<version>\d[^-]*)\.(?:tar\.gz|zip)")


def parse_listing(text: str) -> tuple[Published, ...]:
    """Read every file of one package from the debug output of `pip index versions -vv`.

    Yanked files are left out, and so is what lies in folders of this machine: a table speaks of
    the index. pip prints `Found link ADDRESS (...)` or `Skipping link: REASON: ADDRESS (...)`.
    """
    files: dict[str, Published] = {}
    for line in text.splitlines():
        match = _LINK.search(line) if line.lstrip().startswith(_SAID) else None
        if match is None or _YANKED in line[: match.start()] or match[0].startswith(_LOCAL):
            continue
        python = _PYTHON.search(line)
        found = _published(match["link"], python["clauses"] if python else None)
        if found is not None:
            files.setdefault(found.file, found)
    return tuple(files.values())


def _published(link: str, requires_python: str | None) -> Published | None:
    wheel = parse_wheel_name(link)
    if wheel is not None:
        return Published(
            file=wheel.file,
            version=wheel.version,
            python=wheel.python,
            abi=wheel.abi,
            platforms=tuple(wheel.platform.split(".")),
            requires_python=requires_python or None,
        )
    file = link.partition("#")[0].rpartition("/")[2]
    sdist = _SDIST.fullmatch(file)
    if sdist is None:
        return None
    return Published(file=file, version=sdist["version"], requires_python=requires_python or None)


def parse_report(text: str) -> tuple[Metadata, ...]:
    """Read the METADATA in a report of `pip install --dry-run --report -`; version 1 of it.

    `InputError` where it is not one.
    """
    try:
        body: Any = json.loads(text)
        return tuple(_metadata(item) for item in body["install"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"pip's report cannot be read: {type(error).__name__}: {error}") from None


def _metadata(item: dict[str, Any]) -> Metadata:
    body = item["metadata"]
    return Metadata(
        name=str(body["name"]),
        version=str(body["version"]),
        file=str(item["download_info"]["url"]).rpartition("/")[2],
        requires_python=body.get("requires_python"),
        requires=tuple(map(str, body.get("requires_dist", ()))),
    )


def parse_pip_version(text: str) -> tuple[int, ...] | None:
    """Read `pip 25.3 from ...`; None where that is not what pip said."""
    match = re.match(r"pip (\d+(?:\.\d+)*)", text.strip())
    return tuple(map(int, match[1].split("."))) if match else None


def last_error(stderr: str) -> str:
    """Return why pip gave up, in one line without addresses: its first ERROR with its reason."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    limits = [line for line in lines if "(constraint)" in line]
    said = next(iter(errors), lines[-1] if lines else "it said nothing")
    return _without_addresses("; ".join([said, *limits]))


def _without_addresses(text: str) -> str:
    return re.sub(r"\b[a-z][a-z+]*://\S+", "the index", text)


def by_version(files: Iterable[Published]) -> dict[str, tuple[Published, ...]]:
    """Return the files of each release."""
    found: dict[str, list[Published]] = {}
    for file in files:
        found.setdefault(file.version, []).append(file)
    return {version: tuple(items) for version, items in found.items()}
