"""Tries launches on this machine's GPU: one engine after another, each in a child that can end.

Running out of memory, a refusal and a hang are results. All that an engine prints goes to a file of
its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from flashdoctor.errors import TargetError
from flashdoctor.model.trial import Measured, Outcome, Status, Trial
from flashdoctor.target.process import Limits
from flashdoctor.target.run import Exchange, exchange, failure
from flashdoctor.tune import trials
from flashdoctor.tune.plan import Decision, Planner

START_S = 900.0
"""Until an engine is ready: weights are read and graphs compiled."""

RUN_S = 900.0
"""How long its workload may take."""


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

    After `minutes` no further trial is begun. Every trial is given the same prompts.
    """
    began = time.monotonic()
    asked = planner.request.workload
    workload = {
        "requests": asked.requests, "prompt_tokens": asked.prompt, "output_tokens": asked.output,
    }  # fmt: skip
    planned, outcomes = trials.trials_of(planner, decision), []
    place = place._replace(logs=new_log_folder(place.logs))
    for number, trial in enumerate(planned):
        if minutes is not None and number > 1 and time.monotonic() - began > 60 * minutes:
            break
        progress(number, len(planned), trial.name)
        outcome = run_trial(place, trial, workload, prompts=prompts)
        outcomes.append(_with_log(outcome, diagnose))
    best = trials.best_of(outcomes)
    chosen = next((item for item in outcomes if item.trial.name == trials.CHOSEN), None)
    account = trials.account_of(planner, decision)
    return Measured(
        workload=workload,
        outcomes=tuple(outcomes),
        best=best.trial.name if best else None,
        gain=trials.gain_of(best, outcomes) if best else None,
        compared=trials.compare(account, chosen.facts) if chosen else (),
        left_out=tuple(trial.name for trial in planned[len(outcomes) :]),
        logs=str(place.logs),
        seconds=time.monotonic() - began,
    )


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
    limits = Limits(timeout_s=START_S + RUN_S, silence_s=START_S)
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
