"""Fixes as plans: the commands that install what mends a report's findings on this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from flashdoctor.data.tables import Tables
from flashdoctor.model import versions
from flashdoctor.model.finding import Advice, Finding, Remedy, Report
from flashdoctor.model.plan import Installer, Plan, Rejection
from flashdoctor.model.regex import regex
from flashdoctor.model.rule import Rule
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.resolve.commands import partial_commands, restore_fa4
from flashdoctor.resolve.fixes import NAMES, OF_THE_SYSTEM, OWN, PURE, is_open, is_target, sentence
from flashdoctor.resolve.rejections import want_obstacles
from flashdoctor.resolve.repair import Repair, find_repair
from flashdoctor.resolve.wants import PATHS, Want

_INSTALLS = regex(
    r"\b(?:pip3?|uv pip) install\b.*?[\s\"'](?:torch|vllm|flash-attn|flash-attn-4|transformers)"
    r"(?:[\s\"'=<>~!\[]|$)|releases/download/\S+\.whl"
)
_DISTRIBUTIONS = {"fa3": "flash-attn-3", "fa4": "flash-attn-4"}
_COMPANIONS = ("torchvision", "torchaudio")


def planned(
    report: Report, sure: Snapshot, tables: Tables, rules: Sequence[Rule]
) -> tuple[Finding, ...]:
    """Return the findings of a report, mended by the plan with the least change where there is one.

    Nothing is planned on facts that are not in `sure`.
    """
    found = find_repair(report._replace(snapshot=sure), tables, rules)
    if isinstance(found, Repair):
        return tuple(_planned_fixes(report, found))
    return tuple(_unmended(item, found) for item in report.findings)


def _planned_fixes(report: Report, found: Repair) -> Iterator[Finding]:
    """Give the plan to the first finding that it mends; the others refer to that one."""
    root = found.targets[0]
    mended = _mended(report.findings, found)
    for finding in report.findings:
        if finding.id == root.id:
            yield finding._replace(fix=_exact(finding.fix, found, mended, report.required))
        elif finding.id in mended and _acts(finding):
            text = f"{finding.fix.text} The commands of {root.id} mend this as well."
            fix = finding.fix._replace(text=text, commands=(), healed_by=root.id)
            yield finding._replace(fix=fix)
        elif finding.id not in mended and is_target(finding):
            yield _left(finding, found)
        else:
            yield finding


def _left(finding: Finding, found: Repair) -> Finding:
    """Take the install commands from what stays wrong with the plan: they would undo it, or fail.

    A plan that leaves an error is only taken where none mends all of them.
    """
    want = Want(str(finding.fix.package))
    obstacles = tuple(want_obstacles(found.machine, (want,), ()))
    if obstacles or finding.severity == "error":
        return _unmended(finding, obstacles, f" beside what {found.targets[0].id} installs")
    return finding


def _acts(finding: Finding) -> bool:
    """Whether it asks for something to be done, which the plan already does."""
    return finding.severity != "info" and (is_target(finding) or bool(finding.fix.commands))


def _mended(findings: Sequence[Finding], found: Repair) -> tuple[str, ...]:
    """Return the findings that are gone with the plan: what it is for, and what then passes.

    What follows from them is gone too where nothing can say so but another run.
    """
    targets = {item.id for item in found.targets}
    mended = [
        item.id
        for item in findings
        if item.id in targets
        or (is_target(item) and item.id not in found.left)
        or item.id in found.passed
        or (item.follows in targets and item.id not in found.left)
    ]
    return tuple(mended)


def _exact(fix: Advice, found: Repair, mended: tuple[str, ...], needed: Collection[str]) -> Advice:
    move, facts = found.move, found.machine.installed
    plan = move.plan
    stale = [*_gone(found), *_replaced(found)]
    companions = [
        name
        for name in _COMPANIONS
        if "torch" in move.changed and facts[f"{name}.version"].is_known
    ]
    uses_uv = facts.value("python.pip") is False
    installer: Installer = "uv" if uses_uv else "pip"
    lines = [*partial_commands(plan, installer, tuple(stale), move.changed, tuple(companions))]
    own_fa4 = facts.value(PATHS["fa4"])
    if own_fa4 and "flash-attn" in stale and "fa4" not in move.changed:
        lines.append(restore_fa4(own_fa4, installer))
    left = _left_open(found, needed)
    return fix._replace(
        text=" ".join([fix.text, *_story(found, left)]),
        commands=tuple(lines),
        safety="disruptive",
        plan=Remedy(_releases(plan, move.changed), _gone(found), move.assume, mended),
        leaves_open=left,
    )


def _left_open(found: Repair, needed: Collection[str]) -> tuple[str, ...]:
    """Return what nobody stated: of the machine, and of the packages that are to work."""
    asked = [OWN[component] for component in needed if component in OWN]
    system = ("python.version",) if found.move.changed <= PURE else OF_THE_SYSTEM
    paths = (*asked, *system)
    facts, tables = found.machine.installed, found.machine.tables
    return tuple(path for path in paths if is_open(path, facts, tables))


def _gone(found: Repair) -> tuple[str, ...]:
    return tuple(_DISTRIBUTIONS.get(name, name) for name in found.move.removed)


def _replaced(found: Repair) -> Iterator[str]:
    """Yield what pip has to forget first: it takes a build of the same release for the new one."""
    own = found.machine.installed
    for name in ("flash-attn", "fa3"):
        if name in found.move.changed and own[PATHS[name]].state != "absent":
            yield _DISTRIBUTIONS.get(name, name)


def _releases(plan: Plan, changed: Collection[str]) -> dict[str, str]:
    every = {
        "torch": plan.torch_version,
        "vllm": plan.vllm,
        "transformers": plan.transformers,
        "flash-attn": plan.flash_attn,
        "fa3": plan.flash_attn_3,
        "fa4": plan.flash_attn_4,
    }
    new = {name: version for name, version in every.items() if version and name in changed}
    return {_DISTRIBUTIONS.get(name, name): version for name, version in new.items()}


def _story(found: Repair, left: Sequence[str]) -> Iterator[str]:
    """Yield what the plan does, in sentences."""
    move = found.move
    new = [f"{n} {v}" for n, v in _releases(move.plan, move.changed).items()]
    yield f"Here the commands install {sentence(new)}{_staying(found)}."
    for name in _gone(found):
        yield f"The installed {name} was compiled for the torch that goes, and goes with it."
    for build in move.plan.builds:
        have = "which is here" if build.has_toolkit else "which has to be there first"
        yield (
            f"No official wheel fits, so {build.package} is compiled with nvcc of CUDA "
            f"{build.toolkit}, {have}."
        )
    if left:
        yield f"Not known here, and left open: {sentence([NAMES[path] for path in left])}."


def _staying(found: Repair) -> str:
    own, changed = found.machine.installed, found.move.changed
    kept = [
        f"{_DISTRIBUTIONS.get(name, name)} {versions.public(own.value(path))}"
        for name, path in PATHS.items()
        if own[path].is_known and name not in changed and name not in found.move.removed
    ]
    if not kept:
        return ""
    return f"; {sentence(kept)} {'stays' if len(kept) == 1 else 'stay'}"


def _unmended(finding: Finding, obstacles: Sequence[Rejection], where: str = "") -> Finding:
    """Leave out of a fix what would not mend it, and say what stands in the way of a plan."""
    fix = finding.fix
    if not is_target(finding):
        return finding
    kept = tuple(line for line in fix.commands if not _INSTALLS.search(line))
    first = next((item for item in obstacles if item.helps.startswith("driver")), None)
    first = first or next(iter(obstacles), None)
    why = f": {first.candidate}: {first.reason}" if first else ""
    text = f"{fix.text} No releases in the tables mend it on this machine as it is{where}{why}."
    return finding._replace(fix=fix._replace(text=text.replace("..", "."), commands=kept))
