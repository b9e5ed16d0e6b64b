from __future__ import annotations

from pathlib import Path

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.engine.derive import derive
from flashdoctor.model.lint import LintFinding
from flashdoctor.model_folder import read_model
from flashdoctor.tune.forms import read_commands
from flashdoctor.tune.lint import Named, context_of, table_for
from flashdoctor.tune.lint_fit import fit_findings

TABLES = load_tables()
MODEL = Path(__file__).parents[1] / "data" / "models" / "llama3.1-8b"


def fit(flags: str, *assumed: str, version: str = "0.25.1") -> list[LintFinding]:
    [command] = read_commands(f"vllm serve m {flags}")
    facts = derive(read_assumptions(assumed), TABLES)
    table = table_for(Named(version, "the test"), TABLES)
    context = context_of(command, table, TABLES, facts)
    return list(fit_findings(context, read_model(str(MODEL))))


def test_a_context_that_is_too_long_for_the_card() -> None:
    [found] = fit("--max-model-len 131072", "gpu=RTX 4090")
    assert found.finding.name == "launch-does-not-fit"
    assert "16.0 GiB KV cache is needed" in found.finding.detail
    assert found.flag == "--max-model-len"
    assert found.replacement is not None
    length = int(found.replacement.split()[1])
    assert 16384 < length < 131072
    assert fit(f"--max-model-len {length}", "gpu=RTX 4090") == []


def test_too_small_a_share_of_the_card() -> None:
    [found] = fit("--gpu-memory-utilization 0.12", "gpu=H200")
    assert found.flag == "--gpu-memory-utilization"


@pytest.mark.parametrize("flags", ["", "--max-model-len auto", "--max-model-len 131072"])
def test_what_fits_raises_nothing(flags: str) -> None:
    assert fit(flags, "gpu=H200") == []


def test_a_length_that_vllm_shortens_by_itself_fits() -> None:
    assert fit("--max-model-len auto", "gpu=RTX 4090") == []


def test_nothing_is_said_without_a_gpu_or_with_values_that_are_wrong() -> None:
    assert fit("--max-model-len 131072", "vllm=0.25.1") == []
    assert fit("--gpu-memory-utilization many", "gpu=RTX 4090") == []


def test_graphs_that_are_off_are_not_counted() -> None:
    for flags in (
        "--compilation-config.cudagraph_mode NONE",
        """-cc '{"cudagraph_mode": "none"}'""",
    ):
        [found] = fit(f"{flags} --max-model-len 131072", "gpu=RTX 4090")
        assert found.flag == "--max-model-len"
