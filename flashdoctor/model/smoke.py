"""The live proof: one case of it, what became of that case, and the report of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from flashdoctor.model.finding import Finding, Verdict
from flashdoctor.model.rule import Component

SCHEMA = "flashdoctor/smoke/v1"

Direction: TypeAlias = Literal["forward", "backward"]
Status: TypeAlias = Literal[
    "proven",  # a kernel name says that the expected family ran, and the output is right
    "other",  # it ran and is right, and a kernel name says that another family ran
    "inferred",  # it ran and is right, and no kernel could be named
    "refused",  # the library said no
    "wrong",  # it ran, and the output is wrong
    "died",  # the process ended, or the GPU's context was lost
    "timeout",
    "error",
    "missing",  # what the case needs is not installed
    "cpu",  # there is no GPU for torch
    "not-run",
]
STATUSES: tuple[Status, ...] = (
    "proven", "other", "inferred", "refused", "wrong", "died", "timeout", "error", "missing",
    "cpu", "not-run",
)  # fmt: skip

FUSED = (
    "fa2", "torch-flash", "fa3", "fa4", "cudnn", "mem-efficient", "flashinfer", "trtllm-gen",
    "triton", "flex", "vllm-paged", "xformers",
)  # fmt: skip
"""Families in which one kernel does the whole of attention; memory grows with N, not with N x N."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Batch, query and key lengths in tokens, heads, heads of key and value, size of a head."""

    batch: int
    q_len: int
    kv_len: int
    heads: int
    kv_heads: int
    head_dim: int

    def to_json(self) -> dict[str, int]:
        """Return the sizes by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call of attention that is run, and what it should hit.

    `expected`: families that are right, the one that it should hit first. `refusal`: the cause for
    which another answer is expected; that is then an answer and no failure. `proves`: components
    that `--require` names and that this case proves. `main`: stands in the short table; `quick`:
    part of `check`; `on_request`: only run where its name is given. `compiles`: its kernel is made
    when it is first called, for 10 s and more, so that it is only run where it is asked for or
    required. `alone`: it may have a process of its own beside the others. `lacks`: why it cannot
    run.
    """

    name: str
    api: str
    backend: str
    label: str
    shape: Shape
    dtype: str
    expected: tuple[str, ...]
    causal: bool = True
    mask: bool = False
    direction: Direction = "forward"
    features: tuple[str, ...] = ()
    refusal: str = ""
    proves: tuple[Component, ...] = ()
    limit_s: float = 30.0
    main: bool = False
    quick: bool = False
    on_request: bool = False
    compiles: bool = False
    alone: bool = False
    lacks: str = ""

    @property
    def expected_family(self) -> str:
        """The family that this case should hit."""
        return self.expected[0]

    def to_agent(self) -> dict[str, Any]:
        """Return what the agent has to know."""
        return {
            "name": self.name,
            "api": self.api,
            "backend": self.backend,
            "shape": self.shape.to_json(),
            "dtype": self.dtype,
            "causal": self.causal,
            "mask": "bool" if self.mask else None,
            "direction": self.direction,
            "features": list(self.features),
            "limit_s": self.limit_s,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a case ended elsewhere: a cause of the taxonomy in own words, and what to do.

    `backend`: the family that refused, where that was said; `message`: the line it was read from.
    """

    cause: str
    text: str
    fix: str = ""
    backend: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeCase:
    """What became of a case.

    `kernels`: the names of all kernels, the longest time first; `kernel`: the one that decides
    the family. `ms`: median of the CUDA events; `peak_mib`: highest memory. `gain_over_math` and
    `gain_over_default`: how many times faster than the same call by math, by SDPA's default.
    `seconds`: the whole case, its imports and its compiler included.
    """

    case: Case
    status: Status
    family: str | None = None
    kernel: str | None = None
    kernels: tuple[str, ...] = ()
    relative_error: float | None = None
    max_abs_error: float | None = None
    ms: float | None = None
    peak_mib: float | None = None
    seconds: float | None = None
    gain_over_math: float | None = None
    gain_over_default: float | None = None
    reasons: tuple[Reason, ...] = ()
    messages: tuple[str, ...] = ()
    profiler: str = ""
    inference: str = ""
    asked: Mapping[str, Any] = field(default_factory=dict)
    got: Mapping[str, Any] = field(default_factory=dict)

    @property
    def proven(self) -> bool:
        """Whether a kernel name says that the expected family ran."""
        return self.status == "proven"

    @property
    def replaced_by(self) -> str:
        """The implementation that transformers took in place of the one that was asked for."""
        if self.got.get("as_asked") is not False:
            return ""
        return str(self.got.get("attn_implementation") or "another")

    @property
    def proves(self) -> tuple[Component, ...]:
        """The components that a proof of this case is one of.

        A replacement brings a kernel along that is no proof of the package that was asked for.
        """
        own = self.case.proves
        return own[:1] if self.replaced_by else own

    @property
    def as_expected(self) -> bool:
        """Whether this is the answer that was to be had: a proof, or the refusal that is due."""
        return self.proven or (bool(self.case.refusal) and self.status in {"refused", "other"})

    def to_json(self) -> dict[str, Any]:
        """Return the case's object in the contract."""
        case = self.case
        return {
            "name": case.name,
            "api": case.api,
            "backend": case.backend,
            "shape": case.shape.to_json(),
            "dtype": case.dtype,
            "causal": case.causal,
            "mask": case.mask,
            "direction": case.direction,
            "features": list(case.features),
            "expected_family": case.expected_family,
            "accepted_families": list(case.expected),
            "expected_refusal": case.refusal or None,
            "family": self.family,
            "kernel": self.kernel,
            "kernels": list(self.kernels),
            "proven": self.proven,
            "as_expected": self.as_expected,
            "status": self.status,
            "relative_error": self.relative_error,
            "max_abs_error": self.max_abs_error,
            "ms": self.ms,
            "peak_mib": self.peak_mib,
            "seconds": self.seconds,
            "gain_over_math": self.gain_over_math,
            "gain_over_default": self.gain_over_default,
            "reasons": [asdict(reason) for reason in self.reasons],
            "messages": list(self.messages),
            "profiler": self.profiler,
            "inference": self.inference,
            "asked": dict(self.asked),
            "got": dict(self.got),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What the child said of itself: torch, the GPU, and the seconds that their start took."""

    torch: str = ""
    device: str = ""
    capability: str = ""
    import_s: float | None = None
    cuda_s: float | None = None

    @property
    def seconds(self) -> float | None:
        """What `import torch; torch.zeros(1).cuda()` takes in that Python."""
        return None if self.import_s is None else self.import_s + (self.cuda_s or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeReport:
    """A verdict with every case that led to it. `note`: why nothing, or not all, was proven.

    `seconds`: the whole run by the clock, children and their start of torch included. `left_out`:
    cases that could run, and were not asked for, as they compile.
    """

    verdict: Verdict
    exit_code: int
    cases: tuple[SmokeCase, ...]
    findings: tuple[Finding, ...] = ()
    required: tuple[Component, ...] = ()
    started: Started = field(default_factory=Started)
    seconds: float = 0.0
    note: str = ""
    left_out: tuple[Case, ...] = ()
    where: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    matrix_date: str = ""
    tool: Mapping[str, str] = field(default_factory=dict)

    @property
    def proven(self) -> tuple[str, ...]:
        """The families that a kernel name proves, in the order of the cases."""
        return tuple(
            dict.fromkeys(case.family for case in self.cases if case.proven and case.family)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the v1 object."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "required": list(self.required),
            "proven": list(self.proven),
            "note": self.note,
            "python": self.where,
            "torch": self.started.torch,
            "device": self.started.device,
            "capability": self.started.capability,
            "versions": dict(self.versions),
            "seconds": round(self.seconds, 3),
            "torch_start_seconds": self.started.seconds,
            "cases": [case.to_json() for case in self.cases],
            "left_out": [case.name for case in self.left_out],
            "findings": [finding.to_json() for finding in self.findings],
            "matrix": {"date": self.matrix_date},
            "tool": dict(self.tool),
        }
