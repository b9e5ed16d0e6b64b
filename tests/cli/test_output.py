from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flashdoctor.cli.output import style_for, write_file
from flashdoctor.errors import UsageError


class Terminal(io.StringIO):
    """A stream that says it is a terminal of an encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the class has an attribute here
        return self._encoding

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("env", "color", "unicode"),
    [
        ({"TERM": "xterm"}, True, True),
        ({}, True, True),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"CI": "1"}, False, False),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="older Windows consoles show no colour")
def test_a_terminal_decides(env: dict[str, str], color: bool, unicode: bool) -> None:
    style = style_for(Terminal(), env)
    assert (style.color, style.unicode) == (color, unicode)


def test_other_encodings_and_streams_are_plain() -> None:
    assert not style_for(Terminal("latin-1"), {}).unicode
    assert not style_for(io.StringIO(), {}).color
    assert not style_for(None, {}).color
    closed = Terminal()
    closed.close()
    assert style_for(io.StringIO(), {}).width == 80


@pytest.mark.parametrize(
    ("columns", "width"), [("100", 100), ("0", 80), ("", 80), ("-5", 80), ("wide", 80)]
)
def test_columns_states_the_width(columns: str, width: int) -> None:
    assert style_for(io.StringIO(), {"COLUMNS": columns}).width == width
    assert style_for(None, {"COLUMNS": columns}).width == 80


def test_a_file_is_written_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    write_file(file, "one\n")
    file.chmod(0o640)
    write_file(file, "two\n")
    assert file.read_text(encoding="utf-8") == "two\n"
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old", encoding="utf-8")
    link.symlink_to(real)
    write_file(link, "new")
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == "new"


def test_a_device_is_written_to_as_it_is() -> None:
    write_file(Path(os.devnull), "gone")


@pytest.mark.skipif(os.name == "nt", reason="a file system of Linux")
def test_a_pipe_that_has_no_real_name_is_written_to() -> None:
    reader, writer = os.pipe()
    write_file(Path(f"/dev/fd/{writer}"), ["one", "two"])
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert pipe.read() == "onetwo"
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("name", ["missing/file", ".", "nul\x00"])
def test_what_cannot_be_written_is_wrong_usage(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        write_file(tmp_path / name, "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "encoding"), [("html", "latin-1"), ("junit", "ascii")])
def test_a_document_that_names_its_encoding_has_it_in_every_locale(
    name: str, encoding: str
) -> None:
    command = [sys.executable, "-m", "flashdoctor", "check", "--assume", "torch=2.6.0"]
    command += ["--assume", "os=Ubuntu 22.04 \N{LATIN SMALL LETTER E WITH ACUTE}", "--format", name]
    outputs = [
        subprocess.run(
            command, capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": each}
        ).stdout
        for each in (encoding, "utf-8")
    ]
    assert "\N{LATIN SMALL LETTER E WITH ACUTE}" in outputs[0].decode()
    assert outputs[0] == outputs[1]
