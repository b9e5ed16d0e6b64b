"""The table of what was found: one line a part of the stack, with a mark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from flashdoctor.model.finding import Finding, Report
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.model.versions import Capability, capability
from flashdoctor.render.clean import clean
from flashdoctor.render.layout import hang, pad
from flashdoctor.render.style import Style, Tone
from flashdoctor.render.values import memory, state_text, value_text

_LABEL_WIDTH = 13


@dataclass(frozen=True, slots=True)
class Row:
    """One part of the stack: the fact that says whether it is there, and what it is made of.

    `prefixes`: paths of facts that belong to it. `layers`: layers of findings that are about it.
    """

    label: str
    head: str
    prefixes: tuple[str, ...]
    describe: Callable[[Snapshot], Iterable[str]]
    layers: tuple[str, ...] = ()


class Part(NamedTuple):
    """One part of the stack as it is shown; `source`: what told that it is there."""

    label: str
    tone: Tone
    text: str
    source: str = ""


def _gpu(facts: Snapshot) -> Iterable[str]:
    count = facts.value("gpu.visible_count", facts.value("gpu.count"))
    name = text_of(facts, "gpu.name")
    many = isinstance(count, int) and count > 1
    yield f"{count} x {name}" if many and name else name
    found = gpu_capability(facts)
    yield found.sm if found else ""
    yield _memory(facts)
    yield "MIG" if facts.value("gpu.mig_enabled") is True else ""


def gpu_capability(facts: Snapshot) -> Capability | None:
    """Return the compute capability of the first visible GPU where it is known."""
    return capability(str(facts.value("gpu.compute_capability", "")))


def _memory(facts: Snapshot) -> str:
    total, used = facts.value("gpu.memory_mib"), facts.value("gpu.memory_used_mib")
    if not _is_number(total):
        return ""
    if not _is_number(used):
        return memory(total)
    return f"{memory(total - used).removesuffix(' GiB')} of {memory(total)} free"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _driver(facts: Snapshot) -> Iterable[str]:
    yield text_of(facts, "driver.version")
    cuda = text_of(facts, "driver.cuda")
    yield f"up to CUDA {cuda}" if cuda else ""
    flavor = text_of(facts, "driver.module_flavor")
    yield f"{flavor} module" if flavor else ""


def _torch(facts: Snapshot) -> Iterable[str]:
    yield "not installed" if _is_absent(facts, "torch.version") else text_of(facts, "torch.version")
    cuda = text_of(facts, "torch.cuda")
    cpu = facts["torch.version"].is_known and _is_absent(facts, "torch.cuda")
    yield f"CUDA {cuda}" if cuda else ("without CUDA" if cpu else "")
    abi = facts.value("torch.cxx11_abi")
    yield {True: "new C++ ABI", False: "old C++ ABI"}[abi] if isinstance(abi, bool) else ""
    python = text_of(facts, "python.version")
    yield f"Python {python}" if python else ""


def _flash(facts: Snapshot) -> Iterable[str]:
    version, wheel = text_of(facts, "flash_attn.version"), text_of(facts, "flash_attn.wheel.torch")
    yield f"flash-attn {version}" if version else ""
    yield f"built for torch {wheel}" if version and wheel else ""
    for generation in ("3", "4"):
        newer = text_of(facts, f"flash_attn_{generation}.version")
        yield f"flash-attn-{generation} {newer}" if newer else ""


def _vllm(facts: Snapshot) -> Iterable[str]:
    yield text_of(facts, "vllm.version")
    pin = text_of(facts, "vllm.torch_pin")
    yield f"wants torch {pin}" if pin else ""
    bundled = facts.value("vllm.bundled")
    yield f"carries {value_text('vllm.bundled', bundled)}" if bundled else ""


def _transformers(facts: Snapshot) -> Iterable[str]:
    yield text_of(facts, "transformers.version")


def _host(facts: Snapshot) -> Iterable[str]:
    yield text_of(facts, "os.distribution") or text_of(facts, "os.platform")
    kernel, glibc = text_of(facts, "os.kernel"), text_of(facts, "os.glibc")
    yield f"kernel {kernel}" if kernel else ""
    yield f"glibc {glibc}" if glibc else ""
    wsl = facts.value("wsl.version")
    yield f"WSL {value_text('wsl.version', wsl)}" if wsl else ""
    container = text_of(facts, "container.kind")
    missing = "no container" if _is_absent(facts, "container.kind") else ""
    yield f"in {container}" if container else missing


ROWS = (
    Row("GPU", "gpu.name", ("gpu.",), _gpu, ("multi-gpu",)),
    Row("driver", "driver.version", ("driver.", "nvml."), _driver, ("driver",)),
    Row("torch", "torch.version", ("torch.", "python.", "live."), _torch, ("cuda", "torch")),
    Row("flash", "flash_attn.version", ("flash_attn",), _flash, ("flash-attn", "kernel")),
    Row("vLLM", "vllm.version", ("vllm.",), _vllm),
    Row("transformers", "transformers.version", ("transformers.",), _transformers),
    Row("host", "os.distribution", ("os.", "wsl.", "container."), _host, ("host",)),
)
_NOT_THERE: Mapping[str, str] = {
    "GPU": "none",
    "driver": "none",
    "flash": "flash-attn not installed",
    "host": "not named",
}


def stack_parts(report: Report) -> list[Part]:
    """Return the parts of the stack. A part of which nobody said anything is left out.

    `good`: there, and no finding is about it; `error` and `warning`: one is; `none`: not there, or
    not known.
    """
    touched = _touched(report.findings)
    parts: list[Part] = []
    for row in ROWS:
        described = ", ".join(part for part in row.describe(report.snapshot) if part)
        text = _text(row, described, report.snapshot)
        if text:
            tone = touched.get(row.label) or _tone(row, described, report.snapshot)
            source = report.snapshot[row.head].source if row.head in report.snapshot else ""
            parts.append(Part(row.label, tone, text, source))
    return parts


def stack_lines(report: Report, style: Style) -> list[str]:
    """Return the table of `stack_parts`, with the tone of each as a mark."""
    return [line for part in stack_parts(report) for line in _line(part, style)]


def _line(part: Part, style: Style) -> list[str]:
    source = f"  ({clean(part.source)})" if part.source and style.verbose else ""
    start = f"{style.mark(part.tone)} {pad(part.label, _LABEL_WIDTH)}"
    first, *rest = hang(start, f"{part.text}{source}", style.columns)
    return [style.paint(part.tone, first[:1]) + first[1:], *rest]


def stack_text(snapshot: Snapshot) -> str:
    """Return the parts that are there in one line: GPU, driver, torch, flash-attn, vLLM."""
    parts: list[str] = []
    for row in ROWS[:-1]:
        if row.label == "flash":
            parts += [part for part in _flash(snapshot) if part and "built for" not in part]
        elif snapshot[row.head].is_known:
            name = "" if row.label == "GPU" else f"{row.label} "
            words = [part for part in row.describe(snapshot) if part]
            parts.append(name + " ".join(words[: 2 if row.label == "GPU" else 1]))
    return ", ".join(parts)


def _text(row: Row, described: str, snapshot: Snapshot) -> str:
    if described or row.head not in snapshot:
        return described
    fact = snapshot[row.head]
    return (
        _NOT_THERE.get(row.label, "not installed") if fact.state == "absent" else state_text(fact)
    )


def _tone(row: Row, described: str, snapshot: Snapshot) -> Tone:
    stated = row.head in snapshot and row.label != "flash"  # flash: any generation will do
    there = snapshot[row.head].is_known if stated else bool(described)
    return "good" if there else "none"


def _touched(findings: Iterable[Finding]) -> dict[str, Tone]:
    """Return the worst tone of the findings about each part."""
    found: dict[str, Tone] = {}
    for finding in findings:
        label = _about(finding)
        if label and finding.severity != "info":
            found[label] = "error" if "error" in (finding.severity, found.get(label)) else "warning"
    return found


def _about(finding: Finding) -> str | None:
    if finding.outcome == "crash":
        return None
    for row in ROWS:
        named = finding.name.startswith(row.label.lower()) and not row.layers
        if finding.layer in row.layers or named:
            return row.label
    paths = [item.fact for item in finding.evidence if item.fact]
    return next(
        (row.label for path in paths for row in ROWS if path.startswith(row.prefixes)), None
    )


def text_of(facts: Snapshot, path: str) -> str:
    """Return the value at `path` as text, an empty text where it is not known."""
    fact = facts[path]
    return value_text(path, fact.value) if fact.is_known and fact.value != [] else ""


def _is_absent(facts: Snapshot, path: str) -> bool:
    return facts[path].state == "absent"
