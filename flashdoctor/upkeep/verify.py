"""Rows of the tables held against what the index says. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flashdoctor.data.tables import Tables
from flashdoctor.model.upkeep import Difference, Metadata, Published, RowKey
from flashdoctor.upkeep.fields import DISTRIBUTIONS, agree, from_metadata, from_names, is_linux

_PREFERRED = "cp311"


class Subject(NamedTuple):
    """One row and the releases whose METADATA it speaks of."""

    key: RowKey
    row: Mapping[str, Any]
    versions: tuple[str, ...]


class Wanted(NamedTuple):
    """A wheel whose METADATA is wanted: `python` and `platform` make pip choose that very one."""

    name: str
    version: str
    python: str
    platform: str


def subjects(tables: Tables) -> list[Subject]:
    """Return every row that the index has something to say about."""
    found: list[Subject] = []
    for table in DISTRIBUTIONS:
        for row in tables.compat(table)["release"]:
            version = row["version"]
            found.append(Subject(RowKey(table, "release", version), row, (version,)))
    for row in tables.compat("vllm")["torch_range"]:
        ends = tuple(dict.fromkeys((row["first"], row["last"])))
        found.append(Subject(RowKey("vllm", "torch_range", row["first"]), row, ends))
    return found


def sample(rows: Sequence[Subject], size: int | None, seed: int) -> list[Subject]:
    """Return `size` rows, the same for the same seed, in the order of the tables."""
    if size is None or size >= len(rows):
        return list(rows)
    from random import Random  # noqa: PLC0415  only here

    chosen = Random(seed).sample(range(len(rows)), size)  # noqa: S311  a sample, no secret
    return [rows[number] for number in sorted(chosen)]


def wanted_wheel(name: str, version: str, files: Sequence[Published]) -> Wanted | None:
    """Return which wheel of a release to ask METADATA of; None where Linux x86_64 has none."""
    wheels = [file for file in files if is_linux(file)]
    if not wheels:
        return None
    best = max(wheels, key=lambda file: (_fits(file), _number(file.python)))
    python = _PREFERRED if _fits(best) else best.python
    platform = next(tag for tag in best.platforms if tag == "any" or "linux" in tag)
    return Wanted(name, version, f"{python[2]}.{python[3:]}", platform)


def _fits(file: Published) -> bool:
    if file.abi in ("abi3", "none"):
        return _number(file.python) <= _number(_PREFERRED) or file.python.startswith("py")
    return file.python == file.abi == _PREFERRED


def _number(python: str) -> int:
    digits = "".join(character for character in python if character.isdigit())
    return int(digits or 0)


def listing_differences(
    subject: Subject, files: Mapping[str, Sequence[Published]]
) -> tuple[int, list[Difference]]:
    """Compare a row with the file names; how many values, and which differ."""
    if subject.key.section != "release":
        return 0, []
    have = files.get(subject.key.version, ())
    if not have and subject.key.table != "flash_attn":
        gone = Difference(subject.key, "version", subject.key.version, None, "the index's listing")
        return 1, [gone]
    stated = from_names(subject.key.table, have)
    return _compared(subject, stated, "the index's listing")


def metadata_differences(subject: Subject, metadata: Metadata) -> tuple[int, list[Difference]]:
    """Compare a row with one wheel's METADATA; how many values, and which differ."""
    table, section, _ = subject.key
    stated = from_metadata(table, metadata)
    if section == "torch_range":
        stated = {"torch": stated["torch"].removeprefix("==")} if "torch" in stated else {}
    return _compared(subject, stated, metadata.file)


def _compared(
    subject: Subject, stated: Mapping[str, Any], read_in: str
) -> tuple[int, list[Difference]]:
    """Compare what is stated; a requirement that the row leaves out is one it denies."""
    pins = _PINS.get(subject.key.table, ()) if subject.key.section == "release" else ()
    compared = {key: value for key, value in stated.items() if key in subject.row or key in pins}
    return len(compared), list(_differences(subject, compared, read_in))


def _differences(subject: Subject, stated: Mapping[str, Any], read_in: str) -> Iterator[Difference]:
    for field, theirs in stated.items():
        ours = subject.row.get(field)
        if not agree(ours, theirs):
            yield Difference(subject.key, field, ours, theirs, read_in)


def missing_pins(subject: Subject, metadata: Metadata) -> list[Difference]:
    """Return what a row claims and METADATA does not state at all."""
    if subject.key.section != "release" or subject.key.table == "transformers":
        return []  # what transformers is tried with stands in no METADATA before 5.x
    stated = from_metadata(subject.key.table, metadata)
    return [
        Difference(subject.key, field, subject.row[field], None, metadata.file)
        for field in _PINS[subject.key.table]
        if field in subject.row and field not in stated
    ]


_PINS: Mapping[str, tuple[str, ...]] = {
    "torch": ("triton", "cudnn", "nccl", "cuda_runtime_pin"),
    "vllm": ("torch", "torchvision", "xformers", "transformers", "compressed_tensors",
             "flashinfer", "cutlass_dsl", "vllm_flash_attn"),
}  # fmt: skip
