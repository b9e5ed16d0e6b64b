from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.facts import Fact, by_path
from flashdoctor.probes.memory import (
    PATHS,
    parse_cgroup,
    parse_limit,
    parse_meminfo,
    read_memory,
)

Lay = Callable[[Mapping[str, str | bytes]], Path]
UNLIMITED_V1 = "9223372036854771712\n"
GIB = 1 << 30


def read(root: Path) -> Mapping[str, Fact]:
    facts = by_path(read_memory(root, {}))
    assert sorted(facts) == sorted(PATHS)
    return facts


def limit_of(root: Path) -> int | None:
    fact = read(root)["os.cgroup_memory_mib"]
    assert fact.state == ("absent" if fact.value is None else "known")
    return fact.value if fact.value is None else int(fact.value)


def test_physical_memory_and_shm_of_a_laid_out_machine(lay: Lay) -> None:
    root = lay({"/proc/meminfo": "MemTotal:       65536000 kB\nMemFree: 1 kB\n", "/dev/shm/x": ""})
    facts = read(root)
    assert facts["os.memory_mib"].value == 64000
    if hasattr(os, "statvfs"):
        room = os.statvfs(root / "dev/shm")
        assert facts["os.shm_mib"].value == room.f_frsize * room.f_blocks >> 20


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="sysconf of Unix")
def test_sysconf_knows_where_there_is_no_meminfo(tmp_path: Path) -> None:
    facts = read(tmp_path)
    assert facts["os.memory_mib"].source == "sysconf"
    assert facts["os.memory_mib"].value > 0
    assert facts["os.shm_mib"].state == "absent"


def test_windows_leaves_it_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sysconf", "statvfs"):
        monkeypatch.delattr(os, name, raising=False)
    facts = read(tmp_path)
    assert [facts[path].state for path in PATHS] == ["unknown", "absent", "absent"]
    (tmp_path / "dev/shm").mkdir(parents=True)
    assert read(tmp_path)["os.shm_mib"].reason == "cannot be read: not on this system"


@pytest.mark.parametrize(
    ("files", "mib"),
    [
        ({}, None),
        ({"/proc/self/cgroup": "0::/\n"}, None),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n"}, None),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": f"{GIB}\n"}, 1024),
        ({"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n",
          "/sys/fs/cgroup/a/memory.max": f"{2 * GIB}\n"}, 2048),
        ({"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": f"{3 * GIB}\n",
          "/sys/fs/cgroup/memory.max": f"{2 * GIB}\n"}, 2048),
        ({"/proc/self/cgroup": "0::/../other\n", "/sys/fs/cgroup/memory.max": f"{GIB}\n"}, 1024),
        ({"/proc/self/cgroup": "4:memory:/docker/ab\n",
          "/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}\n"}, 1024),
        ({"/proc/self/cgroup": "4:cpu,memory:/ab\n0::/\n",
          "/sys/fs/cgroup/memory/ab/memory.limit_in_bytes": f"{GIB}\n",
          "/sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED_V1}, 1024),
        ({"/proc/self/cgroup": "4:memory:/\n",
          "/sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED_V1}, None),
    ],
)  # fmt: skip
def test_the_tightest_limit_counts(files: Mapping[str, str], mib: int | None, lay: Lay) -> None:
    assert limit_of(lay(files)) == mib


@given(st.integers(0, 1 << 62))
def test_limits_are_bytes(number: int) -> None:
    assert parse_limit(f"{number}\n") == (number if number < 1 << 60 else None)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert parse_limit(text) is None or parse_limit(text) == int(text.strip())
    assert parse_meminfo(text) is None
    v1, v2 = parse_cgroup(text)
    for group in (v1, v2, *parse_cgroup(f"0::/{text}"), *parse_cgroup(f"3:memory:/{text}")):
        assert group is None or ".." not in group.split("/")


@given(st.integers(0, 1 << 40))
def test_a_total_is_read(kilobytes: int) -> None:
    text = f"MemFree:   1 kB\nMemTotal:  {kilobytes} kB\nSwapTotal: 0 kB\n"
    assert parse_meminfo(text) == kilobytes * 1024
