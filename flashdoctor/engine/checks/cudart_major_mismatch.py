"""FD212: a compiled package links the CUDA runtime of another major than torch's.

vLLM has a rule of its own, FD609.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.regex import regex

_CUDART = regex(r"libcudart\.so\.(\d+)")
_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "flash_attn": ("flash_attn_2_cuda",),
    "flash_attn_3": ("flash_attn_interface", "flash_attn_3.flash_attn_interface"),
    "xformers": ("xformers._C",),
}
"""Fact group -> modules whose live import shows whether the package can be loaded."""


_OPTIONAL = frozenset({"xformers"})
"""Packages that no flash attention needs: what uses them falls back."""


class _Link(NamedTuple):
    package: str
    major: int
    path: str


def judge(view: View) -> Judgement:
    """Warn where the other runtime is evidently there, or nothing that counts needs the package."""
    cuda = versions.major(view.need("torch.cuda") or "")
    links = list(_links(view))
    wrong = [link for link in links if cuda and link.major != cuda]
    if not wrong:
        if not links:
            raise MissingFactError("flash_attn.extension_needed")
        return passed("torch.cuda", *(link.path for link in links))
    grave = [link for link in wrong if not _is_mild(view, link.package)]
    first = (grave or wrong)[0]
    return failed(
        first.path,
        f"{first.package}.version",
        "torch.version",
        "torch.cuda",
        detail=f"{first.package} is built for CUDA {first.major}, torch for CUDA {cuda}.",
        values={"advice.package": first.package.replace("_", "-")},
        severity=None if grave else "warning",
    )


def _links(view: View) -> Iterator[_Link]:
    for package in _PACKAGES:
        needed = view.value(f"{package}.extension_needed")
        if needed is not None:
            found = filter(None, map(_CUDART.match, needed))
            path = f"{package}.extension_needed"
            yield from (_Link(package, int(match[1]), path) for match in found)


def _is_mild(view: View, package: str) -> bool:
    return package in _OPTIONAL or _loads(view, package)


def _loads(view: View, package: str) -> bool:
    records: list[Mapping[str, Any]] = view.value("live.imports") or []
    tried = [record for record in records if record.get("module") in _PACKAGES[package]]
    return bool(tried) and all(record.get("status") == "ok" for record in tried)
