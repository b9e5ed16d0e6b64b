"""What `tune` answers: the launch, where the memory goes, and what else could be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flashdoctor.model.finding import Finding
from flashdoctor.model.trial import Measured

SCHEMA = "flashdoctor/tune/v1"


class Attention(NamedTuple):
    """The backend (None: no one knows, or none is left), the FlashAttention in it, and why.

    `objections`: what speaks against each backend that stood before the one taken. `refused`: vLLM
    would not start, and `why` is what it says.
    """

    backend: str | None
    fa_version: int | None
    why: str
    source: str
    objections: tuple[tuple[str, str], ...] = ()
    refused: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the `attention` object of the tune contract."""
        return {
            "backend": self.backend,
            "fa_version": self.fa_version,
            "why": self.why,
            "source": self.source,
            "rejected": [{"backend": name, "why": why} for name, why in self.objections],
        }


class Choice(NamedTuple):
    """One flag or variable: `value` None stands for a switch, `why` and `source` for the reason."""

    name: str
    value: str | None
    why: str
    source: str

    def to_json(self) -> dict[str, Any]:
        """Return `{name, value, why, source}`."""
        return self._asdict()


class Proposal(NamedTuple):
    """Something that was not chosen: what to add or change, and what it would bring.

    `option` is what flashdoctor is to be told (`--allow fp8-kv`), where it can be.
    """

    text: str
    option: str = ""
    changes_output: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return `{text, option, changes_output}`."""
        return self._asdict()


class MemoryAccount(NamedTuple):
    """Where the memory of one GPU goes, in GiB; the cache in tokens.

    `graphs_inside`: whether the budget pays for CUDA graphs, or the rest of the GPU does.
    """

    total_gib: float
    budget_gib: float
    weights_gib: float
    activation_gib: float
    non_torch_gib: float
    graphs_gib: float
    graphs_inside: bool
    kv_gib: float
    kv_bytes_per_token: int
    kv_tokens: int
    max_model_len: int
    longest_model_len: int
    concurrency: float
    others_gib: float = 0.0
    """What other processes hold."""

    def to_json(self) -> dict[str, Any]:
        """Return the `memory` object of the contract."""
        return self._asdict()

    def parts(self) -> dict[str, float]:
        """Return what takes memory, in GiB; `CUDA graphs` come on top of the budget or not."""
        return {
            "weights": self.weights_gib,
            "activations": self.activation_gib,
            "CUDA and libraries": self.non_torch_gib,
            "CUDA graphs": self.graphs_gib,
            "KV cache": max(self.kv_gib, 0.0),
            "other processes": self.others_gib,
        }

    @property
    def left_gib(self) -> float:
        """What nobody takes; below 0 where the parts are more than the GPU has."""
        return self.total_gib - sum(self.parts().values())


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """A planned launch.

    `served` is the model as the command names it, `start` the command up to its first flag,
    `command` all of it in one line. `kept` is what was weighed and left to the engine.
    `refusal` is what `vllm serve` would print with its default batches, `refusal_offline` what the
    LLM class would, where that differs; None where it starts. `notes` say what was assumed.
    """

    fits: bool
    exit_code: int
    model: str
    gpu: str
    gpus: int
    version: str
    engine: str
    goal: str
    served: str
    flags: tuple[Choice, ...]
    environment: tuple[Choice, ...]
    kept: tuple[Choice, ...]
    memory: MemoryAccount
    attention: Attention
    start: str = ""
    command: str = ""
    refusal: str | None = None
    refusal_offline: str | None = None
    proposals: tuple[Proposal, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    measured: Measured | None = None
    matrix_date: str = ""
    tool: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the v1 tune object."""
        return {
            "schema": SCHEMA,
            "fits": self.fits,
            "exit_code": self.exit_code,
            "model": self.model,
            "gpu": self.gpu,
            "gpus": self.gpus,
            "engine": {"name": "vllm", "version": self.version, "core": self.engine},
            "goal": self.goal,
            "command": self.command,
            "flags": [choice.to_json() for choice in self.flags],
            "environment": [choice.to_json() for choice in self.environment],
            "kept": [choice.to_json() for choice in self.kept],
            "memory": self.memory.to_json(),
            "attention": self.attention.to_json(),
            "refusal": self.refusal,
            "refusal_offline": self.refusal_offline,
            "proposals": [proposal.to_json() for proposal in self.proposals],
            "findings": [finding.to_json() for finding in self.findings],
            "notes": list(self.notes),
            "measured": self.measured.to_json() if self.measured else None,
            "matrix": {"date": self.matrix_date},
            "tool": dict(self.tool),
        }
