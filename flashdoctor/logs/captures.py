"""What one matched line states: captured groups and `sets` as facts. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flashdoctor.logs import values
from flashdoctor.logs.parsers._vllm_backends import backend_of
from flashdoctor.logs.symbols import library_owner, symbol_abi, symbol_owner
from flashdoctor.model.facts import Fact, absent, known
from flashdoctor.model.log import Signature

SOURCE = "the text"


def facts_of(signature: Signature, match: re.Match[str] | None) -> Iterator[Fact]:
    """Yield the facts that a line gives; a group that does not read as its kind gives none."""
    for path, value in signature.sets.items():
        yield absent(path, SOURCE) if value is None else known(path, value, SOURCE)
    for group, path in signature.captures.items() if match else ():
        text = match[group] if match else None
        if text is None or not text.strip():
            continue
        try:
            convert = _CONVERTERS.get(signature.convert.get(group, ""))
            found = convert(path, text) if convert else {path: values.read_value(path, text)}
        except (ValueError, OverflowError):
            continue
        for key, value in found.items():
            yield known(key, value, SOURCE)


def _symbol(path: str, text: str) -> dict[str, Any]:
    name = values.read_value(path, text)
    return {path: name, "log.symbol_owner": symbol_owner(name), "log.symbol_abi": symbol_abi(name)}


def _library(path: str, text: str) -> dict[str, Any]:
    file = values.read_value(path, text)
    return {path: file, "log.library_owner": library_owner(file)}


def _account(_path: str, text: str) -> dict[str, Any]:
    return {f"log.memory_{name}_gib": gib for name, gib in values.memory_account(text).items()}


def _backend(path: str, text: str) -> dict[str, Any]:
    name = backend_of(text)
    return {} if name is None else {path: name}


def _plain(reader: Callable[[str], Any]) -> Callable[[str, str], dict[str, Any]]:
    return lambda path, text: {path: reader(text)}


_CONVERTERS: Mapping[str, Callable[[str, str], dict[str, Any]]] = {
    "cuda_number": _plain(values.cuda_of_number),
    "mib_to_gib": _plain(values.gib_of_mib),
    "bytes_to_gib": _plain(values.gib_of_bytes),
    "memory_account": _account,
    "attention_backend": _backend,
    "capability_pair": lambda path, text: {path: values.read_value(path, text)},
    "symbol": _symbol,
    "library": _library,
}
