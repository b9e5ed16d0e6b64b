from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import flashdoctor
from flashdoctor.target.payload import program


def test_a_program_is_ascii_and_valid() -> None:
    for agent in ("collect", "live"):
        text = program(agent, {"name": "\u00fc\n'\"", "nothing": None})
        assert text.isascii()
        compile(text, agent, "exec")


def test_the_agents_can_be_read_from_a_zip_file(tmp_path: Path) -> None:
    package = Path(next(iter(flashdoctor.__path__)))
    archive = tmp_path / "flashdoctor.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in package.rglob("*.py"):
            file.write(path, path.relative_to(package.parent))
    code = "from flashdoctor.target.payload import program; print(len(program('collect', {})))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(archive)!r}); {code}"],
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    assert int(done.stdout) == len(program("collect", {}))
