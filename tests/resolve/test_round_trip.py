"""Plans against the tables they were made from, and against `check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashdoctor import pipeline, planning
from flashdoctor.data import lookup
from flashdoctor.engine.coverage import cover
from flashdoctor.engine.torch_wheels import wheel_targets
from flashdoctor.model import versions
from flashdoctor.model.plan import Plan, Resolution
from flashdoctor.model.specifiers import fits
from flashdoctor.resolve import gate, planner
from flashdoctor.resolve.machine import Machine, read_machine
from flashdoctor.resolve.rejections import want_obstacles
from flashdoctor.resolve.search import search
from flashdoctor.resolve.wants import COMPONENTS, parse_wants, required

TABLES, RULES = pipeline.tables(), pipeline.rules()
CARDS = [row["name"] for row in TABLES.compat("gpus")["gpu"]]
DRIVERS = (450, 470, 510, 525, 535, 550, 560, 570, 575, 580, 590, 595, 610)
PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
GLIBCS = ("2.28", "2.31", "2.34", "2.35", "2.36", "2.39")
PLATFORMS = ("linux_x86_64", "linux_aarch64", "win_amd64")
KINDS = {"linux_x86_64": "linux", "linux_aarch64": "aarch64", "win_amd64": "windows"}


class Case(NamedTuple):
    """One machine and what is wanted on it."""

    gpu: str
    driver: int
    python: str
    glibc: str
    platform: str
    want: str

    @property
    def assume(self) -> list[str]:
        return [
            f"gpu={self.gpu}",
            f"driver={self.driver}",
            f"python={self.python}",
            f"glibc={self.glibc}",
            f"platform={self.platform}",
        ]


X86, ARM = "linux_x86_64", "linux_aarch64"
WANTS = ("vllm", "flash-attn", "transformers")
STACKS = [
    (gpu, driver, platform, python, glibc)
    for gpu, drivers, platform in (
        ("Tesla V100-SXM2-16GB", (450, 535, 580), X86),
        ("Tesla T4", (470, 550), X86),
        ("NVIDIA A100-SXM4-80GB", (450, 525, 580), X86),
        ("NVIDIA GeForce RTX 3090", (510, 570), X86),
        ("NVIDIA GeForce RTX 4090", (535, 590), X86),
        ("NVIDIA H100 80GB HBM3", (525, 550, 610), X86),
        ("NVIDIA B200", (570, 595), X86),
        ("NVIDIA GeForce RTX 5090", (570, 580), X86),
        ("NVIDIA GH200 480GB", (550, 580), ARM),
        ("NVIDIA GB200", (570, 610), ARM),
        ("NVIDIA GB10", (580,), ARM),
    )
    for driver in drivers
    for python, glibc in (("3.9", "2.28"), ("3.10", "2.31"), ("3.12", "2.35"), ("3.14", "2.39"))
]
GRID = [
    Case(gpu, driver, python, glibc, platform, WANTS[number % 3])
    for number, (gpu, driver, platform, python, glibc) in enumerate(STACKS)
]


@cache
def resolved(case: Case) -> Resolution:
    return planning.resolve(pipeline.assume(case.assume), wants=[case.want])


def label(item: Any) -> str | None:
    if not isinstance(item, Case):
        return None
    return "-".join([*item.gpu.split()[-2:], str(item.driver), item.python, item.glibc, item.want])


def test_the_grid_is_as_wide_as_promised() -> None:
    planned = [case for case in GRID if resolved(case).plan]
    assert len(planned) >= 60
    assert {case.driver for case in planned} >= {450, 610}
    assert {case.python for case in planned} == {"3.9", "3.10", "3.12", "3.14"}
    assert {case.glibc for case in planned} == {"2.28", "2.31", "2.35", "2.39"}
    assert {case.platform for case in planned} == {X86, ARM}
    assert len({case.gpu for case in planned}) == 11


@pytest.mark.parametrize("case", GRID, ids=label)
def test_a_plan_keeps_every_pin_and_floor_and_check_passes_it(case: Case) -> None:
    found = resolved(case)
    if found.plan is None:
        assert found.obstacles
        return
    mistakes = [*_torch_mistakes(case, found.plan), *_vllm_mistakes(case, found.plan)]
    mistakes += _flash_attn_mistakes(case, found.plan)
    mistakes += _transformers_mistakes(case, found.plan)
    assert not mistakes
    report = pipeline.judge_snapshot(pipeline.assume(found.assume), required=found.require)
    assert report.exit_code == 0, [item.detail for item in report.findings]
    assert not report.missing


def _torch_mistakes(case: Case, plan: Plan) -> Iterator[str]:
    release = lookup.torch_release(TABLES, plan.torch)
    variant = lookup.torch_variant(TABLES, plan.torch, plan.torch_cuda)
    assert release is not None
    assert variant is not None
    if versions.order(f"{case.driver}.999") < versions.order(variant["min_driver_linux"]):  # type: ignore[operator]
        yield f"driver {case.driver} is below {variant['min_driver_linux']}"
    if f"cp{case.python.replace('.', '')}" not in release["pythons_linux_x86_64"]:
        yield f"no torch wheel for {case.python}"
    if versions.order(case.glibc) < versions.order(release["glibc_floor"]):  # type: ignore[operator]
        yield f"glibc {case.glibc} is below {release['glibc_floor']}"
    row = lookup.gpu(TABLES, case.gpu)
    on = versions.capability(row["compute_capability"]) if row else None
    kind: Any = KINDS[case.platform]
    if on is None or not cover(wheel_targets(variant, kind), on):
        yield f"no code for {on}"
    if (
        plan.torch_is_default
        and case.platform == X86
        and release["default_cuda"] != plan.torch_cuda
    ):
        yield "not the variant that the package index serves"
    if plan.triton and not fits(plan.triton, release["triton"]):
        yield f"triton {plan.triton} is not {release['triton']}"


def _vllm_mistakes(case: Case, plan: Plan) -> Iterator[str]:
    if plan.vllm is None:
        return
    row = lookup.vllm_release(TABLES, plan.vllm)
    assert row is not None
    if lookup.vllm_torch_pin(TABLES, plan.vllm) != plan.torch:
        yield f"vllm pins {row['torch']}"
    if versions.major(row["index_wheel_cuda"]) != versions.major(plan.torch_cuda):
        yield "another CUDA major than vllm's"
    if not fits(case.python, row["requires_python"]):
        yield f"vllm takes Python {row['requires_python']}"
    if versions.order(case.glibc) < versions.order(row["glibc_floor_tag"]):  # type: ignore[operator]
        yield f"vllm needs glibc {row['glibc_floor_tag']}"
    if not any(tag.endswith(case.platform.removeprefix("linux_")) for tag in row["wheel_tags"]):
        yield "vllm has no such wheel"
    if not fits(plan.transformers or "", row["transformers"]):
        yield f"vllm takes transformers {row['transformers']}"


def _flash_attn_mistakes(case: Case, plan: Plan) -> Iterator[str]:
    if plan.flash_attn is None:
        return
    row = lookup.flash_attn_release(TABLES, plan.flash_attn)
    assert row is not None
    if bool(plan.builds) == bool(plan.flash_attn_wheel):
        yield "neither one wheel nor one build"
    if plan.flash_attn_wheel is None:
        return
    wanted = (
        (versions.minor(plan.torch), row["wheel_torch_minors"]),
        (f"cp{case.python.replace('.', '')}", row["wheel_pythons"]),
        (case.platform, row["wheel_platforms"]),
    )
    yield from (f"{item} is not in {listed}" for item, listed in wanted if item not in listed)
    needed = row.get("wheel_glibc_needed")
    if needed and versions.order(case.glibc) < versions.order(needed):  # type: ignore[operator]
        yield f"the wheel needs glibc {needed}"


def _transformers_mistakes(case: Case, plan: Plan) -> Iterator[str]:
    row = lookup.transformers_release(TABLES, plan.transformers or "")
    if plan.transformers is None or row is None:
        return
    if not fits(case.python, row["requires_python"]):
        yield f"transformers takes Python {row['requires_python']}"
    if row["torch"].startswith(">=") and not fits(plan.torch, row["torch"].partition(",")[0]):
        yield f"transformers takes torch {row['torch']}"


def _is_possible(machine: Machine, wants: Sequence[Any]) -> bool:
    ruled_out = list(want_obstacles(machine, wants, ()))
    return not ruled_out and not gate.machine_obstacles(machine, RULES, required(wants))


MACHINES = st.builds(
    Case,
    gpu=st.sampled_from(CARDS),
    driver=st.sampled_from(DRIVERS),
    python=st.sampled_from(PYTHONS),
    glibc=st.sampled_from(GLIBCS),
    platform=st.sampled_from(PLATFORMS),
    want=st.just(""),
)
NAMES = st.lists(st.sampled_from(list(COMPONENTS)), min_size=1, max_size=3, unique=True)


@settings(max_examples=120, deadline=None)
@given(MACHINES, NAMES, st.booleans())
def test_the_first_candidate_passes_check_before_any_rule_has_sorted_it_out(
    case: Case, names: list[str], wsl: bool
) -> None:
    assume = [*case.assume, *(["wsl=2"] if wsl and case.platform == X86 else [])]
    wants = parse_wants(names)
    machine = read_machine(pipeline.assume(assume), TABLES)
    if not _is_possible(machine, wants):
        return
    for candidate in search(machine, wants).candidates[:1]:
        plan = planner.make_plan(candidate, machine)
        items = [*assume, *gate.plan_assumptions(machine, plan)]
        report = pipeline.judge_snapshot(pipeline.assume(items), required=required(wants))
        assert report.exit_code == 0, (items, [item.detail for item in report.findings])
        assert not report.missing


INSTALLED = {
    "torch": st.sampled_from(
        ["absent", "2.6.0+cu124", "2.8.0+cpu", "2.8.0+cu128", "2.9.1", "2.15.0", "2.9.0a0+nv25.9"]
    ),
    "vllm": st.sampled_from(["absent", "0.10.2", "0.19.1", "0.33.0", "99.0"]),
    "transformers": st.sampled_from(["absent", "4.57.6", "5.24.0"]),
    "flash_attn": st.sampled_from(
        [
            "absent",
            "2.8.3",
            "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl",
        ]
    ),
    "cuda_toolkit": st.sampled_from(["absent", "12.8.1", "13.0"]),
}


@settings(max_examples=60, deadline=None)
@given(MACHINES, NAMES, st.fixed_dictionaries({}, optional=INSTALLED), st.booleans())
def test_whatever_is_installed_there_is_a_sound_plan_or_a_reason(
    case: Case, names: list[str], installed: dict[str, str], keep: bool
) -> None:
    assume = [*case.assume, *(f"{key}={value}" for key, value in installed.items())]
    found = planning.resolve(pipeline.assume(assume), wants=names, keep=["torch"] if keep else [])
    if found.plan is None:
        assert found.obstacles
        return
    if keep:
        assert versions.public(installed["torch"]) == versions.public(found.plan.torch)
    report = pipeline.judge_snapshot(pipeline.assume(found.assume), required=found.require)
    assert report.exit_code == 0, (assume, [item.detail for item in report.findings])


@pytest.mark.parametrize("case", [case for case in GRID if case.want == "vllm"], ids=label)
def test_no_newer_vllm_would_have_passed_check(case: Case) -> None:
    found = planning.resolve(pipeline.assume(case.assume), wants=["vllm"])
    passing = _newest_passing(case)
    planned = found.plan.vllm if found.plan else None
    assert planned == passing, (found.obstacles, found.rejected)


def _newest_passing(case: Case) -> str | None:
    """Try every release of the table with its torch, the newest first, by `check` alone."""
    word = case.platform.removeprefix("linux_")
    for row in reversed(TABLES.compat("vllm")["release"]):
        torch = lookup.vllm_torch_pin(TABLES, row["version"]) or ""
        for variant in TABLES.compat("torch")["variant"]:
            if variant["minor"] != versions.minor(torch) or not variant["advertised"]:
                continue
            if not any(tag.endswith(word) for tag in row["wheel_tags"]):
                continue  # check takes such a vLLM for one that somebody compiled
            stack = [f"vllm={row['version']}", f"torch={torch}+{variant['tag']}"]
            facts = pipeline.assume([*case.assume, *stack])
            if pipeline.judge_snapshot(facts, required=["vllm"]).exit_code == 0:
                return str(row["version"])
    return None
