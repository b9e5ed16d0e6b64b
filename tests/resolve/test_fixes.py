"""Fixes as check and diagnose print them: one plan at the root cause, and it heals."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor import pipeline
from flashdoctor.logs.lines import read_lines
from flashdoctor.model.catalog import SHORT_NAMES
from flashdoctor.model.finding import Finding, Remedy, Report
from flashdoctor.resolve.aftermath import GROUPS
from flashdoctor.resolve.fixes import exact_fixes

TOML = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
WHAT_IFS = Path(__file__).parent.parent / "data" / "what_ifs.toml"
FAILING = [
    case for case in TOML.loads(WHAT_IFS.read_text(encoding="utf-8"))["case"] if case["exit"] == 1
]
HOST = ("python=3.12", "platform=linux_x86_64", "glibc=2.35", "driver=570")
WHEELS = "https://github.com/Dao-AILab/flash-attention/releases/download"


def judged(assume: Iterable[str], require: Iterable[str] = ()) -> Report:
    facts = pipeline.assume(assume)
    return pipeline.judge_snapshot(facts, required=list(require))  # type: ignore[arg-type]


def exact(*assume: str, require: str = "") -> Report:
    return pipeline.exact_fixes(judged(assume, require.split()))


def planned(report: Report) -> list[Finding]:
    return [item for item in report.findings if item.fix.plan]


def named(report: Report, id_: str) -> Finding:
    return next(item for item in report.findings if item.id == id_)


def stack_after(assume: Iterable[str], plan: Remedy) -> list[str]:
    """Return the assumed stack with the plan's releases in the place of what they replace."""
    names = [name.replace("flash-attn-", "fa") for name in (*plan.releases, *plan.removes)]
    prefixes = tuple(prefix for name in names for prefix in GROUPS[name])
    new = {item.partition("=")[0] for item in plan.assume}
    kept = [item for item in assume if (key := item.partition("=")[0]) not in new]
    kept = [
        item
        for item in kept
        if not SHORT_NAMES.get(key := item.partition("=")[0], key).startswith(prefixes)
    ]
    return [*kept, *plan.assume]


def assert_healed(assume: list[str], require: list[str]) -> None:
    before = judged(assume, require)
    roots = planned(pipeline.exact_fixes(before))
    assert len(roots) <= 1
    for root in roots:
        plan = root.fix.plan
        assert plan is not None
        assert root.fix.commands
        assert root.id in plan.heals
        after = judged(stack_after(assume, plan), require)
        failed = {item.id for item in after.findings if item.outcome == "fail"}
        assert not failed & set(plan.heals), (assume, plan)
        assert errors(after) <= errors(before), (assume, plan)


def errors(report: Report) -> set[str]:
    return {item.id for item in report.findings if item.severity == "error"}


def label(case: dict[str, Any]) -> str:
    return " ".join(case["assume"])


@pytest.mark.parametrize("case", FAILING, ids=label)
def test_the_fix_of_a_known_stack_heals(case: dict[str, Any]) -> None:
    assert_healed(case["assume"], case.get("require", []))
    stated = {item.partition("=")[0] for item in case["assume"]}
    host = [item for item in HOST if item.partition("=")[0] not in stated]
    assert_healed([*case["assume"], *host], case.get("require", []))


