"""A live import in a child: what torch, CUDA and the extensions say when they are really loaded.

A crash, a hang or an exception of one step is a result; the steps behind it get a new child. A
guest may use the first child once a kernel of torch has run in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from flashdoctor.errors import TargetError
from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.target.collect import Collected
from flashdoctor.target.process import Limits
from flashdoctor.target.report import checked, facts_of
from flashdoctor.target.run import Exchange, describe_status, exchange, failure, last_words

TIMEOUT_S = 180.0
SILENCE_S = 60.0

_SOURCE = "import of torch"
_GUEST_STEP = "smoke"
_FIRST_STEPS = frozenset({"cuda", "kernel", _GUEST_STEP})
_MODULE_NAMES: Mapping[str, str] = {
    "vllm": "vllm._C",
    "vllm.fa2": "vllm.vllm_flash_attn._vllm_fa2_C",
    "vllm.fa3": "vllm.vllm_flash_attn._vllm_fa3_C",
    "xformers": "xformers._C",
}


class Guest(Protocol):
    """What else runs in the first child, where torch has started already: the smoke agent."""

    @property
    def limit_s(self) -> float:
        """How long it may take in all."""

    def options(self) -> Mapping[str, Any]:
        """Return its options of the smoke agent."""

    def hear(self, event: Mapping[str, Any]) -> float | None:
        """Take an event; return how long the child may be silent after it."""

    def close(self, done: Exchange) -> None:
        """Read how the child ended."""


class Import(NamedTuple):
    """A module to import, or an extension `file` to load without the package around it.

    vLLM's package takes seconds to import and much else with it; its extension does not.
    """

    module: str
    file: str | None = None


def plan_imports(collected: Collected) -> tuple[Import, ...]:
    """Return what of the attention stack is installed and can be loaded, cheapest first."""
    planned = []
    if collected.value("triton.version"):
        planned.append(Import(module="triton"))
    if collected.value("flash_attn.extension_present"):
        planned += [Import(module="flash_attn_2_cuda"), Import(module="flash_attn")]
    fa3 = collected.value("flash_attn_3.module")
    if fa3:
        planned.append(
            Import(module="flash_attn_3.flash_attn_interface" if fa3 == "flash_attn_3" else fa3)
        )
    files = collected.files.get("extensions", {})
    planned += [
        Import(module=module, file=files[name])
        for name, module in _MODULE_NAMES.items()
        if name in files
    ]
    if collected.value("flash_attn_4.version"):
        planned.append(Import(module="flash_attn.cute"))
    return tuple(planned)


def run_live(  # noqa: PLR0913 - what to import, in what, for how long, and who comes along
    python: str | Path,
    *,
    imports: Sequence[Import] = (),
    environ: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
    silence_s: float = SILENCE_S,
    guest: Guest | None = None,
) -> tuple[Fact, ...]:
    """Import torch and then `imports` in children; return the live.* facts.

    `timeout_s` for everything but the guest, `silence_s` for one step. Never raises for what the
    target does.
    """
    run = _LiveRun(imports, guest, _Clock(timeout_s, silence_s))
    while run.goes_on:
        limits = Limits(timeout_s=run.limit_s(), silence_s=silence_s)
        try:
            done = exchange(
                python, "live", limits=limits, options=run.options(), environ=environ,
                watch=run.hear,
            )  # fmt: skip
        except TargetError as error:
            return not_run(error.message)
        run.take(done)
    return run.facts()


def not_run(reason: str) -> tuple[Fact, ...]:
    """Return the facts of a live import that did not take place."""
    rest = [path for path in FACTS if path.startswith("live.") and path != "live.status"]
    return (
        known("live.status", "not-run", _SOURCE),
        *(unknown(path, reason, _SOURCE) for path in rest),
    )


class _Clock:
    """The time for all steps, which stands still while a guest has the child."""

    def __init__(self, timeout_s: float, silence_s: float) -> None:
        self._silence_s = silence_s
        self._deadline = time.monotonic() + timeout_s
        self._stopped: float | None = None

    def stop(self) -> None:
        """Stop where it does not stand already."""
        self._stopped = time.monotonic() if self._stopped is None else self._stopped

    def go_on(self) -> None:
        """Go on where it stands."""
        if self._stopped is not None:
            self._deadline += time.monotonic() - self._stopped
            self._stopped = None

    def left_s(self) -> float:
        """Return what is left."""
        return self._deadline - time.monotonic()

    def step_s(self) -> float:
        """Return how long a step may take."""
        return min(self._silence_s, self.left_s())


class _LiveRun:
    """What is known after the children so far, and what is left for the next one."""

    def __init__(self, imports: Sequence[Import], guest: Guest | None, clock: _Clock) -> None:
        self._left = list(imports)
        self._guest, self._clock = guest, clock
        self._facts: dict[str, Fact] = {}
        self._records: list[dict[str, Any]] = []
        self._children = 0
        self._moves = True

    @property
    def goes_on(self) -> bool:
        """Whether another child has something left to do, and time to do it."""
        return self._moves and self._clock.left_s() > 0

    def limit_s(self) -> float:
        """Return how long the next child may take."""
        extra_s = self._guest.limit_s if self._guest and not self._children else 0
        return self._clock.left_s() + extra_s

    def options(self) -> dict[str, Any]:
        imports = [{"module": i.module, "file": i.file} for i in self._left]
        options: dict[str, Any] = {"facts": self._children == 0, "imports": imports}
        if self._guest and not self._children:
            options["smoke"] = dict(self._guest.options())
        return options

    def hear(self, report: Mapping[str, Any]) -> float | None:
        """Hand the guest what is its own; return how long the child may be silent."""
        event = report.get("event")
        if self._guest and report.get("step") == _GUEST_STEP and isinstance(event, Mapping):
            self._clock.stop()
            return self._guest.hear(event)
        self._clock.go_on()
        return self._clock.step_s()

    def take(self, done: Exchange) -> None:
        """Read one child's reports, and whether there is something left for another one."""
        step, finished = "start", False
        self._clock.go_on()
        if self._guest and not self._children:
            self._guest.close(done)
        self._children += 1
        before = len(self._left)
        for report in done.reports:
            if report.get("step") == "begin":
                step = str(report.get("name"))
            elif report.get("step") == "facts":
                self._add(facts_of(report))
            elif report.get("step") == "import":
                self._record(report.get("record"))
            finished = finished or report.get("step") == "end"
        if not finished:
            self._died(step, done)
        moved_on = len(self._left) < before or (self._children == 1 and step in _FIRST_STEPS)
        self._moves = bool(self._left) and not finished and moved_on

    def _add(self, facts: Iterable[Fact]) -> None:
        self._facts |= {fact.path: fact for fact in facts if fact.path.startswith("live.")}

    def _record(self, record: Any) -> None:
        rows = checked(FACTS["live.imports"], [record])
        if rows and self._left and rows[0].get("module") == self._left[0].module:
            self._left.pop(0)
            self._records += rows

    def _died(self, step: str, done: Exchange) -> None:
        """Record a child that ended inside a step; `start` is before torch's import began."""
        if step == _GUEST_STEP:
            return
        status, error = _ending(step, done)
        if self._left and step == self._left[0].module:
            module = self._left.pop(0).module
            self._records.append({"module": module, "status": status, "error": error})
        elif self._children == 1:
            self._add([known("live.status", status, _SOURCE), known("live.error", error, _SOURCE)])
            if step == "kernel":
                self._add([known("live.kernel_ran", False, _SOURCE)])
                self._add([known("live.kernel_error", error, _SOURCE)])

    def facts(self) -> tuple[Fact, ...]:
        """Return all facts; what no child came to say is unknown."""
        records = [*self._records, *({"module": i.module, "status": "not-run"} for i in self._left)]
        self._facts["live.imports"] = known("live.imports", records, _SOURCE)
        rest = [path for path in FACTS if path.startswith("live.") and path not in self._facts]
        return (*self._facts.values(), *(self._unsaid(path) for path in rest))

    def _unsaid(self, path: str) -> Fact:
        held = {fact.path: fact.value for fact in self._facts.values()}
        if (path == "live.error" and held.get("live.status") == "ok") or (
            path == "live.kernel_error" and held.get("live.kernel_ran")
        ):
            return absent(path, _SOURCE)
        without_gpu = held.get("live.cuda_available") is False
        reason = "CUDA has not started" if without_gpu else "the import did not come that far"
        return unknown(path, reason, _SOURCE)


def _ending(step: str, done: Exchange) -> tuple[str, str]:
    """Return (status, words) of a child that did not finish."""
    where = "before torch was imported" if step == "start" else f"in the step `{step}`"
    if done.ended.reason == "timeout":
        return "timeout", f"no answer {where} after {done.ended.seconds:.0f} s"
    if not done.reports or done.too_old is not None:
        return "crashed", failure(done).message
    said = last_words(done.ended.stderr)
    how = describe_status(done.ended.status or 0)
    return "crashed", f"the process {how} {where}" + (f": {said}" if said else "")
