"""An install plan: which releases fit a machine together, how to get them, and why not others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from flashdoctor.model.claim import Claim
from flashdoctor.model.rule import Component

SCHEMA = "flashdoctor/resolve/v1"

Installer: TypeAlias = Literal["pip", "uv"]
INSTALLERS: tuple[Installer, ...] = ("pip", "uv")
Emit: TypeAlias = Literal["requirements", "dockerfile"]
EMITS: tuple[Emit, ...] = ("requirements", "dockerfile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A package that is compiled here. `environment` holds the variables that its build reads.

    `toolkit` is the CUDA X.Y that nvcc has to come from; `has_toolkit` whether the machine is known
    to have it.
    """

    package: str
    version: str
    toolkit: str
    has_toolkit: bool
    environment: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the recipe's object."""
        return {
            "package": self.package,
            "version": self.version,
            "toolkit": self.toolkit,
            "has_toolkit": self.has_toolkit,
            "environment": dict(self.environment),
            "build_isolation": False,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Exact releases that go together. None is a package that the plan does not hold.

    `torch_index` is the tag of a CUDA variant (`cu128`), `torch_is_default` whether the package
    index itself serves that variant here. `triton` comes with torch, which takes
    later patch releases of it as well where `triton_is_open`. `python_is_stated` is False
    where nobody said which Python there is and one was chosen.
    """

    python: str
    python_is_stated: bool
    platform: str
    torch: str
    torch_cuda: str
    torch_index: str | None
    torch_index_url: str | None
    torch_is_default: bool
    triton: str | None = None
    triton_is_open: bool = False
    flash_attn: str | None = None
    flash_attn_wheel: str | None = None
    flash_attn_url: str | None = None
    flash_attn_3: str | None = None
    flash_attn_4: str | None = None
    vllm: str | None = None
    transformers: str | None = None
    builds: tuple[Build, ...] = ()

    @property
    def torch_version(self) -> str:
        """What `torch.__version__` will be: `2.8.0+cu128`."""
        return f"{self.torch}+{self.torch_index}" if self.torch_index else self.torch

    def to_json(self) -> dict[str, Any]:
        """Return the plan's object in the contract."""
        return {
            "python": self.python,
            "platform": self.platform,
            "torch": self.torch,
            "torch_index": self.torch_index,
            "torch_index_url": self.torch_index_url,
            "torch_cuda": self.torch_cuda,
            "triton": self.triton,
            "flash_attn": self.flash_attn,
            "flash_attn_wheel": self.flash_attn_wheel,
            "flash_attn_url": self.flash_attn_url,
            "flash_attn_3": self.flash_attn_3,
            "flash_attn_4": self.flash_attn_4,
            "vllm": self.vllm,
            "transformers": self.transformers,
            "builds": [build.to_json() for build in self.builds],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Releases that were looked at and left out, and why. `helps` says what would let them in."""

    candidate: str
    reason: str
    helps: str = ""

    def to_json(self) -> dict[str, str]:
        """Return `{candidate, reason}`, with `helps` where something would."""
        helps = {"helps": self.helps} if self.helps else {}
        return {"candidate": self.candidate, "reason": self.reason, **helps}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A plan, or what stands in its way.

    `assume` gives the plan back as items of `--assume`; `folklore` holds the claims that the wish
    stands upon.
    """

    wants: tuple[str, ...]
    machine: tuple[tuple[str, str], ...]
    installer: Installer = "pip"
    plan: Plan | None = None
    commands: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    obstacles: tuple[Rejection, ...] = ()
    assume: tuple[str, ...] = ()
    require: tuple[Component, ...] = ()
    emitted: Mapping[str, str] = field(default_factory=dict)
    folklore: tuple[Claim, ...] = ()
    matrix_date: str = ""
    tool: Mapping[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 with a plan, 1 without."""
        return 0 if self.plan else 1

    def to_json(self) -> dict[str, Any]:
        """Return the v1 object."""
        plan = self.plan
        return {
            "schema": SCHEMA,
            "exit_code": self.exit_code,
            "wants": list(self.wants),
            "machine": dict(self.machine),
            "plan": plan.to_json() if plan else None,
            "installer": self.installer,
            "commands": list(self.commands),
            "builds_from_source": bool(plan and plan.builds),
            "why": list(self.why),
            "notes": list(self.notes),
            "rejected": [item.to_json() for item in self.rejected],
            "obstacles": [item.to_json() for item in self.obstacles],
            "assume": list(self.assume),
            "require": list(self.require),
            "folklore": [claim.pointer() for claim in self.folklore],
            **({"emitted": dict(self.emitted)} if self.emitted else {}),
            "matrix": {"date": self.matrix_date},
            "tool": dict(self.tool),
        }
