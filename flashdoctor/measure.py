"""Tries launches on this machine's GPU: one engine after another, each in a child that can end.

Running out of memory, a refusal and a hang are results. All that an engine prints goes to a file of
its own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.errors import TargetError
from flashdoctor.model.trial import Measured, Outcome, Status, Trial
from flashdoctor.probes.memory_watch import watch_memory
from flashdoctor.target.process import Limits
from flashdoctor.target.run import Exchange, exchange, failure
from flashdoctor.tune import trials
from flashdoctor.tune.plan import Decision, Planner

START_S = 900.0
"""Until an engine is ready: weights are read and graphs compiled."""

RUN_S = 900.0
"""How long its workload may take."""

RESULTS = "results.json"
"""The file beside the logs: the `measured` object of the tune report, as far as it has come."""

Progress: TypeAlias = Callable[[int, int, str], None]
Diagnose: TypeAlias = Callable[[bytes], str]
"""Names the cause that a log shows; an empty text where it shows none."""

_MEMORY = frozenset(
    {"kv-cache-no-memory", "kv-cache-too-small-for-max-model-len", "cuda-out-of-memory",
     "cuda-graph-capture-oom", "gpu-memory-held-by-others"}
)  # fmt: skip
_MOST_LOG = 4 << 20


class Place(NamedTuple):
    """Where trials run: the Python with vLLM, the model's folder, and where the logs go.

    `measure` makes a new folder in there for its own.
    """

    python: Path
    model: str
    logs: Path


def measure(  # noqa: PLR0913 - what is tried, where, for how long, and who is told
    planner: Planner,
    decision: Decision,
    place: Place,
    *,
    diagnose: Diagnose,
    prompts: Sequence[str] = (),
    minutes: float | None = None,
    progress: Progress = lambda _done, _total, _name: None,
) -> Measured:
    """Try the engine's defaults, what was chosen and its neighbours, and compare.

    The defaults and what was chosen are always tried, a neighbour only where it should end within
    `minutes`. Every trial is given the same prompts. Ctrl-C ends it: what was measured
    until then is returned, and after each trial it is in a file beside the logs.
    """
    place = place._replace(logs=new_log_folder(place.logs))
    planned = trials.trials_of(planner, decision)
    asked = planner.request.workload
    workload = {
        "requests": asked.requests, "prompt_tokens": asked.prompt, "output_tokens": asked.output,
    }  # fmt: skip
    clock, outcomes = _Clock(minutes), list[Outcome]()
    result = _result(workload, planned, outcomes, place, clock)
    try:
        for number, one in enumerate(planned):
            limit_s = clock.limit_s(always=_is_asked_for(one))
            if limit_s is None:
                break
            progress(number, len(planned), one.trial.name)
            outcomes.append(
                _tried(place, one, workload, prompts, diagnose=diagnose, limit_s=limit_s)
            )
            clock.next()
            result = _result(workload, planned, outcomes, place, clock)
            _keep(result, place.logs / RESULTS)
    except KeyboardInterrupt:
        result = replace(result, interrupted=True, seconds=clock.seconds)
    return result


class _Clock:
    """The time that is left for trials, judged by what the last one took."""

    def __init__(self, minutes: float | None) -> None:
        self._budget_s = None if minutes is None else 60 * minutes
        self._began = self._last = time.monotonic()
        self._took_s = 0.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def next(self) -> None:
        """Note that a trial has ended."""
        now = time.monotonic()
        self._took_s, self._last = now - self._last, now

    def limit_s(self, *, always: bool) -> float | None:
        """Return how long the next trial may take, None where there is no time for it."""
        if self._budget_s is None or always:
            return START_S + RUN_S
        left_s = self._budget_s - self.seconds
        return left_s if left_s > self._took_s else None


def _is_asked_for(planned: trials.Planned) -> bool:
    return planned.trial.name in {trials.DEFAULT, trials.SAME_PRECISION, trials.CHOSEN}


def _tried(  # noqa: PLR0913 - one trial, all that may be said of it
    place: Place,
    planned: trials.Planned,
    workload: Mapping[str, int],
    prompts: Sequence[str],
    *,
    diagnose: Diagnose,
    limit_s: float,
) -> Outcome:
    """Run a trial, and add what its log and the GPU's memory say."""
    with watch_memory() as watch:
        ended = run_trial(place, planned.trial, workload, prompts=prompts, limit_s=limit_s)
    outcome, use = _with_log(ended, diagnose), watch.use()
    compared = trials.compare(planned.account, outcome.facts, use if outcome.ran else None)
    return replace(outcome, gpu_use=use, compared=compared)


