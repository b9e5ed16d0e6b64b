"""pip as a child process: played by a script, and (with a network) the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flashdoctor.errors import TargetError
from flashdoctor.upkeep.index import PipIndex
from flashdoctor.upkeep.verify import Wanted

SCRIPT = """#!{python}
import pathlib, shutil, sys
words = sys.argv[1:]
assert words[:2] == ["-m", "pip"]
with open({log!r}, "a") as log:
    print(*words[2:], file=log)
if "--version" in words:
    print("pip {version} from /somewhere (python 3.12)")
elif "index" in words:
    sys.stdout.write(pathlib.Path({data!r}, "listing_vllm.txt").read_text())
elif "--report" in words:
    name, version = words[-1].split("==")
    if version == "9.9":
        sys.exit("ERROR: No matching distribution found for vllm==9.9 at https://index.example/")
    report = pathlib.Path({data!r}, f"report_{{name}}_{{version}}.json")
    shutil.copy(report, words[words.index("--report") + 1])
"""
VLLM = Wanted("vllm", "0.33.0", "3.11", "manylinux_2_28_x86_64")


@pytest.fixture
def pip(tmp_path: Path, data: Path) -> Callable[[str], str]:
    """Return a function that makes an interpreter whose pip has a version."""

    def make(version: str) -> str:
        file = tmp_path / "python"
        log = tmp_path / "log.txt"
        text = SCRIPT.format(python=sys.executable, version=version, data=str(data), log=str(log))
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)
        return str(file)

    return make


@pytest.mark.skipif(os.name == "nt", reason="the script that plays pip needs a shebang")
def test_pip_is_asked_and_nothing_is_installed(pip: Callable[[str], str], tmp_path: Path) -> None:
    index = PipIndex(pip("25.3"))
    assert {file.version for file in index.files("vllm")} >= {"0.33.0", "0.10.2"}
    [found] = index.metadata([VLLM])
    assert (found.name, found.version, found.file) == (
        "vllm", "0.33.0", "vllm-0.33.0-cp38-abi3-manylinux_2_28_x86_64.whl",
    )  # fmt: skip
    assert (index.calls, index.pip) == (2, "25.3")
    asked = (tmp_path / "log.txt").read_text(encoding="utf-8").splitlines()[-1].split()
    wanted = {"--dry-run", "--no-deps", "--use-feature=fast-deps", "--only-binary=:all:"}
    assert wanted <= set(asked)
    assert not Path(asked[asked.index("--target") + 1]).exists()


@pytest.mark.skipif(os.name == "nt", reason="the script that plays pip needs a shebang")
def test_why_pip_gave_up_is_told_without_addresses(pip: Callable[[str], str]) -> None:
    index = PipIndex(pip("26.0"))
    with pytest.raises(TargetError, match=r"status 1: No matching .* vllm==9.9 at the index"):
        index.metadata([VLLM._replace(version="9.9")])


@pytest.mark.skipif(os.name == "nt", reason="the script that plays pip needs a shebang")
def test_a_pip_that_would_download_wheels_is_not_asked(pip: Callable[[str], str]) -> None:
    with pytest.raises(TargetError, match=r"pip 25\.2 would download every wheel whole"):
        PipIndex(pip("25.2"))


def test_no_pip_at_all(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be started"):
        PipIndex(str(tmp_path / "nothing"))


@pytest.mark.network
@pytest.mark.skipif(
    os.environ.get("FLASHDOCTOR_NETWORK") != "1", reason="FLASHDOCTOR_NETWORK=1 reaches the index"
)
def test_the_real_index_says_what_was_recorded(tmp_path: Path, data: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "v"], check=True, timeout=120)
    python = str(tmp_path / "v" / ("Scripts" if os.name == "nt" else "bin") / "python")
    upgrade = [python, "-m", "pip", "install", "-q", "-U", "pip>=25.3"]
    subprocess.run(upgrade, check=True, timeout=300)
    index = PipIndex(python)
    assert "0.33.0" in {file.version for file in index.files("vllm")}
    [found] = index.metadata([VLLM])
    assert str(found.requires_python) in (data / "report_vllm_0.33.0.json").read_text(
        encoding="utf-8"
    )
    assert any(line.startswith("torch==") for line in found.requires)
