"""From findings to a verdict and an exit code, as the contract has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from flashdoctor.engine.runner import Results
from flashdoctor.model.finding import Finding, Verdict
from flashdoctor.model.rule import Component, Rule
from flashdoctor.model.snapshot import Snapshot

FailOn: TypeAlias = Literal["error", "warning", "never"]

CORE = ("gpu.compute_capability", "torch.version", "driver.version")
"""What a machine that was looked at must give away before anything can be called a pass."""

_DEFAULT: Component = "sdpa"
_PROOF = "smoke.proven"
_POLICY = "policy.file"
_SUBJECT: Mapping[str, str] = {
    "sdpa": "torch.version",
    "flash-attn": "flash_attn.version",
    "fa3": "flash_attn_3.version",
    "fa4": "flash_attn_4.version",
    "vllm": "vllm.version",
    "transformers": "transformers.version",
}


def missing_facts(
    snapshot: Snapshot, results: Results, rules: Mapping[str, Rule], required: frozenset[Component]
) -> tuple[str, ...]:
    """Return the facts without which nothing was established; empty where enough was.

    Established means: for each required component (any, where none is) a rule that decides it was
    judged, torch is known, and no core fact that was looked for came back unknown. A rule that
    was judged and failed decides as well: as an error it is the verdict, as a warning it leaves the
    component usable. On a machine outside the tables only a CUDA kernel that ran counts, and where
    attention was run, a required component is established by a proof and by nothing less. What a
    policy expects has to be known as well.
    """
    lost = [path for path in CORE if path in snapshot and snapshot[path].state == "unknown"]
    if lost:
        return tuple(lost)
    unjudged = _unjudged_policy(snapshot, results, rules)
    if unjudged:
        return unjudged
    if _lacks_proof(snapshot, results, rules, required):
        return (_PROOF,)
    if any(rules[item.id].outside for item in results.findings) and not _ran(snapshot):
        return ("live.kernel_ran",)
    judged = [*results.passed, *(rules[item.id] for item in results.findings if _failed(item))]
    decided = {component for rule in judged for component in rule.decides}
    open_questions = required - decided if required else frozenset({_DEFAULT} - decided)
    torch_is_unstated = snapshot["torch.version"].state == "unknown"
    if not torch_is_unstated and (not open_questions or (not required and decided)):
        return ()
    subjects = dict.fromkeys(
        ["gpu.compute_capability", "torch.version", *(_SUBJECT[part] for part in sorted(required))]
    )
    unstated = [path for path in subjects if snapshot[path].state == "unknown"]
    return tuple(unstated or _needs(results, rules, open_questions) or subjects)


def _unjudged_policy(
    snapshot: Snapshot, results: Results, rules: Mapping[str, Rule]
) -> tuple[str, ...]:
    """Return the facts that a policy expects something of, and that nobody could tell."""
    if not snapshot[_POLICY].is_known:
        return ()
    lacking = [item for item in results.skipped if rules[item.id].about == _POLICY]
    return tuple(dict.fromkeys(path for item in lacking for path in item.needs))


def _ran(snapshot: Snapshot) -> bool:
    return snapshot.value("live.kernel_ran") is True and snapshot.value("torch.build") == "cuda"


def _failed(finding: Finding) -> bool:
    return finding.outcome == "fail"


def _lacks_proof(
    snapshot: Snapshot, results: Results, rules: Mapping[str, Rule], required: frozenset[Component]
) -> bool:
    """Whether kernels were run, and could not be named for something that is required."""
    if snapshot.value("smoke.status", "not-run") == "not-run":
        return False
    lacking = [item for item in results.skipped if set(item.needs) & {_PROOF, "smoke.cases"}]
    return any(required & set(rules[item.id].decides) for item in lacking)


def _needs(
    results: Results, rules: Mapping[str, Rule], components: frozenset[Component]
) -> list[str]:
    """Return what the rules that decide these components lacked."""
    lacking = [item for item in results.skipped if components & set(rules[item.id].decides)]
    return list(dict.fromkeys(path for item in lacking for path in item.needs))


def decide(
    findings: Iterable[Finding], missing: tuple[str, ...], fail_on: FailOn
) -> tuple[Verdict, int]:
    """Return the verdict and the exit code: 1 at or above `fail_on`, 3 undetermined, else 0."""
    severities = {finding.severity for finding in findings}
    if "error" in severities:
        return "fail", 0 if fail_on == "never" else 1
    if "warning" in severities and fail_on == "warning":
        return ("undetermined" if missing else "warn"), 1
    if missing:
        return "undetermined", 3
    return ("warn" if "warning" in severities else "pass"), 0