TABLES = pipeline.tables()
RELEASES = {
    name: [row["version"] for row in TABLES.compat(name)["release"]]
    for name in ("flash_attn", "vllm", "transformers", "torch")
}
BUILDS = [
    f"{row['version']}+{variant['tag']}"
    for row in TABLES.compat("torch")["release"]
    for variant in TABLES.compat("torch")["variant"]
    if variant["minor"] == row["minor"]
]
WHEEL_NAMES = st.builds(
    "flash_attn-{}+cu12torch{}cxx11abi{}-{}-{}-linux_x86_64.whl".format,
    st.sampled_from(RELEASES["flash_attn"]),
    st.sampled_from(["2.4", "2.6", "2.7", "2.8"]),
    st.sampled_from(["TRUE", "FALSE"]),
    st.sampled_from(["cp310", "cp312"]),
    st.sampled_from(["cp310", "cp312"]),
)
ABSENT = st.just("absent")
MACHINES = st.fixed_dictionaries(
    {
        "gpu": st.sampled_from([row["name"] for row in TABLES.compat("gpus")["gpu"]]),
        "driver": st.sampled_from(["470", "525", "550", "570", "580", "610"]),
        "python": st.sampled_from(["3.9", "3.10", "3.12", "3.14"]),
        "platform": st.sampled_from(["linux_x86_64", "linux_aarch64", "win_amd64"]),
        "glibc": st.sampled_from(["2.28", "2.31", "2.35", "2.39"]),
        "torch": st.sampled_from([*RELEASES["torch"], *BUILDS, "2.8.0+cpu"]) | ABSENT,
    },
    optional={
        "vllm": st.sampled_from(RELEASES["vllm"]) | ABSENT,
        "transformers": st.sampled_from(RELEASES["transformers"]) | ABSENT,
        "flash_attn": st.sampled_from(RELEASES["flash_attn"]) | WHEEL_NAMES | ABSENT,
        "cuda_toolkit": st.sampled_from(["12.4", "12.8", "13.0"]) | ABSENT,
    },
)
NEEDS = st.lists(
    st.sampled_from(["sdpa", "flash-attn", "fa3", "fa4", "vllm", "transformers"]), max_size=2
)


@settings(max_examples=60, deadline=None)
@given(MACHINES, NEEDS)
def test_whatever_is_wrong_the_commands_heal_what_they_say(
    stack: dict[str, str], require: list[str]
) -> None:
    assert_healed([f"{key}={value}" for key, value in stack.items()], require)


def test_flash_attn_is_replaced_by_the_wheel_for_this_torch() -> None:
    old = "flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl"
    found = exact(*HOST, "gpu=H100", "torch=2.7.1+cu126", f"flash_attn={old}")
    root, follower = named(found, "FD302"), named(found, "FD303")
    file = "flash_attn-2.8.3.post1+cu12torch2.7cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
    assert root.fix.commands == (
        "pip uninstall -y flash-attn",
        f"pip install {WHEELS}/v2.8.3.post1/{file}",
    )
    assert root.fix.plan == Remedy(
        releases={"flash-attn": "2.8.3.post1"},
        assume=(f"flash_attn={file}",),
        heals=("FD302", "FD303"),
    )
    assert "Here the commands install flash-attn 2.8.3.post1; torch 2.7.1 stays." in root.fix.text
    assert (follower.fix.commands, follower.fix.healed_by) == ((), "FD302")
    assert follower.fix.text.endswith("The commands of FD302 mend this as well.")


def test_one_block_of_commands_for_what_has_one_cause() -> None:
    """Before there were plans three findings named three different torch releases."""
    stack = ("gpu=V100", "torch=2.11.0+cu130", "vllm=0.19.1", "transformers=4.57.6")
    found = exact(*HOST, *stack, require="vllm")
    acting = [item.id for item in found.findings if item.fix.commands and item.severity != "info"]
    assert acting == ["FD201"]
    assert named(found, "FD201").fix.commands == (
        "pip install torch==2.10.0 vllm==0.19.1 transformers==4.57.6",
    )


def test_what_a_plan_makes_needless_is_not_asked_for() -> None:
    """A torch with a ready wheel needs no compiler: the finding about nvcc gives no commands."""
    stack = ("gpu=A100", "torch=2.9.1", "flash_attn=absent", "cuda_toolkit=absent")
    found = exact(*HOST, *stack, require="flash-attn")
    assert named(found, "FD306").fix.commands[-1].endswith(".whl")
    needless = named(found, "FD501").fix
    assert (needless.commands, needless.healed_by) == ((), "FD306")


def test_a_generation_is_called_by_the_name_that_pip_knows() -> None:
    stack = ("gpu=H100", "driver=580", "torch=2.9.1", "flash_attn_3.version=absent")
    fix = planned(exact(*HOST[:3], *stack, require="fa3"))[0].fix
    assert fix.plan is not None
    assert fix.plan.releases == {"flash-attn-3": "3.0.0"}
    assert "Here the commands install flash-attn-3 3.0.0; torch 2.9.1 stays." in fix.text


