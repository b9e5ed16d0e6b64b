from __future__ import annotations

from pathlib import Path

import pytest

from flashdoctor.errors import UsageError
from flashdoctor.policy_file import MAX_BYTES, find_policy, named_policy

OWN = 'require = ["sdpa"]\n'
PROJECT = f"[project]\nname = 'x'\n[tool.flashdoctor]\n{OWN}"


@pytest.fixture
def deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder three below a repository, as the working directory."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    folder = tmp_path / "repo" / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def found(folder: Path, home: Path | None = None) -> str | None:
    policy = find_policy(folder, home)
    assert policy is None or policy.table == {"require": ["sdpa"]}
    return policy.file if policy else None


def test_the_nearest_one_up_to_the_repository_counts(deep: Path, tmp_path: Path) -> None:
    (tmp_path / "flashdoctor.toml").write_text(OWN, encoding="utf-8")
    assert found(deep) is None
    (tmp_path / "repo" / "flashdoctor.toml").write_text(OWN, encoding="utf-8")
    assert found(deep) == "../../flashdoctor.toml"
    (deep.parent / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    assert found(deep) == "../pyproject.toml"
    (deep / "pyproject.toml").write_text("[project]\nname = 'flashdoctor'\n", encoding="utf-8")
    assert found(deep) == "../pyproject.toml"
    (deep / "flashdoctor.toml").write_text(OWN, encoding="utf-8")
    assert found(deep) == "flashdoctor.toml"


def test_home_is_a_border_and_without_a_border_only_the_folder_counts(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "x"
    folder.mkdir(parents=True)
    (tmp_path / "home" / "flashdoctor.toml").write_text(OWN, encoding="utf-8")
    assert found(folder) is None
    assert found(folder, tmp_path / "home") == "flashdoctor.toml"
    (tmp_path / "flashdoctor.toml").write_text(OWN, encoding="utf-8")
    assert found(folder, tmp_path / "home") == "flashdoctor.toml"


def test_a_project_file_that_says_nothing_of_us_is_not_even_parsed(deep: Path) -> None:
    (deep / "pyproject.toml").write_text("this is [not TOML", encoding="utf-8")
    assert found(deep) is None


@pytest.mark.parametrize(
    "data",
    [b"a = ", b"\xff", b"a = " + b"[" * 50_000, b"a = " + b"9" * 9000, b"#" * (MAX_BYTES + 1)],
    ids=["cut", "bytes", "deep", "number", "size"],
)
def test_a_broken_policy_is_never_passed_over(deep: Path, data: bytes) -> None:
    (deep / "flashdoctor.toml").write_bytes(data)
    with pytest.raises(UsageError, match=r"policy flashdoctor\.toml"):
        find_policy(deep, None)


def test_a_named_policy_has_to_be_there(deep: Path) -> None:
    (deep / "other.toml").write_text(OWN, encoding="utf-8")
    assert named_policy("other.toml").table == {"require": ["sdpa"]}
    (deep / "pyproject.toml").write_text("[tool]\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"no \[tool\.flashdoctor\]"):
        named_policy("pyproject.toml")
    for name in ("none.toml", ".", "a\0b"):
        with pytest.raises(UsageError, match="cannot read the policy"):
            named_policy(name)
