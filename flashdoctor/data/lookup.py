"""Rows of the compatibility tables by what a machine or a person calls them. Pure.

Every function returns a row as it stands in the table, or None where the table has none: a
release that nobody wrote down is not replaced by its neighbour.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from flashdoctor.data.gpus import Catalog, find_gpu, make_catalog, rows_meant
from flashdoctor.data.tables import Tables
from flashdoctor.model.regex import regex
from flashdoctor.model.versions import Capability, minor, order, public

Row: TypeAlias = Mapping[str, Any]
_Order: TypeAlias = tuple[tuple[int, ...], int]

_DISTRIBUTION = regex(r"([a-z ]+)(\d+(?:\.\d+)*)")
_NGC_PYTORCH = regex(r"(?:^|/)nvidia/pytorch:(\d\d\.\d\d)-py3(?:-igpu)?$")
_NOISE = regex(r"\b(?:gnu/linux|enterprise|linux|server|stream|leap|release|lts)\b")
_OTHER_NAMES = {"red hat": "rhel", "redhat": "rhel", "alma": "almalinux", "amzn": "amazon"}
_FINAL = regex(r"v?[0-9]+(\.[0-9]+)*(\.post[0-9]+)?")


def gpu(tables: Tables, name: str) -> Row | None:
    """Return the row of a GPU by its product name, however it is written.

    A short name that several GPUs share (`A100`) gives the keys on which their rows agree, and
    None where they have different compute capabilities.
    """
    return find_gpu(tables.derived("gpu names", _gpu_names), name)


def gpus(tables: Tables, name: str) -> list[Row]:
    """Return the row of every GPU that a name may mean."""
    return rows_meant(tables.derived("gpu names", _gpu_names), name)


def _gpu_names(tables: Tables) -> Catalog:
    return make_catalog(tables.compat("gpus")["gpu"])


def arch(tables: Tables, capability: Capability) -> Row | None:
    """Return the row of a compute capability."""
    return _first(tables, "gpus", "arch", cc=str(capability))


def torch_release(tables: Tables, version: str) -> Row | None:
    """Return the row of exactly this torch release; a local tag (`+cu126`) does not count.

    A pre-release or vendor build (`2.8.0a0+git`) is no release: its row is None.
    """
    return _release(tables, "torch", version)


def torch_minor_release(tables: Tables, version: str) -> Row | None:
    """Return the newest torch release of the same X.Y."""
    rows = [row for row in tables.compat("torch")["release"] if row["minor"] == minor(version)]
    return max(rows, key=lambda row: _ordered(row["version"]), default=None)


def torch_variant(tables: Tables, version: str, cuda: str) -> Row | None:
    """Return the row of torch X.Y built with this CUDA (`12.6`)."""
    return _first(tables, "torch", "variant", minor=minor(version), cuda=minor(cuda))


def flash_attn_release(tables: Tables, version: str) -> Row | None:
    """Return the row of exactly this flash-attn 2 release, post release included."""
    return _release(tables, "flash_attn", version)


def vllm_release(tables: Tables, version: str) -> Row | None:
    """Return the row of this vLLM's X.Y, which was read from its last patch release."""
    return _first(tables, "vllm", "release", minor=minor(version))


def vllm_torch_pin(tables: Tables, version: str) -> str | None:
    """Return the torch that this vLLM release requires, exact for every patch release."""
    wanted = order(version)
    if wanted is None:
        return None
    for row in tables.compat("vllm")["torch_range"]:
        if _ordered(row["first"]) <= wanted <= _ordered(row["last"]):
            return str(row["torch"])
    return None


def transformers_release(tables: Tables, version: str) -> Row | None:
    """Return the row of this transformers' X.Y, which was read from its last patch release."""
    return _first(tables, "transformers", "release", minor=minor(version))


def driver_branch(tables: Tables, branch: int) -> Row | None:
    """Return the row of a driver branch, the number before the first dot of a version."""
    return _first(tables, "driver_cuda", "driver_branch", branch=branch)


def cuda_floor(tables: Tables, cuda_major: int) -> Row | None:
    """Return the lowest drivers (`min_linux`, `min_windows`) for any release of a CUDA major."""
    return _first(tables, "driver_cuda", "minor_compat", cuda_major=cuda_major)


def ngc_pytorch(tables: Tables, image: str) -> Row | None:
    """Return the row of NVIDIA's PyTorch image: `nvcr.io/nvidia/pytorch:25.03-py3`."""
    match = _NGC_PYTORCH.search(image)
    return _first(tables, "containers", "ngc_pytorch", release=match[1]) if match else None


def distribution(tables: Tables, text: str) -> Row | None:
    """Return the row of a distribution as people write it (`Ubuntu 22.04.4 LTS`, `rhel 8.9`)."""
    match = _DISTRIBUTION.match(_plain_name(text))
    if match is None:
        return None
    name = match[1].strip()
    for row in tables.compat("distributions")["distribution"]:
        same = _plain_name(row["name"]) == _OTHER_NAMES.get(name, name)
        if same and _starts_with(match[2], row["release"]):
            found: Row = row
            return found
    return None


def _plain_name(text: str) -> str:
    return " ".join(_NOISE.sub(" ", text.lower()).split())


def _starts_with(version: str, release: str) -> bool:
    return version == release or version.startswith(f"{release}.")


def _first(tables: Tables, table: str, section: str, **wanted: Any) -> Row | None:
    rows: list[Row] = tables.compat(table)[section]
    for row in rows:
        if all(row[key] == value for key, value in wanted.items()):
            return row
    return None


def _release(tables: Tables, table: str, version: str) -> Row | None:
    if not _FINAL.fullmatch(public(version)):
        return None
    index = tables.derived(f"{table} releases", lambda own: _by_order(own, table))
    return index.get(_ordered(version))


def _by_order(tables: Tables, table: str) -> dict[_Order, Row]:
    return {_ordered(row["version"]): row for row in tables.compat(table)["release"]}


def _ordered(version: str) -> _Order:
    return order(version) or ((), 0)
