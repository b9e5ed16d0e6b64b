"""What METADATA and file names state about a row's fields. Pure.

Only what is written there is returned: no value is worked out from another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flashdoctor.model.upkeep import Metadata, Published

if TYPE_CHECKING:
    from packaging.requirements import Requirement

DISTRIBUTIONS: Mapping[str, str] = {
    "torch": "torch",
    "vllm": "vllm",
    "transformers": "transformers",
    "flash_attn": "flash-attn",
}
"""The name on the index of what each table is about."""

_ENVIRONMENT = {
    "platform_system": "Linux",
    "sys_platform": "linux",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
}
_DEFAULT_PYTHON = "3.11"
_VLLM = {
    "torch": "torch",
    "torchvision": "torchvision",
    "xformers": "xformers",
    "transformers": "transformers",
    "compressed_tensors": "compressed-tensors",
    "flashinfer": "flashinfer-python",
    "cutlass_dsl": "nvidia-cutlass-dsl",
    "vllm_flash_attn": "vllm-flash-attn",
}


def from_names(table: str, files: Sequence[Published]) -> dict[str, Any]:
    """Return the fields that the names of a release's files state, and its Requires-Python."""
    found: dict[str, Any] = {}
    stated = {file.requires_python for file in files if file.requires_python}
    if len(stated) == 1:
        found["requires_python"] = stated.pop()
    wheels = [file for file in files if file.platforms]
    if table == "torch":
        found |= _torch_names(wheels)
    elif table == "vllm":
        found["wheel_tags"] = sorted({tag for file in wheels for tag in _linux(file)})
    elif table == "flash_attn":
        found["on_index"] = bool(files)
    return found


def _linux(file: Published) -> tuple[str, ...]:
    return tuple(tag for tag in file.platforms if "linux" in tag)


def _torch_names(wheels: Sequence[Published]) -> dict[str, Any]:
    linux = [file for file in wheels if is_linux(file)]
    windows = [file for file in wheels if "win_amd64" in file.platforms]
    tags = {tag for file in linux for tag in file.platforms}
    found: dict[str, Any] = {
        "pythons_linux_x86_64": sorted({file.python_tag for file in linux}),
        "pythons_windows": sorted({file.python_tag for file in windows}),
        "platform_tags": sorted({tag for file in wheels for tag in file.platforms}),
    }
    return {**found, "linux_x86_64_tag": tags.pop()} if len(tags) == 1 else found


def is_linux(file: Published) -> bool:
    """Whether a file is a wheel that Linux on x86_64 takes."""
    return any(tag == "any" or ("linux" in tag and "x86_64" in tag) for tag in file.platforms)


def from_metadata(table: str, metadata: Metadata) -> dict[str, Any]:
    """Return the fields that METADATA states, for Linux on x86_64."""
    found: dict[str, Any] = {"requires_python": metadata.requires_python}
    read = _READERS.get(table)
    if read is not None:
        found |= read(_requirements(metadata))
    return {field: value for field, value in found.items() if value is not None}


def _requirements(metadata: Metadata) -> list[Requirement]:
    from packaging.requirements import (  # noqa: PLC0415  slow to import; nobody else needs it
        InvalidRequirement,
        Requirement,
    )

    read: list[Requirement] = []
    for line in metadata.requires:
        try:
            read.append(Requirement(line))
        except InvalidRequirement:
            continue
    return read


def _named(requirements: Iterable[Requirement], name: str, extra: str = "") -> str | None:
    """Return the specifier of the one requirement `name` that holds on Linux x86_64."""
    from packaging.utils import canonicalize_name  # noqa: PLC0415  as above

    found = [
        f"{_extras(item)}{_specifier(item)}"
        for item in requirements
        if canonicalize_name(item.name) == name and _holds(item, extra)
    ]
    return found[0] if len(set(found)) == 1 else None


def _extra_of_any_name(requirements: Iterable[Requirement], name: str) -> str | None:
    """Return the specifier of an optional requirement, where all extras have the same one.

    The extra was called `hub-kernels`, and `kernels` later.
    """
    found = {_specifier(item) for item in requirements if item.name == name and item.marker}
    return (found.pop() or None) if len(found) == 1 else None


def _holds(requirement: Requirement, extra: str) -> bool:
    if requirement.marker is None:
        return not extra
    python = {"python_version": _DEFAULT_PYTHON, "python_full_version": f"{_DEFAULT_PYTHON}.0"}
    environment = {**_ENVIRONMENT, **python}
    plain = requirement.marker.evaluate({**environment, "extra": ""})
    if not extra:
        return plain
    return not plain and requirement.marker.evaluate({**environment, "extra": extra})


def _extras(requirement: Requirement) -> str:
    return f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""


def _specifier(requirement: Requirement) -> str:
    return ",".join(sorted(map(str, requirement.specifier)))


def _torch(requirements: list[Requirement]) -> dict[str, Any]:
    pins = {item.name.lower(): item for item in requirements if _holds(item, "")}

    def pin(start: str) -> str | None:
        found = [_bare(item) for name, item in pins.items() if name.startswith(f"{start}-cu")]
        return found[0] if len(found) == 1 else None

    toolkit = _bare(pins["cuda-toolkit"]) if "cuda-toolkit" in pins else None
    return {
        "triton": _named(requirements, "triton"),
        "cudnn": pin("nvidia-cudnn"),
        "nccl": pin("nvidia-nccl"),
        "cuda_runtime_pin": pin("nvidia-cuda-runtime") or toolkit,
    }


def _bare(requirement: Requirement) -> str | None:
    text = _specifier(requirement)
    return text[2:] if text.startswith("==") and "," not in text else None


def _vllm(requirements: list[Requirement]) -> dict[str, Any]:
    return {field: _named(requirements, name) for field, name in _VLLM.items()}


def _transformers(requirements: list[Requirement]) -> dict[str, Any]:
    torch = _named(requirements, "torch", "torch")
    return {
        "torch": "any" if torch == "" else torch,
        "kernels_pin": _extra_of_any_name(requirements, "kernels"),
    }


_READERS: Mapping[str, Callable[[list[Requirement]], dict[str, Any]]] = {
    "torch": _torch,
    "vllm": _vllm,
    "transformers": _transformers,
}


def agree(ours: Any, theirs: Any) -> bool:
    """Whether two values say the same: lists in any order, specifiers clause by clause."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return sorted(map(str, ours)) == sorted(map(str, theirs))
    if isinstance(ours, str) and isinstance(theirs, str):
        return _clauses(ours) == _clauses(theirs)
    return bool(ours == theirs)


def _clauses(text: str) -> list[str]:
    return sorted(part.strip().replace(" ", "") for part in text.split(","))
