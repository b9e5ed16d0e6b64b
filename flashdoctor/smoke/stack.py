"""What the facts say about the stack that the cases run on. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flashdoctor.model import versions
from flashdoctor.model.smoke import Shape
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.model.versions import Capability

_LARGE = Shape(batch=4, q_len=4096, kv_len=4096, heads=16, kv_heads=16, head_dim=128)
_MIDDLE = replace(_LARGE, batch=2, q_len=2048, kv_len=2048)
_SMALL = replace(_LARGE, batch=2, q_len=1024, kv_len=1024)
_TINY = replace(_LARGE, batch=1, q_len=512, kv_len=512, heads=8, kv_heads=8)

# Math keeps about four matrices of scores in float32: 17 GiB at the large shape, 2 at the middle.
_FOR_LARGE_MIB = 32 * 1024
_FOR_MIDDLE_MIB = 6 * 1024
_FOR_SMALL_MIB = 3 * 1024

# cuDNN that torch prefers, by sdp_utils.cpp: check_prefer_cudnn_attention over its history.
_CUDNN_OF_2_9 = (9, 9)
_CUDNN_OF_2_10 = (9, 15, 0)
_PACKAGES = {"fa3": ("flash_attn_3", "flash-attn-3"), "fa4": ("flash_attn_4", "flash-attn-4")}
_MIN_CAPABILITY_FA4 = Capability(9, 0)


@dataclass(frozen=True, slots=True)
class Stack:
    """Facts, asked in the words of the cases. What nobody knows is taken to be in order."""

    facts: Snapshot

    @property
    def capability(self) -> Capability | None:
        """The compute capability of the first visible GPU."""
        return versions.capability(str(self.facts.value("gpu.compute_capability", "")))

    @property
    def is_hopper(self) -> bool:
        """Whether it is, or may be, 9.0."""
        return self.capability in {None, Capability(9, 0)}

    @property
    def is_windows(self) -> bool:
        """Whether this is native Windows, whose wheels come without torch's flash kernel."""
        return bool(self.facts.value("os.system") == "Windows")

    @property
    def half(self) -> str:
        """The dtype of most cases: bf16, and fp16 on a GPU that has no bf16."""
        return "bf16" if self.reaches(8, 0) else "fp16"

    @property
    def large(self) -> Shape:
        """The shape that families are compared at: what the free memory allows for math."""
        free = self._free_mib()
        if free is not None and free >= _FOR_LARGE_MIB:
            return _LARGE
        if free is None or free >= _FOR_MIDDLE_MIB:
            return _MIDDLE
        return self.small()

    @property
    def has_room(self) -> bool:
        """Whether several processes may hold memory of this GPU at once."""
        free = self._free_mib()
        return free is not None and free >= _FOR_LARGE_MIB

    def small(self, **changed: Any) -> Shape:
        """Return the shape of all other cases, with some of its sizes changed."""
        free = self._free_mib()
        base = _TINY if free is not None and free < _FOR_SMALL_MIB else _SMALL
        return replace(base, **changed)

    def _free_mib(self) -> float | None:
        total = self.facts.value("gpu.memory_mib")
        used = self.facts.value("gpu.memory_used_mib", 0)
        if not isinstance(total, int | float) or not isinstance(used, int | float):
            return None
        return total - used

    def reaches(self, major: int, minor: int) -> bool:
        """Whether the GPU has, or may have, this compute capability."""
        return self.capability is None or self.capability >= Capability(major, minor)

    def torch_at_least(self, major: int, minor: int) -> bool:
        """Whether torch is, or may be, of this release."""
        release = versions.release(str(self.facts.value("torch.version", "")))
        return release is None or release >= (major, minor)

    def lacks(self, package: str, name: str) -> str:
        """Return why a package cannot be called; nothing where it is there, or may be."""
        absent = self.facts[f"{package}.version"].state == "absent"
        return f"{name} is not installed" if absent else ""

    def lacks_newer(self, family: str) -> str:
        """Return why FA3 or FA4 cannot be called."""
        return self.lacks(*_PACKAGES[family])

    def lacks_bundled(self, family: str) -> str:
        """Return why vLLM's own copy of a FlashAttention cannot be called."""
        bundled = self.facts.value("vllm.bundled")
        if isinstance(bundled, list) and family not in bundled:
            return f"this vLLM carries no {family.upper()}"
        return self.lacks("vllm", "vLLM")

    def refuses_newer(self, family: str) -> str:
        """Return the cause where FA3 or FA4 is known not to take this GPU."""
        capability = self.capability
        if family == "fa3" and not self.is_hopper:
            return "fa3-needs-hopper"
        too_old = capability is not None and capability < _MIN_CAPABILITY_FA4
        return "fa4-arch-unsupported" if family == "fa4" and too_old else ""

    @property
    def sdpa_default(self) -> str:
        """The family that SDPA should choose by itself: fp16 or bf16, causal, head dim 128."""
        if not self.reaches(8, 0) or (self.is_windows and self.torch_at_least(2, 2)):
            return "mem-efficient"
        return "cudnn" if self._prefers_cudnn() else "torch-flash"

    def _prefers_cudnn(self) -> bool:
        capability, torch = self.capability, versions.release(self._text("torch.version"))
        if capability is None or torch is None or capability.major not in {9, 10}:
            return False
        cudnn = versions.release(self._text("live.cudnn") or self._text("torch.cudnn"))
        if torch == (2, 5):
            return capability.major == Capability(9, 0).major
        if cudnn is None or torch < (2, 9):
            return False
        return cudnn >= _CUDNN_OF_2_9 if torch < (2, 10) else cudnn > _CUDNN_OF_2_10

    def _text(self, path: str) -> str:
        return str(self.facts.value(path, ""))
