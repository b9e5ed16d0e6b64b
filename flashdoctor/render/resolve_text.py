"""An install plan, or what stands in its way, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flashdoctor.model.plan import Plan, Rejection, Resolution
from flashdoctor.render.clean import clean, clean_command, defuse
from flashdoctor.render.folklore_text import pointer_lines
from flashdoctor.render.layout import hang, joined, pairs
from flashdoctor.render.style import Style, Tone

_LONG = 2000
_INDENT = "  "
_SHOWN = 6


def render(resolution: Resolution, style: Style) -> str:
    """Return the whole screen: for what, the plan, how to install it, why, what was left out."""
    blocks = [_head(resolution, style)]
    if resolution.plan:
        blocks += [
            _section("Plan", pairs(list(_plan(resolution.plan, resolution)), style.columns, 2)),
            _section("Install", [f"    {clean_command(item)}" for item in resolution.commands]),
            _section("Why", _points(resolution.why, style)),
            _section("Note", _points(resolution.notes, style)),
            _section("Left out", _rejections(resolution.rejected, style)),
            _section("Afterwards", [f"    {_check(resolution)}"]),
        ]
    else:
        blocks.append(_section("In the way", _rejections(resolution.obstacles, style)))
    blocks.append(pointer_lines(resolution.folklore, style))
    return "\n".join(map(defuse, joined(blocks))) + "\n"


def _head(resolution: Resolution, style: Style) -> list[str]:
    tone: Tone = "good" if resolution.plan else "error"
    mark = style.mark(tone)
    wants = ", ".join(map(clean, resolution.wants))
    verdict = f"plan for {wants}" if resolution.plan else f"no plan for {wants}"
    facts = dict(resolution.machine)
    named = [facts.pop("gpu", ""), *(f"{key} {value}" for key, value in facts.items())]
    facts_text = clean(", ".join(filter(None, named)), _LONG)
    first, *rest = hang(f"{mark} ", f"{verdict}: {facts_text}", style.columns)
    return [style.paint(tone, mark) + first[len(mark) :], *rest]


def _section(title: str, lines: list[str]) -> list[str]:
    return [title, *lines] if lines else []


def _plan(plan: Plan, resolution: Resolution) -> Iterator[tuple[str, str]]:
    yield "python", f"{clean(plan.python)} ({'unchanged' if plan.python_is_stated else 'assumed'})"
    where = "package index" if plan.torch_is_default else plan.torch_index_url
    yield "torch", f"{clean(plan.torch_version)} ({clean(where or 'unchanged')})"
    rows = {
        "triton": plan.triton,
        "vllm": plan.vllm,
        "transformers": plan.transformers,
        "flash-attn": plan.flash_attn,
        "flash-attn-3": plan.flash_attn_3,
        "flash-attn-4": plan.flash_attn_4,
    }
    built = {build.package for build in plan.builds}
    for name, version in rows.items():
        if version:
            yield name, clean(version) + (" (compiled here)" if name in built else "")
        elif name == "flash-attn" and plan.vllm and "flash-attn" not in resolution.wants:
            yield name, "not needed"
    for build in plan.builds:
        have = "present" if build.has_toolkit else "to be installed"
        yield "CUDA toolkit", f"{clean(build.toolkit)} ({have})"


def _points(items: Iterable[str], style: Style) -> list[str]:
    return [
        line for item in items for line in hang(f"{_INDENT}- ", clean(item, _LONG), style.columns)
    ]


def _rejections(items: tuple[Rejection, ...], style: Style) -> list[str]:
    shown = items if style.verbose else items[:_SHOWN]
    lines: list[str] = []
    for item in shown:
        text = item.reason + (f" ({item.helps} would do)" if _is_short(item) else "")
        lines += hang(f"{_INDENT}- ", clean(f"{item.candidate}: {text}", _LONG), style.columns)
        if item.helps and not _is_short(item):
            lines += hang(f"{_INDENT}  ", clean(item.helps, _LONG), style.columns)
    if len(items) > len(shown):
        lines.append(f"{_INDENT}- and {len(items) - len(shown)} more (--verbose)")
    return lines


def _is_short(item: Rejection) -> bool:
    """Whether what would help is a thing to have, and not a sentence of what to do."""
    return bool(item.helps) and not item.helps.endswith(".")


def _check(resolution: Resolution) -> str:
    options = " ".join(f"--require {name}" for name in resolution.require)
    return f"flashdoctor check {options}".rstrip()
