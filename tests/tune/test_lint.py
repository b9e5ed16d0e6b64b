"""What a lint says of launches, release by release."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.engine.derive import derive
from flashdoctor.model.lint import LintFinding
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.tune.forms import read_commands
from flashdoctor.tune.lint import Named, context_of, decide, lint_context, ranked, table_for

TABLES = load_tables()
DOCUMENTED = Path(__file__).parents[1] / "data" / "launch" / "documented.toml"


def lint(text: str, version: str, *assumed: str) -> tuple[LintFinding, ...]:
    facts = derive(read_assumptions(assumed), TABLES) if assumed else Snapshot()
    found: list[LintFinding] = []
    for command in read_commands(text):
        table = table_for(Named(version, "the test"), TABLES)
        found += lint_context(context_of(command, table, TABLES, facts))
    return ranked(found)


def only(text: str, version: str, *assumed: str) -> LintFinding:
    [one] = lint(text, version, *assumed)
    return one


def eras() -> list[tuple[str, str]]:
    toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    body = toml.loads(DOCUMENTED.read_text(encoding="utf-8"))
    return [(era["version"], text) for era in body["era"] for text in era["commands"]]


def test_there_are_ten_documented_commands_of_each_era() -> None:
    versions = [version for version, _ in eras()]
    assert len(set(versions)) == 6
    assert all(versions.count(version) >= 10 for version in set(versions))


@pytest.mark.parametrize(("version", "text"), eras())
def test_no_alarm_is_raised_about_documented_commands(version: str, text: str) -> None:
    assert read_commands(text)
    assert lint(text, version) == ()


@pytest.mark.parametrize(
    ("text", "version", "kind", "flag", "replacement"),
    [
        ("--disable-cuda-graph", "0.25", "launch-flag-unknown", "--disable-cuda-graph",
         "--enforce-eager"),
        ("--model-names x", "0.10.2", "launch-flag-unknown", "--model-names",
         "--served-model-name"),
        ("--tp 2", "0.20.0", "launch-flag-unknown", "--tp", "--tensor-parallel-size"),
        ("--n-gpu-layers 99", "0.20.0", "launch-flag-unknown", "--n-gpu-layers", None),
        ("--max_seq_len 4096", "0.20.0", "launch-flag-unknown", "--max_seq_len",
         "--max-model-len"),
        ("--tp-size 2", "0.20.0", "launch-flag-unknown", "--tp-size", "--tensor-parallel-size"),
        ("--max-num-sequences 2", "0.20.0", "launch-flag-unknown", "--max-num-sequences",
         "--max-num-seqs"),
        ("--swap-space 4", "0.20", "launch-flag-removed", "--swap-space", "--kv-offloading-size"),
        ("--task embed", "0.13.0", "launch-flag-removed", "--task", "--runner, --convert"),
        ("--no-enable-lora-bias", "0.20.0", "launch-flag-removed", "--no-enable-lora-bias", None),
        ("--cudagraph-capture-sizes 1 2", "0.10.0", "launch-flag-too-new",
         "--cudagraph-capture-sizes", "--cuda-graph-sizes"),
        ("--attention-backend FLASHINFER", "0.11.0", "launch-flag-too-new", "--attention-backend",
         None),
        ("--max-num 3", "0.20.0", "launch-flag-ambiguous", "--max-num", None),
        ("--swap-space 4", "0.13.0", "launch-flag-ignored", "--swap-space",
         "--kv-offloading-size"),
        ("--disable-cascade-attn", "0.33.0", "launch-flag-ignored", "--disable-cascade-attn", None),
        ("--guided-decoding-backend auto", "0.11.0", "launch-flag-deprecated",
         "--guided-decoding-backend", "--structured-outputs-config.backend"),
        ("--port 1 --port 2", "0.20.0", "launch-flag-repeated", "--port", None),
        ("extra --port 1", "0.20.0", "launch-word-stray", "extra", None),
    ],
)  # fmt: skip
def test_names(text: str, version: str, kind: str, flag: str, replacement: str | None) -> None:
    found = only(f"vllm serve m {text}", version)
    assert (found.finding.name, found.flag, found.replacement) == (kind, flag, replacement)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("--swap-space 4", "0.10"),
        ("--max_num_seqs 8 --gpu-mem 0.9 --tensor_parallel_size=2", "0.10.2"),
        ("--no-enable-prefix-caching -O3 -tp 2", "0.10.2"),
        ("--disable-log-requests", "0.33.0"),
        ("--max-model-len 32k --max-num-batched-tokens 8K", "0.8.4"),
        ("--max-model-len auto", "0.14.0"),
        ("--model=$MODEL --port ${PORT} $EXTRA", "0.20.0"),
        ("--attention-backend flash_attn", "0.25.1"),
        ("--kv-cache-dtype fp8", "0.33.0"),
        ("-O2", "0.20.0"),
        ("--enable-chunked-prefill=false", "0.8.4"),
        ("--enable-chunked-prefill false", "0.7.0"),
        ("--max-num-batched-tokens 2048 --max-model-len 8192", "0.10.0"),
    ],
)
def test_what_is_right_raises_nothing(text: str, version: str) -> None:
    assert lint(f"vllm serve m {text}", version) == ()


@pytest.mark.parametrize(
    ("text", "version", "replacement"),
    [
        ("--gpu-memory-utilization 90", "0.20.0", "--gpu-memory-utilization 0.9"),
        ("--gpu-memory-utilization 0", "0.20.0", None),
        ("--enable-chunked-prefill=false", "0.10.2", "--no-enable-chunked-prefill"),
        ("--enforce-eager true", "0.10.2", "--enforce-eager"),
        ("--no-enforce-eager=true", "0.10.2", "--no-enforce-eager"),
        ("--trust-remote-code=False", "0.6.6", None),
        ("--max-model-len 32k", "0.8.3", "--max-model-len 32000"),
        ("--max-model-len auto", "0.13.0", None),
        ("--max-model-len 1.5K", "0.20.0", None),
        ("--max-num-seqs many", "0.20.0", None),
        ("--tensor-parallel-size 0", "0.20.0", None),
        ("--dtype bf16", "0.20.0", "--dtype bfloat16"),
        ("--kv-cache-dtype fp9", "0.20.0", "--kv-cache-dtype fp8"),
        ("--block-size 17", "0.10.2", "--block-size 16"),
        ("--max-num-seqs", "0.20.0", None),
        ("--limit-mm-per-prompt image=4,video=1", "0.20.0",
         "--limit-mm-per-prompt '{\"image\": 4, \"video\": 1}'"),
        ("--speculative-config nonsense", "0.20.0", None),
        ("--attention-backend FLASHATTN", "0.25.1", "--attention-backend FLASH_ATTN"),
        ("--attention-backend FLASH_ATTENTION", "0.25.1", "--attention-backend FLASH_ATTN"),
        ("--gpu-memory-utilization 0,85", "0.25.1", "--gpu-memory-utilization 0.85"),
        ("--enable-chunked-prefill=maybe", "0.8.3", None),
    ],
)  # fmt: skip
def test_values(text: str, version: str, replacement: str | None) -> None:
    found = only(f"vllm serve m {text}", version)
    assert (found.finding.name, found.finding.severity) == ("launch-value-wrong", "error")
    assert found.replacement == replacement


def test_a_value_that_a_plugin_could_add_is_a_warning() -> None:
    found = only("vllm serve m --quantization mine", "0.20.0")
    assert (found.finding.name, found.finding.severity) == ("launch-value-wrong", "warning")


@pytest.mark.parametrize(
    ("text", "version", "assumed", "flag"),
    [
        ("--max-num-batched-tokens 128 --max-num-seqs 256", "0.25.1", (),
         "--max-num-batched-tokens"),
        ("--max-num-batched-tokens 2048 --max-model-len 8192", "0.7.3", (),
         "--max-num-batched-tokens"),
        ("--max-num-batched-tokens 2048 --max-model-len 8192 --no-enable-chunked-prefill",
         "0.20.0", (), "--max-num-batched-tokens"),
        ("--tensor-parallel-size 8", "0.25.1", ("gpu=H200", "gpu_count=4"),
         "--tensor-parallel-size"),
        ("--dtype bfloat16", "0.25.1", ("gpu=Tesla T4",), "--dtype"),
        ("--max-cudagraph-capture-size 8 --cudagraph-capture-sizes 1 16", "0.20.0", (),
         "--max-cudagraph-capture-size"),
        ("--kv-cache-dtype float16 --dtype bfloat16", "0.33.0", (), "--kv-cache-dtype"),
        ("--max-num-batched-tokens 64", "0.9.1", (), "--max-num-batched-tokens"),
        ("--max-num-seqs 4096", "0.25.1", ("gpu=RTX 4090",), "--max-num-seqs"),
        ("--max-num-seqs 9000", "0.25.1", (), "--max-num-seqs"),
    ],
)  # fmt: skip
def test_flags_that_disagree(text: str, version: str, assumed: tuple[str, ...], flag: str) -> None:
    found = only(f"vllm serve m {text}", version, *assumed)
    assert (found.finding.name, found.finding.severity) == ("launch-flags-disagree", "error")
    assert found.flag == flag
    assert found.replacement


@pytest.mark.parametrize(
    ("text", "version", "assumed"),
    [
        ("--max-num-batched-tokens 64", "0.10.2", ()),  # the requests follow it
        ("--max-num-seqs 4096", "0.25.1", ("gpu=H200",)),
        ("--max-num-seqs 9000", "0.33.0", ("gpu=B200",)),
        ("--max-num-seqs 4096", "0.25.1", ()),
        ("--max-num-seqs 4096", "0.9.1", ("gpu=RTX 4090",)),  # by the context, in V0
        ("--max-num-seqs 9000 --no-enable-chunked-prefill", "0.25.1", ()),
        ("--max-num-seqs $SEQS", "0.25.1", ()),
        ("--max-num-batched-tokens $TOKENS", "0.9.1", ()),
    ],
)
def test_a_batch_that_holds_what_is_not_given(
    text: str, version: str, assumed: tuple[str, ...]
) -> None:
    assert lint(f"vllm serve m {text}", version, *assumed) == ()


@pytest.mark.parametrize(
    ("text", "version", "needed"),
    [
        ("--enable-auto-tool-choice", "0.6.6", "--tool-call-parser"),
        ("--enable-auto-tool-choice", "0.25.1", "--tool-call-parser"),
        ("--enable-log-outputs", "0.12.0", "--enable-log-requests"),
        ("--enable-log-outputs --no-enable-log-requests", "0.33.0", "--enable-log-requests"),
    ],
)
def test_a_flag_that_needs_another(text: str, version: str, needed: str) -> None:
    found = only(f"vllm serve m {text}", version)
    assert (found.finding.name, found.finding.severity) == ("launch-flags-disagree", "error")
    assert found.finding.title == f"{found.flag} needs {needed}"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("--enable-auto-tool-choice --tool-call-parser hermes", "0.25.1"),
        ("--no-enable-auto-tool-choice", "0.25.1"),
        ("--enable-log-outputs", "0.10.2"),
        ("--enable-log-outputs --enable-log-requests", "0.33.0"),
    ],
)
def test_a_flag_that_has_what_it_needs(text: str, version: str) -> None:
    assert lint(f"vllm serve m {text}", version) == ()


@pytest.mark.parametrize("dash", ["\u2014", "\u2013", "\u2013\u2013"])
def test_a_dash_of_a_word_processor_is_named(dash: str) -> None:
    found = only(f"vllm serve m {dash}max-model-len 4096", "0.25.1")
    assert (found.finding.name, found.replacement) == ("launch-word-stray", "--max-model-len")


def test_a_blank_behind_a_backslash_is_named() -> None:
    found = only("vllm serve m \\ \n  --port 80\n", "0.25.1")
    assert found.finding.name == "launch-word-stray"
    assert "backslash" in found.finding.title


def test_a_blank_in_a_value_behind_an_equals_sign_makes_no_word_of_it() -> None:
    text = """vllm serve m --override-generation-config='{"attn_temperature_tuning": true}'"""
    assert lint(text, "0.9.1") == ()
    assert only("vllm serve m --foo='a b'", "0.9.1").flag == "--foo"


@pytest.mark.parametrize(
    ("text", "version", "severity"),
    [
        ("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve m --enable-sleep-mode",
         "0.10.2", "error"),
        ("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve m -tp 2", "0.25.1",
         "warning"),
        (("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve m --kv-transfer-config"
         """ '{"kv_connector": "NixlConnector"}'"""), "0.25.1", "error"),
    ],
)  # fmt: skip
def test_expandable_segments_do_not_go_with_everything(
    text: str, version: str, severity: str
) -> None:
    found = only(text, version)
    assert (found.finding.name, found.finding.severity) == ("launch-flags-disagree", severity)
    assert found.flag == "PYTORCH_CUDA_ALLOC_CONF"


@pytest.mark.parametrize(
    "text",
    [
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve m",
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False vllm serve m -tp 2",
        (
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve m -tp 2"
            " --disable-custom-all-reduce"
        ),
        (
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve m --enable-sleep-mode"
            """ --kv-transfer-config '{"kv_connector": "NixlConnector"}'"""
        ),
    ],
)
def test_expandable_segments_by_themselves_are_fine(text: str) -> None:
    assert lint(text, "0.25.1") == ()


def test_flags_that_exclude_each_other() -> None:
    for other in ("-ac.backend FLASHINFER", """--attention-config '{"backend": "FLASHINFER"}'"""):
        found = only(f"vllm serve m --attention-backend FLASH_ATTN {other}", "0.33.0")
        assert found.finding.name == "launch-flags-exclusive"
    assert (
        lint("vllm serve m --attention-backend FLASH_ATTN -ac.flash_attn_version 2", "0.33.0") == ()
    )


@pytest.mark.parametrize(
    ("variable", "version", "kind", "replacement"),
    [
        ("VLLM_ATTENTION_BACKEND=FLASHINFER", "0.10", None, None),
        ("VLLM_ATTENTION_BACKEND=FLASHINFER", "0.13.0", "launch-variable-ignored",
         "--attention-backend FLASHINFER"),
        ("VLLM_ATTENTION_BACKEND=TRITON_ATTN_VLLM_V1", "0.25", "launch-variable-ignored",
         "--attention-backend TRITON_ATTN"),
        ("VLLM_USE_V1=0", "0.25.1", "launch-variable-ignored", None),
        ("VLLM_WSL2_ENABLE_PIN_MEMORY=1", "0.20.0", "launch-variable-ignored", None),
        ("VLLM_ATTENTION_BACKENDS=X", "0.10.2", "launch-variable-unknown",
         "VLLM_ATTENTION_BACKEND"),
        ("VLLM_LOGGING_LEVEL=DEBUG CUDA_VISIBLE_DEVICES=0 MY_OWN=1", "0.25.1", None, None),
    ],
)  # fmt: skip
def test_variables(variable: str, version: str, kind: str | None, replacement: str | None) -> None:
    found = [
        (one.finding.name, one.replacement) for one in lint(f"{variable} vllm serve m", version)
    ]
    assert found == ([(kind, replacement)] if kind else [])


def test_a_strict_start_makes_a_variable_an_error() -> None:
    text = "VLLM_NONSENSE=1 vllm serve m --fail-on-environ-validation"
    assert only(text, "0.25.1").finding.severity == "error"


def test_releases_beyond_the_tables_get_warnings_only() -> None:
    found = only("vllm serve m --brand-new 1", "9.9")
    assert (found.finding.name, found.finding.severity) == ("launch-flag-unknown", "warning")


def test_the_command_itself_has_its_release() -> None:
    found = only("vllm serve org/m --port 1", "0.4.0")
    assert found.finding.name == "launch-command-too-new"
    assert found.replacement == "python -m vllm.entrypoints.openai.api_server --model org/m"


def test_folklore_is_pointed_at() -> None:
    found = only("vllm serve meta-llama/Llama-2-13b-hf --quantization awq", "0.10.2")
    assert (found.finding.severity, found.finding.name) == ("info", "launch-folklore")
    assert "awq-at-load" in found.finding.detail
    assert lint("vllm serve TheBloke/Llama-2-13B-AWQ --quantization awq", "0.10.2") == ()
    claim = only("vllm serve m --disable-cuda-graph", "0.25.1").finding
    assert "Folklore: disable-cuda-graph" in claim.detail


def test_lines_and_verdicts() -> None:
    text = "VLLM_USE_V1=0 \\\nvllm serve m \\\n  --port 1 \\\n  --foo\n"
    findings = lint(text, "0.25.1")
    assert [(one.flag, one.line) for one in findings] == [("--foo", 4), ("VLLM_USE_V1", 1)]
    assert decide(findings, "error") == ("fail", 1)
    assert decide(findings[1:], "error") == ("warn", 0)
    assert decide(findings[1:], "warning") == ("warn", 1)
    assert decide(findings, "never") == ("fail", 0)
    assert decide((), "warning") == ("pass", 0)


def test_no_secret_is_shown() -> None:
    found = only("VLLM_MY_API_KEY=hush-hush vllm serve m", "0.25.1")
    assert "hush" not in str(found.to_json())


@settings(max_examples=60, deadline=None)  # a long command takes its time
@given(st.lists(st.sampled_from(sorted(set(" ".join(text for _, text in eras()).split())))),
       st.sampled_from(["0.3.0", "0.6.6", "0.8.4", "0.10.1", "0.25.1", "0.40"]))  # fmt: skip
def test_any_mixture_of_words_is_judged(words: list[str], version: str) -> None:
    for one in lint("vllm serve " + " ".join(words), version):
        assert one.flag
        assert one.finding.title
