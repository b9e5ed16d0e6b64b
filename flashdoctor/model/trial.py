"""A launch that is tried on a GPU: its settings, the workload, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

Status: TypeAlias = Literal["ran", "out-of-memory", "refused", "timeout", "died"]
STATUSES: tuple[Status, ...] = ("ran", "out-of-memory", "refused", "timeout", "died")


class Trial(NamedTuple):
    """Settings of an engine, as keywords of `vllm.LLM`, and why they are worth a try."""

    name: str
    settings: Mapping[str, Any]
    why: str


class GpuUse(NamedTuple):
    """Memory in use on one GPU, all processes together, sampled while a trial ran.

    `before_mib` is the least that was seen, which is what others hold, and `most_mib` the most.
    """

    gpu: int
    before_mib: int
    most_mib: int
    every_ms: int
    samples: int

    @property
    def rise_gib(self) -> float:
        """What the trial took at the most, in GiB."""
        return (self.most_mib - self.before_mib) / 1024

    def to_json(self) -> dict[str, Any]:
        """Return `{gpu, before_mib, most_mib, every_ms, samples}`."""
        return self._asdict()


class Compared(NamedTuple):
    """A figure of the memory account beside the real one; GiB, or tokens.

    `source` says where the real one comes from.
    """

    name: str
    predicted: float
    real: float
    source: str = ""

    @property
    def error(self) -> float:
        """The prediction's relative error."""
        return (self.predicted - self.real) / self.real if self.real else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return `{name, predicted, real, error, source}`."""
        return {
            "name": self.name,
            "predicted": round(self.predicted, 3),
            "real": self.real,
            "error": round(self.error, 4),
            "source": self.source,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a trial gave.

    `output_tps`: output tokens a second over the whole workload; `ttft_ms` and `tpot_ms`: of one
    request alone. `start_s`: until the engine was ready. `facts`: what its log says of itself, by
    fact path (`engine.kv_tokens`, `engine.weights_gib`, ...). `log`: the file that holds all of it.
    `gpu_use`: None where NVML told nothing. `compared`: the account of these settings beside that.
    """

    trial: Trial
    status: Status
    output_tps: float | None = None
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    start_s: float | None = None
    seconds: float | None = None
    error: str = ""
    cause: str = ""
    log: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    gpu_use: GpuUse | None = None
    compared: tuple[Compared, ...] = ()

    @property
    def ran(self) -> bool:
        """Whether the whole workload was served."""
        return self.status == "ran"

    def to_json(self) -> dict[str, Any]:
        """Return the outcome's object in the tune report."""
        return {
            "name": self.trial.name,
            "settings": dict(self.trial.settings),
            "why": self.trial.why,
            "status": self.status,
            "output_tokens_per_s": self.output_tps,
            "ttft_ms": self.ttft_ms,
            "tpot_ms": self.tpot_ms,
            "start_seconds": self.start_s,
            "seconds": self.seconds,
            "error": self.error,
            "cause": self.cause,
            "log": self.log,
            "engine": dict(self.facts),
            "gpu_memory": self.gpu_use.to_json() if self.gpu_use else None,
            "compared": [item.to_json() for item in self.compared],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All trials of one launch.

    `workload`: `requests`, `prompt_tokens`, `output_tokens`. `best` names the fastest trial, and
    `gain` says how many times as fast as the engine's defaults it was; `same_precision` and
    `same_precision_gain` are these of the trials whose outputs are as those of the defaults.
    `left_out` names trials that the time did not allow; `interrupted`: somebody ended it before.
    `logs` is the folder with what each engine printed.
    """

    workload: Mapping[str, int]
    outcomes: tuple[Outcome, ...]
    best: str | None = None
    gain: float | None = None
    same_precision: str | None = None
    same_precision_gain: float | None = None
    compared: tuple[Compared, ...] = ()
    left_out: tuple[str, ...] = ()
    interrupted: bool = False
    logs: str = ""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the `measured` object of the tune report."""
        return {
            "workload": dict(self.workload),
            "trials": [outcome.to_json() for outcome in self.outcomes],
            "best": self.best,
            "gain": self.gain,
            "same_precision": self.same_precision,
            "same_precision_gain": self.same_precision_gain,
            "compared": [item.to_json() for item in self.compared],
            "left_out": list(self.left_out),
            "interrupted": self.interrupted,
            "logs": self.logs,
            "seconds": round(self.seconds, 1),
        }
