# ruff: noqa: PTH112, PTH113, PTH116, PTH118, PTH119, PTH208 - pathlib's import costs more than this whole part
"""Agent part: flash-attn in its three distributions, vLLM's and xformers' bundled kernels."""

from __future__ import annotations

import json
import os

WHEEL_PATHS = tuple("flash_attn.wheel." + name for name in ("file", "python", "abi", "platform"))
FLASH_PATHS = ("flash_attn.extension", "flash_attn.extension_present", "flash_attn.leftover")
FA3_PATHS = ("flash_attn_3.module", "flash_attn_3.extension")
FA4_PATHS = ("flash_attn_4.replaced",)
VLLM_PATHS = ("vllm.extension", "vllm.fa2.extension", "vllm.fa3.extension", "vllm.bundled")
XFORMERS_PATHS = ("xformers.extension",)

# vLLM's own module has been `_C_stable_libtorch` since about 0.25; before that `_C`.
_VLLM_STEMS = ("_C", "_C_stable_libtorch")
# Until 0.6 the bundled copy was one file without a number.
_FA2_STEMS = ("_vllm_fa2_C", "vllm_flash_attn_c")


def state_wheel(report: object, scan: object) -> None:
    """State what the metadata of flash-attn still tells of the wheel that it came from.

    pip keeps a wheel's tags in WHEEL, and its file name only for a wheel that was named by
    address or path.
    """
    found = scan.first("flash-attn")
    if found is None:
        for path in WHEEL_PATHS:
            report.absent(path, "sys.path")
        return
    name = wheel_file(found.read("direct_url.json"))
    if name:
        report.known("flash_attn.wheel.file", name, "direct_url.json of flash-attn")
    else:
        reason = "not installed from an address or a file, so the name was not kept"
        report.unknown("flash_attn.wheel.file", "direct_url.json of flash-attn", reason)
    tag = wheel_tag(found.read("WHEEL"))
    for path, value in zip(WHEEL_PATHS[1:], tag):  # noqa: B905 - Python 3.8 has no strict
        if value:
            report.known(path, value, "WHEEL of flash-attn")
        else:
            report.unknown(path, "WHEEL of flash-attn", "there is no such file")


def wheel_file(text: str | None) -> str | None:
    """Return the wheel's file name in a direct_url.json, as it stands in the address."""
    try:
        url = json.loads(text or "{}").get("url", "")
    except (ValueError, AttributeError):
        return None
    name = url.partition("#")[0].partition("?")[0].rpartition("/")[2]
    return name if name.endswith(".whl") else None


def wheel_tag(text: str | None) -> tuple:
    """Return python, abi and platform tag in a WHEEL file, three times None without one."""
    for line in (text or "").splitlines():
        name, _, value = line.partition(":")
        parts = value.strip().split("-")
        if name.strip().lower() == "tag" and len(parts) == len(WHEEL_PATHS) - 1:
            return tuple(parts)
    return (None, None, None)


def state_flash(report: object, scan: object) -> None:
    """State flash-attn's extension and whether a folder is left over from an uninstall."""
    file = find_beside_modules(scan, "flash_attn_2_cuda")
    report.extension("flash_attn", file, "sys.path")
    report.known("flash_attn.extension_present", file is not None, "sys.path")
    report.known("flash_attn.leftover", is_leftover(scan), "sys.path")


def find_beside_modules(scan: object, stem: str) -> str | None:
    """Return a top-level extension module on the path."""
    for folder in scan.folders:
        if any(name.startswith(stem + ".") for name in scan.names(folder)):
            file = scan.extension(folder, stem)
            if file:
                return file
    return None


def is_leftover(scan: object) -> bool:
    """Whether a flash_attn folder stands in a site folder though no distribution owns it.

    flash-attn-4 owns flash_attn/cute only. A checkout on PYTHONPATH is nobody's leftover.
    """
    if scan.first("flash-attn"):
        return False
    owned = {"cute"} if scan.first("flash-attn-4", "flash-attn-cute") else set()
    for folder in scan.folders:
        in_site = os.path.basename(folder) in ("site-packages", "dist-packages")
        if in_site and "flash_attn" in scan.names(folder):
            inside = _names_below(os.path.join(folder, "flash_attn"))
            if not owned or not inside <= owned | {"__pycache__", "__init__.py"}:
                return True
    return False