def test_what_goes_with_torch_is_said_and_uninstalled() -> None:
    stack = ("gpu=V100", "torch=2.11.0+cu130", "flash_attn=2.8.3", "vllm=0.19.1")
    fix = planned(exact(*HOST, *stack, require="vllm"))[0].fix
    assert fix.commands[0] == "pip uninstall -y flash-attn"
    assert "The installed flash-attn was compiled for the torch that goes" in fix.text
    assert fix.plan is not None
    assert fix.plan.removes == ("flash-attn",)


def test_flash_attn_4_is_laid_over_the_new_flash_attn_again() -> None:
    stack = ("gpu=H100", "torch=2.8.0+cu128", "flash_attn=2.7.4.post1+torch2.6")
    found = exact(*HOST, *stack, "flash_attn_4.version=4.0.0b36")
    assert named(found, "FD302").fix.commands[-1] == (
        "pip install --force-reinstall --no-deps flash-attn-4==4.0.0b36"
    )


def test_torchvision_follows_torch() -> None:
    stack = ("gpu=RTX 5090", "torch=2.6.0+cu124", "torchvision.version=0.21.0")
    first = planned(exact(*HOST, *stack))[0].fix.commands[0]
    assert first.startswith("pip install --upgrade torch==")
    assert " torchvision --index-url " in first


def test_an_environment_without_pip_gets_commands_for_uv() -> None:
    fix = planned(exact(*HOST, "gpu=A100", "torch=2.9.1+cu130", "python.pip=false"))[0].fix
    assert fix.commands == (
        "uv pip install torch==2.9.1+cu128 --index-url https://download.pytorch.org/whl/cu128",
    )


def test_a_build_says_what_it_takes() -> None:
    stack = ("gpu=H100", "torch=2.15.0+cu130", "flash_attn=absent", "driver=580")
    fix = planned(exact(*HOST[:3], *stack, require="flash-attn"))[0].fix
    assert "compiled with nvcc of CUDA 13.0, which has to be there first" in fix.text
    assert fix.commands[-1].endswith("flash-attn==2.8.3.post2")


def test_what_nobody_stated_is_left_open() -> None:
    fix = planned(exact("gpu=A100", "driver=535", "python=3.12", "torch=2.9.1+cu130"))[0].fix
    assert fix.leaves_open == ("os.platform", "os.glibc")
    assert fix.text.endswith("Not known here, and left open: the platform and glibc.")


STACK = (*HOST, "gpu=H100", "torch=2.7.1+cu126", "flash_attn=2.7.4.post1+torch2.6")


def without(key: str) -> Report:
    return exact(*(item for item in STACK if not item.startswith(f"{key}=")))


@pytest.mark.parametrize("lacking", ["gpu", "torch"])
def test_too_little_for_a_plan_leaves_general_commands(lacking: str) -> None:
    found = without(lacking)
    assert not planned(found)
    for item in found.findings:
        if item.fix.leaves_open:
            assert item.fix.commands
            assert "Not known here, and left open: " in item.fix.text
    assert lacking == "torch" or named(found, "FD302").fix.leaves_open


@pytest.mark.parametrize(("lacking", "path"), [("python", "version"), ("platform", "os.platform")])
def test_no_wheel_is_named_for_a_python_or_platform_that_nobody_stated(
    lacking: str, path: str
) -> None:
    fix = named(without(lacking), "FD302").fix
    assert fix.commands == (
        "pip uninstall -y flash-attn",
        "pip install packaging psutil ninja wheel setuptools",
        "pip install --no-build-isolation --no-cache-dir flash-attn==2.8.3.post1",
    )
    assert [item for item in fix.leaves_open if item.endswith(path)]
    assert ".whl" not in str(fix.plan)


def test_nothing_is_planned_on_what_a_text_only_mentions() -> None:
    report = judged([*HOST, "gpu=H100", "torch=2.7.1+cu126", "flash_attn=2.7.4.post1+torch2.6"], [])
    doubted = exact_fixes(report, TABLES, pipeline.rules(), {"torch.version"})
    assert not planned(doubted)
    assert "torch.version" in named(doubted, "FD302").fix.leaves_open


