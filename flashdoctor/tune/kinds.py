"""The kinds of findings that `lint` and `tune` have: the one place where their texts stand.

They are judged from a launch and not from facts alone, so they are no rows of matrices/rules;
`as_rules` gives them as rules for those that list and explain these.
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from flashdoctor.model.rule import Example, Fix, Judge, Rule, Severity, Source

CHECKED = date(2026, 11, 30)
_FLAGS = "matrices/launch/flags.toml: the flags of 63 vLLM releases, read from their sources"
_ENVIRONMENT = "matrices/launch/environment.toml: vllm/envs.py of 63 releases"
_PARSER = "vllm 0.33.0 utils/argparse_utils.py, FlexibleArgumentParser"
_MEMORY = "vllm v1/core/kv_cache_utils.py; matrices/launch/memory.toml"
_ATTENTION = "vllm 0.33.0 v1/attention/selector.py; matrices/launch/attention.toml"


class Kind(NamedTuple):
    """What a finding says. `cause` is a label of the taxonomy where it has one.

    `about` says when it is given; `example` is a launch, and the release, that show it.
    """

    id: str
    name: str
    severity: Severity
    title: str
    about: str
    fix: str
    source: str
    example: tuple[str, str] | None = None
    cause: str = ""
    judge: Judge = "lint"
    layer: str = "launch"

    @property
    def label(self) -> str:
        """The cause that a finding names."""
        return self.cause or self.name


UNKNOWN = Kind(
    "FD750", "launch-flag-unknown", "error", "No release of vLLM has this flag",
    "The parser ends with `unrecognized arguments` and the server does not start. Flags of other"
    " engines and old names are known by what takes their place.",
    "Write the replacement, or leave the flag out.", _FLAGS,
    ("vllm serve m --disable-cuda-graph", "0.25.1"), "vllm-flag-unrecognized",
)  # fmt: skip
REMOVED = Kind(
    "FD751", "launch-flag-removed", "error", "This release of vLLM no longer has the flag",
    "An earlier release took it; this one ends with `unrecognized arguments`.",
    "Write the replacement, or leave the flag out.", _FLAGS,
    ("vllm serve m --swap-space 4", "0.20.2"), "vllm-flag-removed",
)  # fmt: skip
TOO_NEW = Kind(
    "FD752", "launch-flag-too-new", "error", "This release of vLLM does not have the flag yet",
    "A later release takes it; this one ends with `unrecognized arguments`.",
    "Write what this release has for it, or take the later release.", _FLAGS,
    ("vllm serve m --attention-backend FLASHINFER", "0.11.0"), "vllm-flag-unrecognized",
)  # fmt: skip
AMBIGUOUS = Kind(
    "FD753", "launch-flag-ambiguous", "error", "More than one flag begins like this",
    "The parser takes an abbreviation only where one flag begins with it.",
    "Write the flag in full.", _PARSER,
    ("vllm serve m --max-num 3", "0.20.0"), "vllm-flag-unrecognized",
)  # fmt: skip
WRONG_VALUE = Kind(
    "FD754", "launch-value-wrong", "error", "The flag does not take this value",
    "It is no choice of the flag, no number, out of its range, or no JSON, as this release reads"
    " it.",
    "Write a value that it takes.", _FLAGS, ("vllm serve m --dtype bf16", "0.20.0"),
)  # fmt: skip
DEPRECATED = Kind(
    "FD755", "launch-flag-deprecated", "warning", "The flag still works and is to go",
    "The release takes it and says that a later one will not.",
    "Write the replacement now.", _FLAGS,
    ("vllm serve m --guided-decoding-backend auto", "0.11.0"), "vllm-flag-removed",
)  # fmt: skip
IGNORED = Kind(
    "FD756", "launch-flag-ignored", "warning", "The flag has no effect in this release",
    "The parser takes it and the engine does not look at it.",
    "Leave it out, or write the replacement.", _FLAGS,
    ("vllm serve m --swap-space 4", "0.13.0"),
)  # fmt: skip
EXCLUSIVE = Kind(
    "FD757", "launch-flags-exclusive", "error", "Two flags exclude each other",
    "The engine refuses the pair in this release.", "Leave one of them out.", _FLAGS,
    ("vllm serve m --attention-backend FLASH_ATTN -ac.backend FLASHINFER", "0.33.0"),
)  # fmt: skip
REPEATED = Kind(
    "FD758", "launch-flag-repeated", "warning", "The flag stands there more than once",
    "The last value counts.", "Leave one of them.", _PARSER,
    ("vllm serve m --port 1 --port 2", "0.20.0"),
)  # fmt: skip
DISAGREE = Kind(
    "FD759", "launch-flags-disagree", "error", "A flag does not go with another, or with the GPU",
    "Each is right by itself; the engine refuses them together, or on this GPU.",
    "Change the one that the finding names.", "vllm config/scheduler.py, config/model.py",
    ("vllm serve m --max-num-seqs 512 --max-num-batched-tokens 256", "0.25.1"),
)  # fmt: skip
STRAY = Kind(
    "FD760", "launch-word-stray", "error", "A word belongs to no flag",
    "The parser ends with `unrecognized arguments`.",
    "Put it behind its flag, or leave it out.", _PARSER,
    ("vllm serve m extra --port 1", "0.20.0"), "vllm-flag-unrecognized",
)  # fmt: skip
VARIABLE_IGNORED = Kind(
    "FD761", "launch-variable-ignored", "warning", "This release does not read the variable",
    "Another release did; here it changes nothing.",
    "Write the replacement, or leave it out.", _ENVIRONMENT,
    ("VLLM_ATTENTION_BACKEND=FLASH_ATTN vllm serve m", "0.25.1"), "vllm-env-var-ignored",
)  # fmt: skip
VARIABLE_UNKNOWN = Kind(
    "FD762", "launch-variable-unknown", "warning", "No release of vLLM reads the variable",
    "It begins with VLLM_ and nothing looks at it.",
    "Write the name that is meant, or leave it out.", _ENVIRONMENT,
    ("VLLM_ATENTION_BACKEND=FLASH_ATTN vllm serve m", "0.10.2"), "vllm-env-var-ignored",
)  # fmt: skip
UNFIT = Kind(
    "FD763", "launch-does-not-fit", "error", "The model does not fit with these flags",
    "Weights, activations, graphs and one request of full length are added up as the release does"
    " it; with --model and a GPU that is known.",
    "One of the changes that the finding names is enough.", _MEMORY, None,
    "kv-cache-too-small-for-max-model-len",
)  # fmt: skip
FOLKLORE = Kind(
    "FD764", "launch-folklore", "info", "A claim that posts repeat stands behind this flag",
    "The verdict on the claim is in matrices/folklore.toml.",
    "See what is true of it: flashdoctor folklore.", "matrices/folklore.toml",
)  # fmt: skip
NO_COMMAND = Kind(
    "FD765", "launch-command-too-new", "error", "This release has no such command",
    "`vllm serve` came with 0.5.2; before, the server is a module of Python.",
    "Start python -m vllm.entrypoints.openai.api_server, or take a later release.", _FLAGS,
    ("vllm serve m", "0.4.0"), "vllm-flag-unrecognized",
)  # fmt: skip
NO_BACKEND = Kind(
    "FD790", "tune-no-attention-backend", "error", "No attention backend takes this model here",
    "Each backend is gone through as the release does it for this GPU, dtype, head size, KV cache"
    " dtype and block size, and none is left.",
    "Leave the backend, the KV cache dtype and the block size to vLLM.", _ATTENTION,
    judge="tune", layer="framework",
)  # fmt: skip
DOES_NOT_FIT = Kind(
    "FD791", "tune-does-not-fit", "error", "The model does not fit",
    "Nothing that may be chosen by itself makes it start; vLLM's own words say why.",
    "One of the proposals is enough.", _MEMORY, judge="tune", layer="framework",
)  # fmt: skip
SHORTENED = Kind(
    "FD792", "tune-context-shortened", "info", "The context is shorter than the model's own",
    "The KV cache has no room for one request of the model's full length.",
    "See the proposals for what makes it longer.", _MEMORY, judge="tune", layer="framework",
)  # fmt: skip

LINT_KINDS = (
    UNKNOWN, REMOVED, TOO_NEW, AMBIGUOUS, WRONG_VALUE, DEPRECATED, IGNORED, EXCLUSIVE, REPEATED,
    DISAGREE, STRAY, VARIABLE_IGNORED, VARIABLE_UNKNOWN, UNFIT, FOLKLORE, NO_COMMAND,
)  # fmt: skip
TUNE_KINDS = (NO_BACKEND, DOES_NOT_FIT, SHORTENED)


def as_rules() -> tuple[Rule, ...]:
    """Return the kinds as rules, which a command judges instead of a row."""
    return tuple(map(_rule, (*LINT_KINDS, *TUNE_KINDS)))


def _rule(kind: Kind) -> Rule:
    facts = (
        dict(zip(("command", "vllm.version"), kind.example, strict=True)) if kind.example else {}
    )
    return Rule(
        id=kind.id,
        name=kind.name,
        cause=kind.label,
        title=kind.title,
        layer=kind.layer,
        severity=kind.severity,
        unrequired=kind.severity,
        basis="documented",
        fix=Fix(text=kind.fix),
        sources=(Source(kind.source, CHECKED),),
        examples=(Example(facts=facts, expect="fail"),) if facts else (),
        judge=kind.judge,
        note=kind.about,
    )
