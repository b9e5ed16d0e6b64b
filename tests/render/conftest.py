"""Reports built in code, and the golden files that their renderings are compared with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.finding import Advice, Evidence, Finding, Report, Skipped
from flashdoctor.model.snapshot import Conflict, Snapshot, of

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
UPDATE = "FLASHDOCTOR_UPDATE_GOLDEN"
TOOL = {"name": "flashdoctor", "version": "0.1.0"}
WHEEL = (
    "https://example.org/releases/download/v2.8.3/"
    "flash_attn-2.8.3+cu12torch2.7cxx11abiTRUE-cp310-cp310-linux_x86_64.whl"
)
PASSED = ("FD101", "FD121", "FD201", "FD301", "FD401")


def stack(**changed: Fact) -> Snapshot:
    """Return a sound H100 stack; a keyword replaces the fact whose dots it writes as `__`."""
    facts = [
        known("gpu.name", "NVIDIA H100 80GB HBM3", "NVML"),
        known("gpu.compute_capability", "9.0", "NVML"),
        known("gpu.memory_mib", 81559, "NVML"),
        known("gpu.memory_used_mib", 529, "NVML"),
        known("gpu.count", 1, "NVML"),
        known("driver.version", "570.124.06", "NVML"),
        known("driver.cuda", "12.8", "NVML"),
        known("driver.module_flavor", "open", "/proc/driver/nvidia/version"),
        known("torch.version", "2.7.1+cu126", "torch/version.py"),
        known("torch.cuda", "12.6", "torch/version.py"),
        known("torch.cxx11_abi", True, "symbols of libtorch_cpu.so"),
        known("python.version", "3.10.13", "the interpreter"),
        known("python.executable", "./.venv/bin/python", "the interpreter"),
        known("flash_attn.version", "2.8.3", "distribution metadata"),
        known("flash_attn.wheel.torch", "2.7", "distribution metadata"),
        absent("vllm.version", "distribution metadata"),
        known("os.distribution", "Ubuntu 22.04", "/etc/os-release"),
        known("os.kernel", "6.8.0-45-generic", "uname"),
        known("os.glibc", "2.35", "confstr"),
        absent("container.kind", "/proc/1/cgroup"),
        *changed.values(),
    ]
    return of(facts)


def finding(**given: Any) -> Finding:
    defaults: dict[str, Any] = {
        "id": "FD302",
        "name": "flash-attn-abi-mismatch",
        "cause": "flash-attn-abi-mismatch",
        "outcome": "fail",
        "severity": "error",
        "title": "flash-attn was built for another torch",
        "layer": "flash-attn",
        "rank": 1,
        "evidence": (
            Evidence(fact="flash_attn.wheel.torch", value="2.6", where="wheel file name"),
            Evidence(fact="torch.version", value="2.7.1+cu126", where="torch/version.py"),
            Evidence(
                fact="flash_attn.missing_symbols",
                value=["c10::Error::Error(c10::SourceLocation, std::string)"],
                where="ELF symbols",
            ),
        ),
        "fix": Advice(
            text="Replace flash-attn and keep torch.",
            commands=(f"python -m pip install --no-deps {WHEEL}",),
            safety="disruptive",
        ),
        "sources": ("https://example.org/flash-attn/releases (checked 2026-11-30)",),
        "detail": "The wheel asks for symbols of torch 2.6 that torch 2.7.1 does not export.",
    }
    return Finding(**{**defaults, **given})


CONSEQUENCE = finding(
    id="FD611",
    name="transformers-flash-attention-2-unavailable",
    severity="warning",
    title="transformers will say that flash_attention_2 is not available",
    layer="framework",
    rank=2,
    follows="FD302",
    evidence=(Evidence(fact="transformers.version", value="4.55.0", where="metadata"),),
    fix=Advice(text="Mend flash-attn first."),
    detail="",
)
SKIPPED = (
    Skipped(id="FD511", needs=("toolkit.version",), reason="nvcc timed out"),
    Skipped(id="FD702", needs=("vllm.torch_pin", "torch.cuda")),
)


def report(**given: Any) -> Report:
    defaults: dict[str, Any] = {
        "verdict": "pass",
        "exit_code": 0,
        "snapshot": stack(),
        "skipped": SKIPPED,
        "passed": PASSED,
        "matrix_date": "2026-11-30",
        "tool": TOOL,
    }
    return Report(**{**defaults, **given})


def _fail() -> Report:
    info = finding(id="FD690", severity="info", title="A newer transformers exists", evidence=())
    broken = stack(
        a=known("flash_attn.version", "2.7.4.post1", "distribution metadata"),
        b=known("flash_attn.wheel.torch", "2.6", "wheel file name"),
        c=known("transformers.version", "4.55.0", "metadata"),
    )
    return report(
        verdict="fail", exit_code=1, snapshot=broken, findings=(finding(), CONSEQUENCE, info)
    )


def _pass() -> Report:
    return report()


def _pass_live() -> Report:
    live = stack(
        a=known("live.status", "ok", "a child of the target Python"),
        b=known("live.kernel_ran", True, "a child of the target Python"),
        c=known("vllm.version", "0.10.1", "metadata"),
        d=known("gpu.visible_count", 8, "NVML"),
    )
    return report(snapshot=live, required=("flash-attn", "vllm"), skipped=())


def _warn() -> Report:
    slow = finding(
        id="FD741",
        name="vllm-attention-backend-removed",
        severity="warning",
        title="VLLM_ATTENTION_BACKEND names a backend that this vLLM no longer has",
        layer="launch",
        evidence=(
            Evidence(fact="env.vllm_attention_backend", value="XFORMERS", where="environment"),
        ),
        fix=Advice(text="Unset it.", commands=("unset VLLM_ATTENTION_BACKEND",), safety="safe"),
        detail="",
    )
    return report(verdict="warn", findings=(slow,), required=("sdpa",))


def _undetermined() -> Report:
    facts = of(
        [
            unknown("gpu.compute_capability", "NVML: driver not loaded", "NVML"),
            unknown("driver.version", "NVML: driver not loaded", "NVML"),
            known("nvml.status", "driver-not-loaded", "NVML"),
            known("torch.version", "2.7.1+cu126", "torch/version.py"),
            known("python.executable", "~/envs/my env/bin/python3.11", "the interpreter"),
        ]
    )
    return report(
        verdict="undetermined",
        exit_code=3,
        snapshot=facts,
        missing=("gpu.compute_capability", "driver.version"),
    )


def _undetermined_assumed() -> Report:
    facts = of(
        [
            known("gpu.name", "NVIDIA GeForce RTX 4090", "--assume"),
            known("gpu.compute_capability", "8.9", "matrix NVIDIA GeForce RTX 4090"),
            known("gpu.memory_mib", 24576, "--assume"),
            absent("vllm.version", "--assume"),
        ]
    )
    return report(
        verdict="undetermined",
        exit_code=3,
        snapshot=facts,
        missing=("torch.version",),
        required=("sdpa",),
        passed=(),
    )


def _undecided() -> Report:
    return report(
        verdict="undetermined",
        exit_code=3,
        missing=("flash_attn.version",),
        required=("flash-attn",),
    )


def _crash() -> Report:
    crash = finding(
        id="FD404",
        name="flash-attn-head-dim",
        cause="rule-crashed",
        outcome="crash",
        title="The rule flash-attn-head-dim crashed, so this stack was not judged by it",
        layer="internal",
        evidence=(),
        fix=Advice(text=""),
        detail="KeyError: 'head_dim_max_fwd'",
    )
    return report(verdict="fail", exit_code=1, findings=(crash,), missing=("vllm.version",))


def _many() -> Report:
    roots = tuple(
        finding(
            id=f"FD12{n}",
            name=f"driver-fault-{n}",
            title=f"Fault number {n} of the driver, which is described at some length here",
            layer="driver",
            rank=n,
            fix=Advice(text="Mend it.", commands=(f"mend --fault {n}",)),
        )
        for n in range(1, 6)
    )
    milder = tuple(
        finding(id=f"FD61{n}", severity="warning", title=f"Warning number {n}", layer="framework")
        for n in range(9)
    )
    return report(verdict="fail", exit_code=1, findings=(*roots, CONSEQUENCE, *milder))


def _conflicts() -> Report:
    pairs = tuple(
        Conflict(kept=known(path, kept, "NVML"), dropped=known(path, other, "nvidia-smi -q -x"))
        for path, kept, other in (
            ("driver.version", "570.124.06", "565.57.01"),
            ("gpu.count", 1, 2),
            ("gpu.mig_enabled", True, False),
            ("gpu.memory_mib", 81559, 40960),
        )
    )
    return report(snapshot=Snapshot(stack().facts, pairs))


HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 [bold]markup[/bold] <script>\r\n::error::pwned"
    "\n##[error]old \u202eright-to-left\u2066 \x9b2J\x00\x7f\ud800 caf\u00e9 \u65e5\u672c\u8a9e"
)


def _hostile() -> Report:
    """Every text that can come from outside says everything that must not get through."""
    bad = finding(
        title=HOSTILE,
        detail="::error file=x::" + HOSTILE,
        evidence=(
            Evidence(fact="live.error", value=HOSTILE, where=HOSTILE),
            Evidence(fact="python.shadowed", value=["::warning::a", HOSTILE], where=""),
            Evidence(line=7, value="::set-output name=a::" + HOSTILE, where="log"),
            Evidence(fact="gpu.name", value="a" * 5000 + "::error::", where="NVML"),
        ),
        fix=Advice(text="::group::" + HOSTILE, commands=("::error::\nrm", "echo '\x1b[2J  two'")),
        sources=(HOSTILE,),
    )
    facts = stack(
        a=known("gpu.name", "::error::" + HOSTILE, HOSTILE),
        b=known("os.distribution", HOSTILE, "/etc/os-release"),
        c=known("python.executable", "/tmp/\x1b[31m::error::/bin/python", "agent"),
        d=known("gpu.count", "many", "agent"),
        e=known("gpu.memory_mib", {"a": [1]}, "agent"),
        f=known("torch.cxx11_abi", "yes", "agent"),
        g=known("vllm.bundled", [{"a": {"b": ["c"]}}], "agent"),
        h=unknown("driver.version", HOSTILE, HOSTILE),
    )
    pair = Conflict(kept=facts["gpu.name"], dropped=known("gpu.name", HOSTILE, "::error::"))
    return report(
        verdict="fail",
        exit_code=1,
        snapshot=Snapshot(facts.facts, (pair,)),
        findings=(bad,),
        skipped=(Skipped(id="FD999", needs=(HOSTILE,), reason=HOSTILE),),
        missing=("driver.version",),
        tool={"name": HOSTILE, "version": "::error::"},
        matrix_date="::error::",
    )


def _nothing() -> Report:
    return Report(verdict="undetermined", exit_code=3, snapshot=Snapshot())


SAMPLES: Mapping[str, Callable[[], Report]] = {
    "fail": _fail,
    "pass": _pass,
    "pass_live": _pass_live,
    "warn": _warn,
    "undetermined": _undetermined,
    "undetermined_assumed": _undetermined_assumed,
    "undecided": _undecided,
    "crash": _crash,
    "many": _many,
    "conflicts": _conflicts,
    "hostile": _hostile,
    "nothing": _nothing,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sample" in metafunc.fixturenames:
        metafunc.parametrize("sample", SAMPLES)


@pytest.fixture
def sample_report(sample: str) -> Report:
    return SAMPLES[sample]()


@pytest.fixture
def build_report() -> Callable[[str], Report]:
    return lambda name: SAMPLES[name]()


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Return a function that compares a text with a file of tests/golden.

    With FLASHDOCTOR_UPDATE_GOLDEN=1 it writes the file. Escape sequences stand there as `\\e`.
    """

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        shown = text.replace("\x1b", "\\e")
        if os.environ.get(UPDATE):
            file.write_text(shown, encoding="utf-8")
        assert shown == file.read_text(encoding="utf-8"), f"{name} differs; {UPDATE}=1 accepts it"

    return compare