@pytest.mark.parametrize("gpu", ["Orin", "AMD Instinct MI300X"])
def test_a_machine_outside_the_tables_gets_no_torch_of_another(gpu: str) -> None:
    report = judged([*HOST[:1], f"gpu={gpu}", "torch=2.8.0+cpu", "flash_attn=absent"])
    left = pipeline.exact_fixes(report)
    assert not planned(left)
    for before, after in zip(report.findings, left.findings, strict=True):
        others = [line for line in before.fix.commands if "download.pytorch.org" not in line]
        assert list(after.fix.commands) == others


def test_a_command_that_would_not_mend_it_goes() -> None:
    found = exact(*HOST, "gpu=GTX 1080", "torch=2.8.0+cu126", "vllm=0.11.0", require="vllm")
    fix = named(found, "FD603").fix
    assert fix.commands == ()
    assert "No releases in the tables mend it on this machine as it is: vllm" in fix.text
    assert ".." not in fix.text


def test_a_report_without_such_findings_is_handed_back_as_it_is() -> None:
    for report in (judged([*HOST, "gpu=A100", "torch=2.8.0"]), judged(["gpu=absent"])):
        assert pipeline.exact_fixes(report) is report


PASTE = """\
NVIDIA A100-SXM4-40GB, 550.90.07, 8.0
ldd (GNU libc) 2.35
Python 3.10.12

$ pip list
Package      Version
------------ ------------
torch        2.4.0+cu121
torch.version.cuda: 12.1

ImportError: /usr/local/lib/python3.10/dist-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-\
gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char
"""
QUERY = "$ nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv\n"
HEADING = "name, driver_version, compute_cap\n"


def test_a_paste_that_tells_enough_gets_the_very_wheel() -> None:
    report = pipeline.diagnose(read_lines([(QUERY + HEADING + PASTE).encode()]))
    fix = report.findings[0].fix
    file = "flash_attn-2.7.4.post1+cu12torch2.4cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"
    assert fix.commands == (
        "pip uninstall -y flash-attn",
        f"pip install {WHEELS}/v2.7.4.post1/{file}",
    )
    assert not fix.leaves_open


def test_a_paste_that_does_not_says_what_is_open() -> None:
    error = PASTE.strip().splitlines()[-1]
    report = pipeline.diagnose(read_lines([error.encode()]))
    fix = report.findings[0].fix
    assert fix.plan is None
    assert fix.commands[0].endswith("--no-build-isolation flash-attn")
    assert {"gpu.compute_capability", "torch.version"} <= set(fix.leaves_open)
    assert "python.version" not in fix.leaves_open


def test_what_a_plan_leaves_wrong_is_not_installed_anew() -> None:
    wheel = "flash_attn-2.5.9+cu122torch2.4cxx11abiFALSE-cp312-cp312-linux_x86_64.whl"
    stack = ("gpu=V100", "torch=2.9.1+cu128", "vllm=0.16.0", "transformers=5.6.2")
    report = exact(*HOST, *stack, f"flash_attn={wheel}", require="vllm flash-attn")
    assert [item.fix.plan.releases for item in planned(report) if item.fix.plan] == [
        {"transformers": "4.57.6"}
    ]
    for id_ in ("FD302", "FD303", "FD611"):
        fix = named(report, id_).fix
        assert not [line for line in fix.commands if "flash-attn" in line]
        assert "beside what FD612 installs: flash-attn: flash-attn 2 needs" in fix.text


def test_a_jetson_is_not_sent_to_the_index_of_other_machines() -> None:
    board = ("gpu=Jetson AGX Orin", "platform=linux_aarch64", "python=3.10", "torch=2.5.0+cpu")
    report = exact(*board, "flash_attn=absent", require="flash-attn")
    fix = named(report, "FD203").fix
    assert fix.commands == ()
    assert fix.text.endswith(
        "Jetson and Drive boards take torch from NVIDIA's own index, which no table covers."
    )
    assert named(report, "FD306").fix.commands
