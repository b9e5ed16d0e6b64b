from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.errors import TargetNotFoundError
from flashdoctor.model.facts import Fact
from flashdoctor.target.collect import Collected, agent_paths, collect_facts


def index(collected: Collected) -> dict[str, Fact]:
    return {fact.path: fact for fact in collected.facts}


def test_an_empty_environment_is_absent_and_not_unknown(site: Any) -> None:
    found = site.facts()
    assert found["python.status"].value == "ok"
    assert found["python.error"].state == "absent"
    assert found["python.environment"].value == "venv"
    assert found["python.pip"].value is False
    for name in ("torch", "flash_attn", "vllm", "transformers", "flash_attn_3", "numpy"):
        assert found[f"{name}.version"].state == "absent", name
    assert found["flash_attn.leftover"].value is False
    assert [fact.path for fact in found.values() if fact.state == "unknown"] == []


def test_every_package_of_the_catalogue_is_looked_for(site: Any) -> None:
    stated = {path for path in site.facts() if path.endswith(".version")}
    expected = {path for path in agent_paths() if path.endswith(".version")}
    assert expected <= stated


def test_a_folder_in_the_working_directory_that_hides_a_package_is_named(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch", "flash_attn"):
        site.install(name, "2.0", files={f"{name}/__init__.py": ""})
    here = tmp_path / "checkout"
    (here / "flash_attn").mkdir(parents=True)
    (here / "torch").mkdir()
    monkeypatch.chdir(here)
    assert site.facts()["python.shadowed"].value == [], "a namespace portion hides nothing"
    (here / "flash_attn/__init__.py").touch()
    (here / "vllm.py").touch()
    assert site.facts()["python.shadowed"].value == ["flash_attn"], "vllm is not installed"
    (here / "torch.py").touch()
    assert site.facts()["python.shadowed"].value == ["torch", "flash_attn"]
    monkeypatch.chdir(site.packages)
    assert site.facts()["python.shadowed"].value == [], "it is the installed copy itself"


def test_a_deleted_working_directory_is_no_problem(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert site.facts()["python.shadowed"].value == []


def test_a_file_name_that_is_no_text_can_still_be_opened(site: Any, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    package = folder / "xformers"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "_C.so").write_text("here", encoding="utf-8")
    collected = site.look({"PYTHONPATH": str(folder)})
    file = Path(collected.files["extensions"]["xformers"])
    assert file.read_text(encoding="utf-8") == "here"
    assert index(collected)["python.pythonpath"].value == [f"{tmp_path}/caf?"]


def test_odd_entries_on_the_path_are_passed_over(site: Any) -> None:
    site.write("sitecustomize.py", "import sys; sys.path += [None, 5, b'x', 'a\\0b', '/gone.zip']")
    assert site.facts()["python.status"].value == "ok"


def test_packages_of_the_user_site_are_named(site: Any, tmp_path: Path) -> None:
    config = site.root / "pyvenv.cfg"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("packages = false", "packages = true"), encoding="utf-8")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = tmp_path / "base/lib" / version / "site-packages"
    info = folder / "transformers-4.57.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Version: 4.57.1\n", encoding="utf-8")
    found = site.facts({"PYTHONUSERBASE": str(tmp_path / "base")})
    assert found["python.user_site"].value is True
    assert found["python.user_site_packages"].value == ["transformers"]
    assert found["transformers.version"].value == "4.57.1"


@pytest.mark.parametrize(
    ("text", "status"),
    [("exit 0", "silent"), ("kill -SEGV $$", "crashed"), ("sleep 300", "timeout")],
)
def test_a_target_that_fails_is_a_fact(
    script: Callable[[str], Path], text: str, status: str
) -> None:
    timeout_s = 0.5 if status == "timeout" else 20
    python, environ = script(text), {"PATH": "/usr/bin:/bin"}
    found = index(collect_facts(python, environ=environ, timeout_s=timeout_s))
    assert found["python.status"].value == status
    assert str(found["python.error"].value)
    for path in ("torch.version", "flash_attn.version", "vllm.version", "numpy.version"):
        assert found[path].state == "unknown"
        assert status in found[path].reason
    assert "driver.version" not in found


def test_a_target_that_is_too_old_still_tells_its_version(
    interpreter: Callable[[str], Path],
) -> None:
    found = index(collect_facts(interpreter("3.6"), environ={"PATH": "/usr/bin:/bin"}))
    assert found["python.status"].value == "too-old"
    assert found["python.version"].value.startswith("3.6.")


def test_only_a_target_that_was_named_raises_where_it_is_not_found(tmp_path: Path) -> None:
    gone = tmp_path / "python"
    assert index(collect_facts(gone))["python.status"].value == "not-found"
    with pytest.raises(TargetNotFoundError):
        collect_facts(gone, named=True)


def test_a_report_that_lies_about_types_is_not_trusted(script: Callable[[str], Path]) -> None:
    body = (
        '{"agent": "collect", "facts": [{"path": "torch.version", "state": "known", "value": 7}, '
        '{"path": "no.such", "state": "known", "value": 1}, 5], '
        '"files": {"torch_lib": 5, "extensions": {"vllm": "/x.so", "evil": "/y", "xformers": 1}}}'
    )
    collected = collect_facts(
        script(f"echo 'FLASHDOCTOR-AGENT-V1 {body}'"), environ={"PATH": "/usr/bin:/bin"}
    )
    found = index(collected)
    assert found["torch.version"].state == "unknown"
    assert collected.files == {"extensions": {"vllm": "/x.so"}}


def test_a_large_environment_is_quick(site: Any) -> None:
    for number in range(300):
        site.install(f"package-{number}", "1.0", files={f"package_{number}/__init__.py": ""})
    site.look()
    best = min(timed(site.look) for _ in range(5))
    assert best < 0.5, "the published number is far below; this only catches a scan of all metadata"


def timed(step: Callable[[], object]) -> float:
    started = time.perf_counter()
    step()
    return time.perf_counter() - started
