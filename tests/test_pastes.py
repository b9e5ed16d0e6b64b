"""The edge where pastes are opened: real files, archives, pipes, and a child's memory."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from flashdoctor import pastes
from flashdoctor.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
MEMORY_LIMIT_MIB = 60
LOG = "RuntimeError: one\nsecond line\n"

READER = """
from flashdoctor.pastes import read_paste
count = sum(1 for _ in read_paste("-"))
with open("/proc/self/status") as status:  # ru_maxrss would count the parent's memory too
    peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(count, int(peak) // 1024)
"""


def texts(name: Path | str) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in pastes.read_paste(str(name))]


def zip_file(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def refusal(name: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        texts(name)
    assert caught.value.exit_code == 3
    return caught.value.message


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_text(LOG, encoding="utf-8")
    assert texts(file) == [(1, "RuntimeError: one"), (2, "second line")]


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    file = tmp_path / "empty"
    file.touch()
    assert texts(file) == []


@pytest.mark.parametrize("name", ["a.log.gz", "no-telling-name"])
def test_gzip_is_told_by_its_content(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(b"RuntimeError: one\n") + gzip.compress(b"second line\n"))
    assert texts(file) == [(1, "RuntimeError: one"), (2, "second line")]


def test_gzip_may_have_padding_or_garbage_behind_it(tmp_path: Path) -> None:
    file = tmp_path / "a.gz"
    for behind in (b"\0" * 600, b"garbage", b"\0\0garbage"):
        file.write_bytes(gzip.compress(LOG.encode()) + behind)
        assert len(texts(file)) == 2


def test_a_large_gzip_is_read_to_its_end(tmp_path: Path) -> None:
    data = os.urandom(200_000).hex().encode()
    file = tmp_path / "a.gz"
    file.write_bytes(gzip.compress(data + b"\nthe end\n"))
    assert texts(file)[-1] == (2, "the end")


def test_every_text_of_a_zip_in_its_order(tmp_path: Path) -> None:
    file = zip_file(
        tmp_path / "a.zip",
        {
            "logs/": b"",
            "logs/first.txt": b"RuntimeError: one\n",
            "logs/picture.png": b"\x89PNG\r\n\x1a\n" + bytes(64),
            "logs/weights.bin": bytes(2000),
            "__MACOSX/._first.txt": b"\0\5\26\7 text",
            "logs/empty.txt": b"",
            "logs/nested.log.gz": gzip.compress("second line\n".encode("utf-16")),
            "logs/inner.zip": zip_file(tmp_path / "inner", {"x": b"x"}).read_bytes(),
            "logs/last.txt": b"no line end",
        },
    )
    assert texts(file) == [(1, "RuntimeError: one"), (2, "second line"), (3, "no line end")]


def feed(monkeypatch: pytest.MonkeyPatch, raw: io.RawIOBase | io.BytesIO) -> None:
    buffered = io.BufferedReader(raw)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffered))


class Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize("kind", [io.BytesIO, Pipe])
def test_standard_input_takes_all_of_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[io.BytesIO]
) -> None:
    expected = [(1, "RuntimeError: one"), (2, "second line")]
    packed = zip_file(tmp_path / "a.zip", {"a": LOG.encode()}).read_bytes()
    for data in (LOG.encode(), gzip.compress(LOG.encode()), packed, LOG.encode("utf-16")):
        feed(monkeypatch, kind(data))
        assert texts("-") == expected


def test_a_zip_on_standard_input_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = zip_file(tmp_path / "a.zip", {"a": os.urandom(100_000).hex().encode()}).read_bytes()
    monkeypatch.setattr(pastes, "MAX_ZIP_ON_STDIN", 1 << 16)
    feed(monkeypatch, Pipe(packed))
    assert refusal("-") == "- is a .zip of more than 0 MiB"


def test_closed_standard_input_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert refusal("-") == "cannot read -: standard input is closed"


def test_what_is_not_there_or_no_text_is_said(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path} is a folder"
    missing = tmp_path / "missing"
    assert refusal(missing) == f"cannot read {missing}: No such file or directory"
    assert "embedded null byte" in refusal("a\0b")


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"\x89PNG\r\n", "a picture, not text"),
        (b"%PDF-1.7", "a PDF, not text"),
        (b"\xfd7zXZ\x00", "an .xz archive, not text"),
        (b"\x28\xb5\x2f\xfd", "a .zst archive, not text"),
        (b"\x7fELF\x02", "a program, not text"),
    ],
)
def test_what_it_is_instead_is_said(tmp_path: Path, start: bytes, what: str) -> None:
    file = tmp_path / "x"
    file.write_bytes(start + bytes(100))
    assert refusal(file) == f"{file} is {what}"


def test_damaged_archives_are_said(tmp_path: Path) -> None:
    file = tmp_path / "x"
    whole = gzip.compress(os.urandom(5000))
    file.write_bytes(whole[:3000])
    assert refusal(file) == f"cannot read {file}: its end is missing"
    file.write_bytes(whole[:2000] + bytes(50) + whole[2050:])
    assert refusal(file).startswith(f"cannot read {file}: Error -3")
    packed = zip_file(tmp_path / "z", {"a": os.urandom(5000).hex().encode()}).read_bytes()
    file.write_bytes(packed[:3000])
    assert refusal(file) == f"cannot read {file}: File is not a zip file"
    file.write_bytes(packed[:2000] + bytes(50) + packed[2050:])
    assert refusal(file).startswith(f"cannot read {file}: ")


def test_a_zip_with_a_password_is_said(tmp_path: Path) -> None:
    packed = bytearray(zip_file(tmp_path / "z", {"a": LOG.encode()}).read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(mark) + flags] |= 1
    file = tmp_path / "x"
    file.write_bytes(packed)
    assert "is encrypted" in refusal(file)


def test_an_archive_without_text_is_said(tmp_path: Path) -> None:
    file = zip_file(tmp_path / "x.zip", {"a.bin": bytes(500)})
    assert refusal(file) == f"{file} holds no text"
    file.write_bytes(gzip.compress(zip_file(tmp_path / "y.zip", {"a": b"x"}).read_bytes()))
    assert refusal(file) == f"{file} holds another archive"


def test_bombs_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "bomb"
    monkeypatch.setattr(pastes, "RATIO_FROM", 1 << 20)
    file.write_bytes(gzip.compress(bytes(1 << 21)))
    assert refusal(file) == f"{file} unpacks to more than 300 times its size, which no log needs"
    zip_file(file, {"a": b" \n" * (1 << 20)})
    assert "300 times its size" in refusal(file)
    monkeypatch.setattr(pastes, "MAX_UNPACKED", 1 << 20)
    file.write_bytes(gzip.compress(os.urandom(1 << 19).hex().encode() + b"more"))
    assert refusal(file) == f"{file} unpacks to more than 1 MiB, which no log needs"
    monkeypatch.setattr(pastes, "MAX_MEMBERS", 3)
    zip_file(file, {str(number): b"x" for number in range(4)})
    assert refusal(file) == f"{file} holds more than 3 files"


def test_a_repetitive_log_is_no_bomb(tmp_path: Path) -> None:
    file = tmp_path / "a.gz"
    file.write_bytes(gzip.compress(b"INFO step done, all is well\n" * 200_000))
    assert texts(file)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory as Linux counts it")
def test_memory_does_not_grow_with_the_paste(tmp_path: Path) -> None:
    block = "".join(f"step {number}: loss {number * 7 % 13}\n" for number in range(40_000)).encode()
    with subprocess.Popen(
        [sys.executable, "-c", READER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as child:
        assert child.stdin is not None
        for _ in range(10):
            child.stdin.write(block)
        child.stdin.write(b"x" * 20_000_000)
        out, _ = child.communicate(timeout=120)
    lines, peak_mib = map(int, out.split())
    assert lines > 10 * 40_000
    assert peak_mib < MEMORY_LIMIT_MIB
