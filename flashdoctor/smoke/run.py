"""Run cases in children of the target Python; a death or a hang is a result, the rest goes on.

One child runs all but the cases that compile for seconds: where there is room, each of those has a
child of its own beside the others.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from flashdoctor.errors import TargetError
from flashdoctor.model.smoke import Case
from flashdoctor.target.beside import Beside
from flashdoctor.target.process import Limits, kill_running
from flashdoctor.target.run import Exchange, describe_status, exchange, failure, last_words

Event: TypeAlias = Mapping[str, Any]
Progress: TypeAlias = Callable[[int, int, str], None]
"""Gets how many cases are done, of how many, and what is at work now."""

START_S = 180.0
"""How long torch's import and CUDA's start may take together."""

_END_S = 30.0  # from a result to the next event; no case is at work then
_LONGEST_S = 3600.0
_CORES = 4  # with fewer, two children only hold each other up


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeRun:
    """What the children said: one result a case, in the order of the cases.

    `start` is the first child's; `error`: why none came as far as its start. `seconds` by the
    clock, all children included. `interrupted` says what was at work when somebody ended the run;
    `cases` are then those that had ended.
    """

    results: tuple[Event, ...]
    cases: tuple[Case, ...] = ()
    start: Event = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0
    children: int = 0
    interrupted: str = ""


def run_cases(
    python: str | Path,
    cases: Sequence[Case],
    *,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress = lambda _done, _total, _name: None,
) -> SmokeRun:
    """Run the cases. Never raises for what the target does.

    `options` go to the agent besides the cases: `quick`, `model_dir`, `trust_remote_code`. Each
    run has fresh random inputs unless `options` has a `seed`. Ctrl-C ends the children as well; it
    is raised where no case had ended, else the run holds those that had.
    """
    began = time.monotonic()
    settings = {"seed": int.from_bytes(os.urandom(4), "big"), **(options or {})}
    count, works = _Count(len(cases), progress), list[_Work]()

    def run(lane: Sequence[Case]) -> SmokeRun:
        works.append(_Work(lane, settings, count))
        return _finish(works[-1], python, environ)

    try:
        done = _run_lanes(cases, run)
    except KeyboardInterrupt:
        told = _interrupted(cases, works)
        kill_running()
        if told is None:
            raise
        done = told
    except BaseException:
        kill_running()
        raise
    return replace(done, seconds=time.monotonic() - began)


def _run_lanes(cases: Sequence[Case], run: Callable[[Sequence[Case]], SmokeRun]) -> SmokeRun:
    first, *others = _lanes(cases)
    beside = [Beside(partial(run, lane)) for lane in others]
    runs = [run(first), *(thread.result() for thread in beside)]
    return _merge(cases, _again(runs, run))


def _interrupted(cases: Sequence[Case], works: Sequence[_Work]) -> SmokeRun | None:
    """Return what had ended, None where nothing had.

    What found the GPU taken would have run anew, so it had not; nor is its start anybody's else.
    """
    busy = [work.current for work in works if work.current]
    runs = [work.so_far() for work in works]
    runs = [item for item in runs if item.start and not _is_refused(item)] or runs
    ended = {case.name for item in runs for case in item.cases}
    if not ended:
        return None
    words = " at ".join(["interrupted", *([", ".join(busy)] if busy else [])])
    words = f"{words}; {len(ended)} of {len(cases)} cases had ended"
    merged = _merge([case for case in cases if case.name in ended], runs)
    return replace(merged, interrupted=words)


class Guest:
    """Cases that begin in a child which has imported torch for something else (target/live.py).

    What is left undone there gets children of its own.
    """

    def __init__(self, cases: Sequence[Case], options: Mapping[str, Any] | None = None) -> None:
        self.limit_s = sum(case.limit_s + _END_S for case in cases)
        settings = {"seed": int.from_bytes(os.urandom(4), "big"), **(options or {})}
        self._work = _Work(cases, settings, _Count(len(cases), lambda *_: None))
        self._work.begin()

    def options(self) -> Mapping[str, Any]:
        """Return the options of the agent."""
        return self._work.options()

    def hear(self, event: Event) -> float | None:
        """Take an event; return how long the child may be silent after it."""
        return self._work.hear(event)

    def close(self, done: Exchange) -> None:
        """Read how the child ended; where it ended before the cases, nothing has become of them."""
        if self._work.started:
            self._work.close(done)

    def finish(self, python: str | Path, environ: Mapping[str, str] | None = None) -> SmokeRun:
        """Run what is left, and return all of it."""
        return _finish(self._work, python, environ)


def _lanes(cases: Sequence[Case]) -> list[list[Case]]:
    """Return the cases of each child; the first one's may be none."""
    many = (os.cpu_count() or 1) >= _CORES
    alone = [case for case in cases if case.alone and many]
    together = [case for case in cases if case not in alone]
    lanes = [together] if together or not alone else []
    return [*lanes, *([case] for case in alone)]


