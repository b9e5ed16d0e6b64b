from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from flashdoctor.model.plan import Build, Plan, Rejection, Resolution
from flashdoctor.render.resolve_text import render
from flashdoctor.render.style import Style

MACHINE = (
    ("gpu", "NVIDIA GeForce RTX 4090 (8.9)"),
    ("driver", "550.54.14"),
    ("python", "3.12.4"),
    ("platform", "linux_x86_64"),
)
PLAN = Plan(
    python="3.12.4",
    python_is_stated=True,
    platform="linux_x86_64",
    torch="2.10.0",
    torch_cuda="12.8",
    torch_index="cu128",
    torch_index_url="https://download.pytorch.org/whl/cu128",
    torch_is_default=True,
    triton="3.6.0",
    vllm="0.19.1",
    transformers="4.56.2",
)
REJECTED = tuple(
    Rejection(candidate=f"vllm 0.{minor}.0", reason="needs a newer driver", helps="driver 580")
    for minor in range(20, 28)
)
FOUND = Resolution(
    wants=("vllm",),
    machine=MACHINE,
    plan=PLAN,
    commands=("pip install torch==2.10.0 vllm==0.19.1 transformers==4.56.2",),
    why=("vllm 0.19.1 is the newest release whose wheel runs on this machine.",),
    notes=("Something to know about it.",),
    rejected=REJECTED,
    require=("vllm",),
)
BUILT = replace(
    FOUND,
    wants=("flash-attn",),
    plan=replace(
        PLAN,
        vllm=None,
        transformers=None,
        torch_is_default=False,
        flash_attn="2.8.3.post2",
        python_is_stated=False,
        builds=(
            Build(
                package="flash-attn",
                version="2.8.3.post2",
                toolkit="12.8",
                has_toolkit=False,
                environment={"MAX_JOBS": "4"},
            ),
        ),
    ),
    rejected=(),
    require=("flash-attn",),
)
NONE = replace(
    FOUND,
    plan=None,
    obstacles=(
        Rejection(candidate="FD122", reason="The driver is too old.", helps="Update the driver."),
        Rejection(candidate="fa3", reason="made for Hopper", helps="--want flash-attn"),
    ),
)
HOSTILE = replace(
    FOUND,
    wants=("vllm\x1b[31m",),
    machine=(("gpu", "::error::\x1b]0;title\x07 card"),),
    why=("::error::a line\nand another",),
    rejected=(Rejection(candidate="\x1b[2J", reason="##[error] \u202e reversed"),),
)
SCREENS = {"plan": FOUND, "build": BUILT, "none": NONE, "hostile": HOSTILE}


@pytest.mark.parametrize("name", SCREENS)
def test_golden(golden: Callable[[str, str], None], name: str) -> None:
    golden(f"resolve_{name}.txt", render(SCREENS[name], Style(width=80)))


def test_colour_and_marks() -> None:
    assert render(FOUND, Style(color=True, unicode=True)).startswith("\x1b[32m\u2713\x1b[0m plan")
    assert render(NONE, Style(color=True)).startswith("\x1b[31mx\x1b[0m no plan")


def test_verbose_shows_everything_that_was_left_out() -> None:
    assert "and 2 more" in render(FOUND, Style())
    text = render(FOUND, Style(verbose=True))
    assert text.count("needs a newer driver") == len(REJECTED)


def test_commands_are_never_wrapped() -> None:
    text = render(FOUND, Style(width=60))
    assert f"    {FOUND.commands[0]}\n" in text


def test_nothing_from_outside_reaches_the_terminal_alive() -> None:
    text = render(HOSTILE, Style())
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
