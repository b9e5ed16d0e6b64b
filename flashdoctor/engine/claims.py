"""Claims that people repeat, in what a paste says: its telling lines and its commands. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flashdoctor.data.folklore import launched_by, mentioned
from flashdoctor.data.tables import Tables
from flashdoctor.model import versions
from flashdoctor.model.claim import Claim
from flashdoctor.model.finding import Finding
from flashdoctor.model.snapshot import Snapshot

_ENGINE = "vllm"


def carried(findings: Iterable[Finding], facts: Snapshot, tables: Tables) -> tuple[Claim, ...]:
    """Return the claims that stand behind the lines and commands of a paste, each once.

    What was right once, and still is for the vLLM of the paste, is left out.
    """
    quoted = [str(item.value) for found in findings for item in found.evidence if item.line]
    variables = [f"{item['name']}={item['value']}" for item in _variables(facts)]
    text = "\n".join([*quoted, *(f"export {item}" for item in variables)])
    command = " ".join([*variables, facts.value("launch.command", "")])
    version = facts.value("vllm.version", "")
    found = [
        claim
        for claim in mentioned(tables, text, facts.value("gpu.compute_capability"))
        if not _is_right_still(claim, version)
    ]
    return tuple(dict.fromkeys([*found, *launched_by(tables, command, version)]))


def _variables(facts: Snapshot) -> Iterator[dict[str, str]]:
    for item in facts.value("launch.environment", ()):
        if item.get("name") and item.get("value"):
            yield item


def _is_right_still(claim: Claim, version: str) -> bool:
    if claim.package != _ENGINE or not claim.since:
        return False
    pair = versions.order(version), versions.order(claim.since)
    return pair[0] is not None and pair[1] is not None and pair[0] < pair[1]
