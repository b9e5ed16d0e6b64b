"""How long `flashdoctor check` takes, as ratios; medians of 10 runs each.

    python tests/bench/bench_check.py

Run it with an interpreter that has flashdoctor installed. The second ratio needs torch in the
same environment.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TypeAlias

RUNS = 10
CHECK = (str(Path(sys.executable).with_name("flashdoctor")), "check", "--format", "json")

Commands: TypeAlias = dict[str, tuple[str, ...]]
Medians: TypeAlias = dict[str, float]


def seconds(*command: str) -> float:
    """Return how long one whole process takes."""
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=False)
    return time.perf_counter() - start


def in_turns(commands: Commands) -> Medians:
    """Return the median of each command in ms; they take turns, so that all meet the same machine.

    One warm-up round is not counted.
    """
    rounds = [{name: seconds(*args) for name, args in commands.items()} for _ in range(RUNS + 1)]
    return {name: 1000 * statistics.median(turn[name] for turn in rounds[1:]) for name in commands}


def in_blocks(commands: Commands) -> Medians:
    """Return the same with all runs of one command behind one another, as a shell loop has them."""
    blocks = {name: [seconds(*args) for _ in range(RUNS + 1)] for name, args in commands.items()}
    return {name: 1000 * statistics.median(block[1:]) for name, block in blocks.items()}


def show(how: str, medians: Medians) -> None:
    bare, collect = medians["bare interpreter"], medians.get("torch's collect_env")
    print(how)
    for name, median in medians.items():
        print(f"  {name:20} {median:7.1f} ms   {median / bare:6.1f} x bare interpreter")
    if collect is not None:
        print(f"  check takes {medians['check'] / collect:.3f} of torch's collect_env")


def main() -> None:
    commands: Commands = {
        "bare interpreter": (sys.executable, "-c", "pass"),
        "check": (*CHECK, "--python", sys.executable),
        "check --assume": (*CHECK, "--assume", "gpu=L4", "--assume", "torch=2.5.1+cu124"),
    }
    if importlib.util.find_spec("torch") is not None:
        commands["torch's collect_env"] = (sys.executable, "-m", "torch.utils.collect_env")
    show("in turns", in_turns(commands))
    show("in blocks", in_blocks(commands))
    if "torch's collect_env" not in commands:
        print("torch's collect_env was not measured: no torch in this environment")


if __name__ == "__main__":
    main()