def _names_below(folder: str) -> set:
    return set(os.listdir(folder)) if os.path.isdir(folder) else set()


def state_fa3(report: object, scan: object) -> None:
    """State FlashAttention-3's import name and extension; a checkout of it has no metadata."""
    folder = scan.locate("flash_attn_3")
    module = None
    if scan.locate("flash_attn_interface"):
        module = "flash_attn_interface"
    elif folder and os.path.isfile(os.path.join(folder, "flash_attn_interface.py")):
        module = "flash_attn_3"
    report.known_or_absent("flash_attn_3.module", module, "sys.path")
    if module and scan.first("flash-attn-3") is None:
        report.unknown("flash_attn_3.version", "sys.path", "it stands there without metadata")
    package = folder or _namespace(scan, "flash_attn_3")
    file = scan.extension(package, "_C") or find_beside_modules(scan, "flash_attn_3_cuda")
    report.extension("flash_attn_3", file, "sys.path")


def state_fa4(report: object, scan: object) -> None:
    """State which of FlashAttention-4's files another distribution has written over.

    flash-attn 2.8 brings an early flash_attn/cute of its own; the one installed last wins.
    """
    found = scan.first("flash-attn-4", "flash-attn-cute")
    if found is None:
        report.absent(FA4_PATHS[0], "sys.path")
        return
    record, source = found.read("RECORD"), "RECORD of " + found.name
    if record is None:
        report.unknown(FA4_PATHS[0], source, "there is no such file")
        return
    files = [name for name, size in sizes(record) if is_another(found.folder, name, size)]
    report.known_or_absent(FA4_PATHS[0], sorted(files) or None, source)


def sizes(record: str) -> list:
    """Return (path, bytes) of the modules in a RECORD; lines without a size are left out."""
    rows = [line.rsplit(",", 2) for line in record.splitlines()]
    return [
        (row[0], int(row[2]))
        for row in rows
        if len(row) == len(("path", "hash", "size")) and row[0].endswith(".py")
        if row[2].isascii() and row[2].isdigit()
    ]


def is_another(folder: str, name: str, size: int) -> bool:
    """Whether a file is gone, or is not as long as the RECORD says."""
    try:
        return os.stat(os.path.join(folder, name)).st_size != size
    except (OSError, ValueError):
        return True


def _namespace(scan: object, name: str) -> str | None:
    for folder in scan.folders:
        if name in scan.names(folder):
            return os.path.join(folder, name)
    return None


def state_vllm(report: object, scan: object) -> None:
    """State vLLM's extension and the attention kernels that it carries."""
    folder = scan.locate("vllm")
    flash = os.path.join(folder, "vllm_flash_attn") if folder else None
    source = "files of vllm" if folder else "sys.path"
    report.extension("vllm", scan.extension(folder, *_VLLM_STEMS), source)
    report.extension("vllm.fa2", scan.extension(flash, *_FA2_STEMS), source)
    report.extension("vllm.fa3", scan.extension(flash, "_vllm_fa3_C"), source)
    if folder is None:
        report.absent("vllm.bundled", source)
        return
    there = {
        "fa2": "vllm.fa2" in report.extensions,
        "fa3": "vllm.fa3" in report.extensions,
        "fa4": os.path.isfile(os.path.join(flash, "cute", "__init__.py")),
        "flashmla": scan.extension(folder, "_flashmla_C") is not None,
    }
    report.known("vllm.bundled", [name for name in there if there[name]], source)


def state_xformers(report: object, scan: object) -> None:
    """State xformers' extension."""
    folder = scan.locate("xformers")
    report.extension("xformers", scan.extension(folder, "_C"), "files of xformers")
