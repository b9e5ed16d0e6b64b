"""The first line: the answer, and whom it is about."""

from __future__ import annotations

from collections.abc import Mapping

from flashdoctor.model.finding import Finding, Report
from flashdoctor.model.regex import regex
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.render.clean import clean
from flashdoctor.render.layout import hang
from flashdoctor.render.proof import proven_components
from flashdoctor.render.style import Style, Tone

_TONES: Mapping[str, Tone] = {
    "pass": "good",
    "warn": "warning",
    "fail": "error",
    "undetermined": "warning",
}
_BROKEN: Mapping[str, str] = {
    "flash-attn": "flash-attn cannot run in",
    "build": "flash-attn cannot be built in",
    "quantization": "the quantised kernels cannot run in",
    "framework": "the framework cannot run as installed in",
    "multi-gpu": "the GPUs do not work together in",
    "internal": "a rule crashed while judging",
}
_ANY_OTHER = "flash attention cannot run in"
_COMPONENTS: Mapping[str, str] = {
    "sdpa": "SDPA's flash kernel",
    "flash-attn": "flash-attn",
    "fa3": "FlashAttention-3",
    "fa4": "FlashAttention-4",
    "vllm": "vLLM",
    "transformers": "transformers",
}
_NAMED = {"vllm": "vLLM", "transformers": "transformers", "xformers": "xformers"}
_INTERPRETER = regex(r"[/\\](?:bin|Scripts)[/\\]python[\w.]*$")


def headline(report: Report, style: Style) -> list[str]:
    """Return the verdict line: one line, two where the width is small."""
    where = place(report.snapshot)
    word = report.verdict.upper()
    start, *rest = hang(f"{word}  ", _said(report, where), style.columns)
    return [style.paint(_TONES[report.verdict], word) + start[len(word) :], *rest]


def place(snapshot: Snapshot) -> str:
    """Return what was looked at: the environment's folder, else a word for it."""
    python = snapshot.value("python.executable")
    if isinstance(python, str) and python:
        return clean(_INTERPRETER.sub("", python), 60) or "this environment"
    return "the assumed stack" if is_assumed(snapshot) else "this environment"


def is_assumed(snapshot: Snapshot) -> bool:
    """Whether these facts were assumed on the command line rather than found."""
    return any(fact.source == "--assume" for fact in snapshot)


def _said(report: Report, where: str) -> str:
    if report.verdict == "fail":
        return f"{_broken(report.findings[0])} {where}" if report.findings else where
    if report.verdict == "undetermined":
        return f"too little is known about {where}"
    fits = _fits(report, where)
    if report.verdict == "pass":
        return fits
    count = sum(finding.severity == "warning" for finding in report.findings)
    return f"{fits}, with {count} warning{'s' if count != 1 else ''}"


def _broken(root: Finding) -> str:
    if root.name.startswith("policy-"):
        return "the policy is not met by"
    name = next((word for head, word in _NAMED.items() if root.name.startswith(head)), None)
    if root.layer == "framework" and name:
        return f"{name} cannot run as installed in"
    return _BROKEN.get(root.layer, _ANY_OTHER)


def _fits(report: Report, where: str) -> str:
    if not report.required:
        return f"no {'fault' if report.verdict == 'pass' else 'error'} found in {where}"
    proven = set(report.required) <= proven_components(report.snapshot)
    names = {**_COMPONENTS, "sdpa": "a fused kernel of SDPA"} if proven else _COMPONENTS
    *most, last = [names[component] for component in report.required]
    one, several = ("is proven in", "are proven in") if proven else ("fits", "fit")
    return f"{', '.join(most)} and {last} {several} {where}" if most else f"{last} {one} {where}"