def _again(runs: list[SmokeRun], run: Callable[[Sequence[Case]], SmokeRun]) -> list[SmokeRun]:
    """Run anew what found the GPU taken by another child, as in its exclusive mode."""
    started = [item for item in runs if not _is_refused(item)]
    refused = [item for item in runs if item not in started]
    return [*started, *(run(item.cases) for item in refused)] if started else runs


def _is_refused(item: SmokeRun) -> bool:
    return bool(item.start.get("error") or item.error)


def _merge(cases: Sequence[Case], runs: Sequence[SmokeRun]) -> SmokeRun:
    by_name = {event["name"]: event for item in runs for event in item.results}
    return SmokeRun(
        cases=tuple(cases),
        results=tuple(by_name[case.name] for case in cases),
        start=runs[0].start,
        error=runs[0].error,
        children=sum(item.children for item in runs),
    )


class _Count:
    """How many cases of all lanes are done, said to whoever shows progress."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._total, self._progress = total, progress
        self._done = 0
        self._lock = threading.Lock()

    def show(self, what: str, done: int = 0) -> None:
        """Count `done` more, and say what is at work."""
        with self._lock:
            self._done += done
            if what:
                self._progress(min(self._done, self._total), self._total, what)


def _finish(work: _Work, python: str | Path, environ: Mapping[str, str] | None) -> SmokeRun:
    """Run cases in one child as long as it lives, and the rest in the next one."""
    while work.left:
        limits = Limits(timeout_s=_LONGEST_S, silence_s=START_S)
        work.begin()
        try:
            done = exchange(
                python, "smoke", limits=limits, options=work.options(), environ=environ,
                watch=work.hear,
            )  # fmt: skip
        except TargetError as error:
            work.give_up(error.message)
            break
        work.close(done)
    return work.result()


class _Work:
    """What the children have said so far, and what is left for the next one."""

    def __init__(self, cases: Sequence[Case], options: Mapping[str, Any], count: _Count) -> None:
        self.left = list(cases)
        self._cases = tuple(cases)
        self._options = options
        self._count = count
        self._results: dict[str, Event] = {}
        self._start: Event = {}
        self._error = ""
        self._children = 0
        self.current = ""

    def options(self) -> dict[str, Any]:
        """Return the options of the next child."""
        return {**self._options, "cases": [case.to_agent() for case in self.left]}

    def begin(self) -> None:
        """Get ready for a child."""
        self._children += 1
        self.started, self._finished, self._went_on, self.current = False, False, False, ""
        self._count.show("starting torch")

    def hear(self, event: Event) -> float | None:
        """Take an event; return how long the child may be silent after it."""
        kind, name = event.get("event"), str(event.get("name", ""))
        if kind == "start":
            self.started = True
            self._start = self._start or event
        elif kind == "begin" and self._case(name):
            self.current = name
            self._count.show(name)
            return self._limit(name)
        elif kind == "result" and self._case(name):
            self._keep(name, event)
        elif kind == "end":
            self._finished = True
        return _END_S

    def _case(self, name: str) -> Case | None:
        return next((case for case in self.left if case.name == name), None)

    def _limit(self, name: str) -> float:
        case = self._case(name)
        return case.limit_s if case else _END_S

    def _keep(self, name: str, event: Event) -> None:
        self._results[name] = event
        self._went_on = True
        self._count.show("", done=1)
        self.left = [case for case in self.left if case.name != name]
        self.current = ""

    def close(self, done: Exchange) -> None:
        """Read how a child ended: what it left undone is the next one's, but for its last case.

        After any result, a case that did not begin gets another child.
        """
        if not self.started:
            self.give_up(failure(done).message)
        elif self.left and (self.current or self._finished or not self._went_on):
            name = self.current or self.left[0].name
            self._keep(name, self._ending(name, done))

    def _ending(self, name: str, done: Exchange) -> Event:
        """Return the result of a case in which the child ended, or that it left out."""
        if done.ended.reason == "timeout":
            limit_s = self._limit(name)
            status, words = "timeout", f"no result within {limit_s:g} s; the process was killed"
        elif done.ended.reason == "overflow":
            status, words = "died", "the process printed without end and was killed"
        elif self._finished:
            status, words = "error", "the agent left this case out"
        else:
            said = last_words(done.ended.stderr)
            words = f"the process {describe_status(done.ended.status or 0)}"
            status, words = "died", f"{words}: {said}" if said else words
        return {"event": "result", "name": name, "status": status, "messages": [words]}

    def give_up(self, error: str) -> None:
        """Leave all that is left undone: no child comes as far as its start."""
        self._error = error
        for case in list(self.left):
            self._keep(case.name, {"name": case.name, "status": "not-run", "messages": [error]})

    def result(self) -> SmokeRun:
        """Return all of it."""
        return self._run(self._cases)

    def so_far(self) -> SmokeRun:
        """Return what has ended up to now."""
        ended = dict(self._results)
        return self._run(tuple(case for case in self._cases if case.name in ended))

    def _run(self, cases: tuple[Case, ...]) -> SmokeRun:
        return SmokeRun(
            cases=cases,
            results=tuple(self._results[case.name] for case in cases),
            start=self._start,
            error=self._error,
            children=self._children,
        )
