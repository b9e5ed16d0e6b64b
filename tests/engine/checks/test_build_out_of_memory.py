from __future__ import annotations

from typing import Any

CHECK = "build-out-of-memory"
BUILD = {"torch.version": "2.12.0", "flash_attn.version": None}


def test_the_limit_of_a_container_is_not_seen_by_the_build(ask: Any) -> None:
    facts = {
        **BUILD,
        "os.memory_mib": 512 * 1024,
        "os.cgroup_memory_mib": 32 * 1024,
        "os.cpu_count": 64,
    }
    judgement = ask(CHECK, facts, "flash-attn")
    assert judgement.values == {"advice.jobs": "3"}
    assert judgement.detail == ("setup.py would run 32 jobs of about 9 GiB, 32 GiB may be used.")


def test_few_cores_start_few_jobs(ask: Any) -> None:
    facts = {
        **BUILD,
        "os.memory_mib": 512 * 1024,
        "os.cgroup_memory_mib": 32 * 1024,
        "os.cpu_count": 4,
    }
    assert ask(CHECK, facts, "flash-attn").outcome == "pass"


def test_one_job_is_never_less_than_one(ask: Any) -> None:
    judgement = ask(CHECK, {**BUILD, "os.memory_mib": 4096}, "flash-attn")
    assert judgement.values == {"advice.jobs": "1"}
