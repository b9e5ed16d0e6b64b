"""Opens what was pasted: a file, standard input, a .gz, every text in a .zip. In constant memory.

Nothing is unpacked to disk, and an archive that grows out of all proportion is refused.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn, TypeAlias

from flashdoctor.errors import InputError
from flashdoctor.logs.lines import read_parts
from flashdoctor.logs.text import guess_encoding
from flashdoctor.model.log import Line

if TYPE_CHECKING:
    from zipfile import ZipInfo

Chunks: TypeAlias = Iterator[bytes]

CHUNK = 1 << 16
MAX_UNPACKED = 1 << 30
"""Bytes that an archive may unpack to."""

MAX_RATIO = 300
"""How often its own size an archive may unpack to. Logs reach some dozens; gzip ends at 1032."""

RATIO_FROM = 1 << 25
"""Bytes up to which the ratio does not matter: so little is no danger."""

MAX_MEMBERS = 2000
MAX_ZIP_ON_STDIN = 1 << 28
STDIN = "-"

_GZIP = b"\x1f\x8b\x08"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OTHERS = (
    (b"\x89PNG", "a picture", "paste the text that it shows"),
    (b"\xff\xd8\xff", "a picture", "paste the text that it shows"),
    (b"GIF8", "a picture", "paste the text that it shows"),
    (b"%PDF-", "a PDF", "paste the text in it"),
    (b"\xfd7zXZ\x00", "an .xz archive", "unpack it first"),
    (b"BZh", "a .bz2 archive", "unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a .zst archive", "unpack it first"),
    (b"7z\xbc\xaf", "a .7z archive", "unpack it first"),
    (b"Rar!", "a .rar archive", "unpack it first"),
    (b"\x7fELF", "a program", "name a log or a report"),
    (b"SQLite format 3", "a database", "name a log or a report"),
)
_GZIP_WBITS = 31  # zlib: a window of 32 KiB, in gzip's format
_HEAD = 512
_MOST_NULS = 0.3
_SKIPPED = ("__MACOSX/", ".DS_Store")


def read_paste(name: str) -> Iterator[Line]:
    """Yield the lines of a file, of `-` (standard input) or of the texts in an archive.

    Raises `InputError`, at the first line or later, where it cannot be read.
    """
    return read_parts(paste_parts(name))


def paste_parts(name: str) -> Iterator[Chunks]:
    """Yield each text of a paste in chunks of bytes; one must be read before the next is asked for.

    Raises `InputError` as `read_paste` does.
    """
    with _reported(name), _opened(name) as file:
        head, chunks = _peek(_chunks(file))
        if head.startswith(_ZIP):
            yield from _zip_parts(name, file, chunks)
        elif head.startswith(_GZIP):
            meter = _Meter(name)
            yield _guarded(name, _only_text(name, meter.outside(gunzip(meter.inside(chunks)))))
        else:
            yield _guarded(name, _only_text(name, chunks))


@contextmanager
def _reported(name: str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - what a damaged archive raises is anyone's guess
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(f"cannot read {name}: {reason}") from None


def _guarded(name: str, chunks: Chunks) -> Chunks:
    with _reported(name):
        yield from chunks


def _opened(name: str) -> AbstractContextManager[IO[bytes]]:
    if name == STDIN:
        if sys.stdin is None:
            raise InputError("cannot read -: standard input is closed")
        return nullcontext(sys.stdin.buffer)
    path = Path(name)
    if path.is_dir():
        raise InputError(f"{name} is a folder", hint="name the files in it")
    return path.open("rb")


def _chunks(file: IO[bytes]) -> Chunks:
    while chunk := file.read(CHUNK):
        yield chunk


def _peek(chunks: Chunks) -> tuple[bytes, Chunks]:
    first = next(chunks, b"")
    return first[:_HEAD], chain([first], chunks)


def _only_text(name: str, chunks: Chunks) -> Chunks:
    """Yield the chunks of what is no archive and no picture; say what it is where it is one."""
    head, chunks = _peek(chunks)
    if head.startswith((_GZIP, *_ZIP)):
        raise InputError(f"{name} holds another archive", hint="unpack it first")
    for start, what, hint in _OTHERS:
        if head.startswith(start):
            raise InputError(f"{name} is {what}, not text", hint=hint)
    yield from chunks


def gunzip(chunks: Iterable[bytes]) -> Chunks:
    """Yield what gzip packed into the chunks: one stream or several, padding and garbage behind."""
    unpacker = zlib.decompressobj(wbits=_GZIP_WBITS)
    for packed in chunks:
        rest = packed
        while rest:
            yield unpacker.decompress(rest, CHUNK)
            rest = unpacker.unconsumed_tail
            if not unpacker.eof:
                continue
            rest = unpacker.unused_data.lstrip(b"\0")
            if rest and not _GZIP.startswith(rest[:3]):
                return
            if rest:
                unpacker = zlib.decompressobj(wbits=_GZIP_WBITS)
    yield unpacker.flush()
    if not unpacker.eof:
        raise EOFError("its end is missing")


class _Meter:
    """Counts what an archive holds and what it unpacks to, and stops it at the limits above."""

    def __init__(self, name: str, packed: int = 0) -> None:
        self._name = name
        self._packed = packed
        self._unpacked = 0

    def inside(self, chunks: Chunks) -> Chunks:
        """Pass on what is still packed."""
        for chunk in chunks:
            self._packed += len(chunk)
            yield chunk

    def outside(self, chunks: Chunks) -> Chunks:
        """Pass on what was unpacked."""
        for chunk in chunks:
            self._unpacked += len(chunk)
            if self._unpacked > MAX_UNPACKED:
                self._stop(f"more than {MAX_UNPACKED >> 20} MiB")
            if self._unpacked > max(RATIO_FROM, MAX_RATIO * self._packed):
                self._stop(f"more than {MAX_RATIO} times its size")
            yield chunk

    def _stop(self, how_much: str) -> NoReturn:
        raise InputError(
            f"{self._name} unpacks to {how_much}, which no log needs",
            hint="unpack it, and name the files in it",
        )


def _zip_parts(name: str, file: IO[bytes], chunks: Chunks) -> Iterator[Chunks]:
    from zipfile import ZipFile  # noqa: PLC0415 - slow to import, and most pastes are no archive

    whole = file if file.seekable() else io.BytesIO(_read_all(name, chunks))
    meter = _Meter(name, packed=whole.seek(0, io.SEEK_END))
    empty = True
    with ZipFile(whole) as archive:
        members = [member for member in archive.infolist() if _is_wanted(member)]
        if len(members) > MAX_MEMBERS:
            raise InputError(f"{name} holds more than {MAX_MEMBERS} files", hint="name the few")
        for member in members:
            with archive.open(member) as packed:
                text = _member_text(meter.outside(_chunks(packed)), meter)
                if text is not None:
                    empty = False
                    yield _guarded(name, text)
    if empty:
        raise InputError(f"{name} holds no text", hint="name a log or a report")


def _read_all(name: str, chunks: Chunks) -> bytes:
    held: list[bytes] = []
    for chunk in chunks:
        held.append(chunk)
        if len(held) * CHUNK > MAX_ZIP_ON_STDIN:
            raise InputError(
                f"{name} is a .zip of more than {MAX_ZIP_ON_STDIN >> 20} MiB", hint="name the file"
            )
    return b"".join(held)


def _is_wanted(member: ZipInfo) -> bool:
    return not member.is_dir() and not any(word in member.filename for word in _SKIPPED)


def _member_text(chunks: Chunks, meter: _Meter) -> Chunks | None:
    """Return the text of a member, or of the .gz that it is; None for what is no text."""
    head, chunks = _peek(chunks)
    if head.startswith(_GZIP):
        head, chunks = _peek(meter.outside(gunzip(chunks)))
    return chunks if is_text(head) else None


def is_text(head: bytes) -> bool:
    """Whether a file that starts with these bytes is likely a text."""
    if not head or head.startswith((_GZIP, *_ZIP, *(start for start, *_ in _OTHERS))):
        return False
    nuls = head.count(0) / len(head)
    return nuls <= _MOST_NULS or guess_encoding(head) not in ("utf-8", "utf-8-sig")
