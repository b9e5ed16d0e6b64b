"""`matrix verify` and `matrix refresh`: the questions, in order, and what the answers come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flashdoctor.data.tables import Tables
from flashdoctor.errors import InputError, TargetError
from flashdoctor.model.upkeep import (
    Difference,
    Metadata,
    Proposal,
    Published,
    Refresh,
    RowKey,
    Unread,
    Verification,
)
from flashdoctor.upkeep.answers import by_version
from flashdoctor.upkeep.fields import DISTRIBUTIONS
from flashdoctor.upkeep.index import Index, batches
from flashdoctor.upkeep.propose import newer_releases, propose, ranges
from flashdoctor.upkeep.toml_text import diff_of
from flashdoctor.upkeep.verify import (
    Subject,
    Wanted,
    listing_differences,
    metadata_differences,
    missing_pins,
    wanted_wheel,
)

Progress = Callable[[int, int, str], None]
Files = Mapping[str, tuple[Published, ...]]
_SOURCE_ONLY = "flash_attn"  # no wheel of it is on the index


@dataclass(slots=True)
class _Read:
    """METADATA by package and version, and why some could not be had."""

    metadata: dict[tuple[str, str], Metadata] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)


@dataclass(slots=True)
class _Found:
    """What comparing came to so far. A difference that was read in two places is one."""

    values: int = 0
    differences: dict[tuple[RowKey, str], Difference] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)

    def add(self, values: int, differences: Iterable[Difference]) -> None:
        self.values += values
        for item in differences:
            self.differences.setdefault((item.row, item.field), item)


def verify(subjects: Sequence[Subject], of: int, index: Index, progress: Progress) -> Verification:
    """Hold rows against the index. `of`: how many rows there are.

    `TargetError` where the listing of a package cannot be had; a wheel that cannot be read is
    `unread`.
    """
    listings = _listings({subject.key.table for subject in subjects}, index, progress)
    wanted = (
        _wanted(subject.key.table, version, listings)
        for subject in subjects
        for version in subject.versions
    )
    read = _read(filter(None, wanted), index, progress)
    found = _Found()
    for subject in subjects:
        found.add(*listing_differences(subject, listings[subject.key.table]))
        for version in subject.versions:
            _compare(subject, version, read, found)
    return Verification(
        rows=len(subjects),
        of=of,
        values=found.values,
        differences=tuple(found.differences.values()),
        unread=tuple(found.unread),
    )


def _compare(subject: Subject, version: str, read: _Read, found: _Found) -> None:
    name = DISTRIBUTIONS[subject.key.table], version
    metadata = read.metadata.get(name)
    if metadata is not None:
        found.add(*metadata_differences(subject, metadata))
        lost = missing_pins(subject, metadata)
        found.add(len(lost), lost)
    elif name in read.reasons:
        found.unread.append(Unread(subject.key, read.reasons[name]))


def refresh(
    tables: Tables, texts: Mapping[str, str], index: Index, today: str, progress: Progress
) -> Refresh:
    """Propose rows for releases that the tables lack. `texts`: their TOML, by table name."""
    listings = _listings(DISTRIBUTIONS, index, progress)
    newer = {table: newer_releases(tables, table, listings[table]) for table in DISTRIBUTIONS}
    wanted = (_wanted(table, version, listings) for table in newer for version in newer[table])
    read = _read(filter(None, wanted), index, progress)
    rows = {
        table: _proposals(tables, table, versions, listings[table], read)
        for table, versions in newer.items()
    }
    diffs = [
        diff_of(f"matrices/compat/{table}.toml", texts[table], rows[table], today) for table in rows
    ]
    return Refresh(
        proposals=tuple(row for table in rows for row in rows[table]),
        diff="".join(diffs),
        unread=tuple(_unread(newer, read)),
        matrix_date=tables.date,
    )


def _proposals(
    tables: Tables, table: str, versions: Iterable[str], files: Files, read: _Read
) -> list[Proposal]:
    known = {version: read.metadata.get((DISTRIBUTIONS[table], version)) for version in versions}
    rows = propose(tables, table, files, known)
    return rows + ranges(tables, known) if table == "vllm" else rows


def _unread(newer: Mapping[str, Iterable[str]], read: _Read) -> Iterator[Unread]:
    for table, versions in newer.items():
        for version in versions:
            reason = read.reasons.get((DISTRIBUTIONS[table], version))
            if reason is not None:
                yield Unread(RowKey(table, "release", version), reason)


def _listings(names: Iterable[str], index: Index, progress: Progress) -> dict[str, Files]:
    order = [table for table in DISTRIBUTIONS if table in set(names)]
    found: dict[str, Files] = {}
    for number, table in enumerate(order):
        progress(number, len(order), f"the listing of {DISTRIBUTIONS[table]}")
        found[table] = by_version(index.files(DISTRIBUTIONS[table]))
        if not found[table]:
            raise TargetError(f"the index lists no file of {DISTRIBUTIONS[table]}")
    return found


def _wanted(table: str, version: str, listings: Mapping[str, Files]) -> Wanted | None:
    if table == _SOURCE_ONLY:
        return None
    return wanted_wheel(DISTRIBUTIONS[table], version, listings[table].get(version, ()))


def _read(wanted: Iterable[Wanted], index: Index, progress: Progress) -> _Read:
    read = _Read()
    questions = batches(dict.fromkeys(wanted))
    for number, batch in enumerate(questions):
        progress(number, len(questions), " ".join(f"{item.name} {item.version}" for item in batch))
        _read_batch(batch, index, read)
    return read


def _read_batch(batch: Sequence[Wanted], index: Index, read: _Read) -> None:
    """Ask for several wheels at once, or for each alone where one of them spoils the answer."""
    try:
        for metadata in index.metadata(batch):
            read.metadata[metadata.name.lower(), metadata.version] = metadata
    except (TargetError, InputError) as error:
        if len(batch) > 1:
            for item in batch:
                _read_batch([item], index, read)
        else:
            read.reasons[batch[0].name, batch[0].version] = error.message
