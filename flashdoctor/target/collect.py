"""What is installed in the target Python, as facts; a target that fails is a fact as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from flashdoctor.errors import (
    TargetCrashedError,
    TargetError,
    TargetNotFoundError,
    TargetSilentError,
    TargetTimeoutError,
    TargetTooOldError,
)
from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.wheels import parse_wheel_name
from flashdoctor.target.process import Limits
from flashdoctor.target.report import facts_of
from flashdoctor.target.run import Exchange, exchange, failure

TIMEOUT_S = 20.0

_STATUS: Mapping[type[TargetError], str] = {
    TargetNotFoundError: "not-found",
    TargetTooOldError: "too-old",
    TargetTimeoutError: "timeout",
    TargetCrashedError: "crashed",
    TargetSilentError: "silent",
}
_LONGEST_PATH = 4096
_HOST_GROUPS = frozenset({"wsl", "driver", "toolkit"})
_AGENT_GROUPS = frozenset({
    "python", "torch", "flash_attn", "flash_attn_3", "flash_attn_4", "vllm", "xformers",
})  # fmt: skip


class Collected(NamedTuple):
    """Facts about the target Python, in no order, one per path, and what to look into on disk.

    `files`: `torch_lib`, torch's lib folder, and `extensions`, extension files by fact prefix
    (`flash_attn`, `flash_attn_3`, `vllm`, `vllm.fa2`, `vllm.fa3`, `xformers`).
    """

    facts: tuple[Fact, ...]
    files: Mapping[str, Any] = MappingProxyType({})

    def value(self, path: str, default: Any = None) -> Any:
        """Return a known value."""
        for fact in self.facts:
            if fact.path == path and fact.is_known:
                return fact.value
        return default


def collect_facts(
    python: str | Path,
    *,
    named: bool = False,
    environ: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
    on_start: Callable[[], object] = lambda: None,
) -> Collected:
    """Return the facts that the target reports; a failure gives python.status and python.error.

    Raises TargetNotFoundError only where the user `named` the interpreter: then it is a wrong
    argument, not a finding. `on_start` is called once the interpreter is at work.
    """
    limits = Limits(timeout_s=timeout_s)
    try:
        done = exchange(python, "collect", limits=limits, environ=environ, on_start=on_start)
    except TargetNotFoundError as error:
        if named:
            raise
        return not_collected(error)
    if done.too_old is not None or not done.reports:
        return not_collected(failure(done), version=done.too_old)
    return _collected(done)


def not_collected(error: TargetError, *, version: str | None = None) -> Collected:
    """Return what remains known of a target that gave no report: why, and nothing else.

    `version`: what an interpreter that is too old said of itself.
    """
    status = next((word for kind, word in _STATUS.items() if isinstance(error, kind)), "silent")
    source = "run of the target Python"
    facts = [
        known("python.status", status, source),
        known("python.error", error.message, source),
    ]
    if version:
        facts.append(known("python.version", version, source))
    stated = {fact.path for fact in facts}
    reason = f"the target Python did not report: {status}"
    rest = [unknown(path, reason, source) for path in agent_paths() if path not in stated]
    return Collected(facts=(*facts, *rest))


def agent_paths() -> list[str]:
    """Return the paths that only the target can tell: its own, torch's, and every version."""
    return [
        path
        for path in FACTS
        if path.partition(".")[0] in _AGENT_GROUPS
        or (path.endswith(".version") and path.partition(".")[0] not in _HOST_GROUPS)
    ]


def _collected(done: Exchange) -> Collected:
    body = done.reports[-1]
    read = {fact.path: fact for fact in facts_of(body)}
    source = "run of the target Python"
    for fact in (known("python.status", "ok", source), absent("python.error", source)):
        read[fact.path] = fact
    for fact in derived(read):
        read.setdefault(fact.path, fact)
    return Collected(facts=tuple(read.values()), files=_files(body.get("files")))


def derived(facts: Mapping[str, Fact]) -> Iterator[Fact]:
    """Yield what the local part of flash-attn's version says, where no wheel name is known.

    Builders outside the project keep there what the file name would say.
    """
    file, version = facts.get("flash_attn.wheel.file"), facts.get("flash_attn.version")
    if version is None or not version.is_known or (file is not None and file.is_known):
        return
    wheel = parse_wheel_name(f"flash_attn-{version.value}-py3-none-any.whl")
    for name in ("cuda", "torch", "cxx11_abi"):
        value = getattr(wheel, name, None)
        if value is not None:
            yield known(f"flash_attn.wheel.{name}", value, "version of flash-attn")


def _files(body: Any) -> Mapping[str, Any]:
    """Return paths as the agent gave them: they are opened, so they must not be cleaned."""
    if not isinstance(body, dict):
        return {}
    extensions = body.get("extensions")
    pairs = extensions.items() if isinstance(extensions, dict) else ()
    found: dict[str, Any] = {
        "extensions": {
            name: path for name, path in pairs if f"{name}.extension" in FACTS and _is_path(path)
        }
    }
    if _is_path(body.get("torch_lib")):
        found["torch_lib"] = body["torch_lib"]
    return found


def _is_path(text: Any) -> bool:
    return isinstance(text, str) and 0 < len(text) <= _LONGEST_PATH and "\0" not in text
