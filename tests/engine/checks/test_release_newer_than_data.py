from __future__ import annotations

from flashdoctor import pipeline
from flashdoctor.engine.checks.release_newer_than_data import newest_known
from flashdoctor.model.finding import Finding

TABLES = pipeline.tables()


def findings(*assumed: str) -> list[Finding]:
    report = pipeline.judge_snapshot(pipeline.assume(assumed), select=["FD901"])
    return list(report.findings)


def test_all_newer_releases_are_told_once_and_as_an_info() -> None:
    [found] = findings("torch=98.0.0", "vllm=98.1.0", "transformers=4.57.6", "flash_attn=98.2")
    assert found.severity == "info"
    for part in ("torch 98.0.0", "vLLM 98.1.0", "flash-attn 98.2", TABLES.date):
        assert part in found.detail
    assert "transformers" not in found.detail


def test_what_the_tables_end_with_is_not_newer() -> None:
    names = {"torch": "torch", "vllm": "vllm", "transformers": "transformers"}
    newest = [f"{name}={newest_known(TABLES, table)}" for name, table in names.items()]
    assert findings(*newest) == []
    assert findings(f"torch={newest_known(TABLES, 'torch')}+cu132", "flash_attn=absent") == []


def test_a_later_patch_or_post_release_is_newer() -> None:
    for name, table in (("vllm", "vllm"), ("flash_attn", "flash_attn")):
        newest = newest_known(TABLES, table)
        later = f"{newest.partition('.post')[0]}.post99"
        [found] = findings(f"{name}={later}")
        assert f"they end at {newest}" in found.detail
