from __future__ import annotations

from collections.abc import Callable
from datetime import date

from flashdoctor.model.rule import Example, Fix, Rule, Source
from flashdoctor.render.rule_text import explain_text, list_text
from flashdoctor.render.style import Style

DATA_RULE = Rule(
    id="FD302",
    name="flash-attn-torch-mismatch",
    cause="flash-attn-abi-mismatch",
    title="flash-attn was built for another torch",
    layer="flash-attn",
    severity="error",
    unrequired="warning",
    basis="documented",
    component="flash-attn",
    when={
        "all": [
            {"fact": "flash_attn.wheel.torch", "op": "ne", "ref": "torch.minor"},
            {"not": {"fact": "torch.build", "op": "in", "value": ["cpu", "rocm"]}},
            {"any": [{"required": "flash-attn"}, {"fact": "vllm.version", "op": "absent"}]},
        ]
    },
    fix=Fix(
        text="Replace flash-attn by a build for {torch.minor}.",
        commands=("python -m pip install --no-deps flash-attn=={advice.version}",),
        safety="disruptive",
    ),
    sources=(Source(url="https://example.org/flash-attn", checked=date(2026, 11, 30)),),
    examples=(
        Example(facts={"torch.version": "2.7.1", "flash_attn.wheel.torch": "2.6"}, expect="fail"),
        Example(
            facts={"vllm.version": None, "torch.cxx11_abi": True, "gpu.name": "RTX 4090"},
            expect="skip",
            require=("flash-attn",),
        ),
    ),
    follows=("FD201",),
    decides=("flash-attn",),
    note="The wheel's name is taken at its word.",
)
CODE_RULE = Rule(
    id="FD101",
    name="gpu-too-old",
    cause="gpu-too-old",
    title="This GPU is older than any flash attention",
    layer="kernel",
    severity="warning",
    unrequired="warning",
    basis="measured",
    check="gpu-too-old",
    fix=Fix(text="Use another GPU."),
    sources=DATA_RULE.sources,
    examples=(Example(facts={"gpu.compute_capability": "7.0"}, expect="fail"),),
)


def test_golden(golden: Callable[[str, str], None]) -> None:
    parts = [
        list_text([CODE_RULE, DATA_RULE], Style(width=60)),
        list_text([CODE_RULE, DATA_RULE], Style(width=80, verbose=True)),
        explain_text(DATA_RULE, Style(width=80)),
        explain_text(CODE_RULE, Style(width=60)),
    ]
    golden("rules.txt", "=====\n".join(parts))


def test_lines_fit_but_commands_do_not_break() -> None:
    text = explain_text(DATA_RULE, Style(width=60))
    assert f"    {DATA_RULE.fix.commands[0]}\n" in text
    assert all(len(line) <= 60 for line in text.splitlines() if not line.startswith("    "))