def _result(
    workload: Mapping[str, int],
    planned: Sequence[trials.Planned],
    outcomes: Sequence[Outcome],
    place: Place,
    clock: _Clock,
) -> Measured:
    """Return what the trials up to now say."""
    best = trials.best_of(outcomes)
    same = trials.best_of(trials.same_precision(outcomes))
    chosen = next((item for item in outcomes if item.trial.name == trials.CHOSEN), None)
    return Measured(
        workload=workload,
        outcomes=tuple(outcomes),
        best=best.trial.name if best else None,
        gain=trials.gain_of(best, outcomes) if best else None,
        same_precision=same.trial.name if same else None,
        same_precision_gain=trials.gain_of(same, outcomes) if same else None,
        compared=chosen.compared if chosen else (),
        left_out=tuple(one.trial.name for one in planned[len(outcomes) :]),
        logs=str(place.logs),
        seconds=clock.seconds,
    )


def _keep(result: Measured, file: Path) -> None:
    """Write what is known beside the logs; a full disk is no reason to stop."""
    with suppress(OSError):
        file.write_text(json.dumps(result.to_json(), indent=2) + "\n", encoding="utf-8")


def _with_log(outcome: Outcome, diagnose: Diagnose) -> Outcome:
    """Add what the engine's log says: its own figures, and the cause where it failed."""
    try:
        with Path(outcome.log).open("rb") as file:
            text = file.read(_MOST_LOG)
    except OSError:
        return outcome
    facts = trials.read_engine(text.decode("utf-8", "replace"))
    cause = "" if outcome.ran else diagnose(text)
    status: Status = outcome.status
    if status in {"refused", "died"} and cause in _MEMORY:
        status = "out-of-memory"
    return replace(outcome, status=status, cause=cause, facts=facts)


def run_trial(  # noqa: PLR0913 - one trial, all that may be said of it
    place: Place,
    trial: Trial,
    workload: Mapping[str, int],
    *,
    prompts: Sequence[str] = (),
    seed: int = 0,
    environ: Mapping[str, str] | None = None,
    limit_s: float | None = None,
) -> Outcome:
    """Start the engine, run the workload, end it. Never raises for what the target does.

    `workload`: `requests`, `prompt_tokens`, `output_tokens`. The log is read by the caller.
    """
    log = place.logs / f"{trial.name}.log"
    options = {
        "model": place.model,
        "settings": dict(trial.settings),
        "workload": dict(workload),
        "prompts": list(prompts),
        "seed": seed,
        "log": str(log),
    }
    whole_s = START_S + RUN_S if limit_s is None else limit_s
    limits = Limits(timeout_s=whole_s, silence_s=START_S)
    try:
        done = exchange(
            place.python, "measure", limits=limits, options=options, environ=environ,
            watch=lambda event: RUN_S if event.get("event") == "ready" else None,
        )  # fmt: skip
    except TargetError as error:
        return Outcome(trial=trial, status="died", error=error.message)
    return read_outcome(trial, done, str(log))


def read_outcome(trial: Trial, done: Exchange, log: str) -> Outcome:
    """Return what the reports of one run say; a run without an end has died or hung."""
    events = {str(report.get("event")): report for report in done.reports}
    result, failed = events.get("result"), events.get("failed")
    start_s = _number(events.get("ready", {}).get("seconds"))
    if result is not None:
        return Outcome(
            trial=trial,
            status="ran",
            output_tps=_number(result.get("output_tokens_per_s")),
            ttft_ms=_number(result.get("ttft_ms")),
            tpot_ms=_number(result.get("tpot_ms")),
            seconds=_number(result.get("seconds")),
            start_s=start_s,
            log=log,
        )
    if failed is not None:
        status: Status = "out-of-memory" if failed.get("out_of_memory") else "refused"
        return Outcome(
            trial=trial, status=status, error=str(failed.get("error", "")), start_s=start_s, log=log
        )
    hung = done.ended.reason == "timeout"
    return Outcome(
        trial=trial,
        status="timeout" if hung else "died",
        error=failure(done).message,
        start_s=start_s,
        log=log,
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def new_log_folder(parent: Path) -> Path:
    """Make the first free folder of `trials-1`, `trials-2`, ...; logs of before stay."""
    for number in count(1):
        folder = parent / f"trials-{number}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700, parents=True)
            break
    return folder
