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

RUNS = 10
CHECK = ("-m", "flashdoctor", "check", "--format", "json")


def seconds(*arguments: str) -> float:
    """Return how long one whole process takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    return time.perf_counter() - start


def measure(commands: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """Return the median of each command in ms; they take turns, so that all meet the same machine.

    One warm-up round is not counted.
    """
    rounds = [{name: seconds(*args) for name, args in commands.items()} for _ in range(RUNS + 1)]
    return {name: 1000 * statistics.median(turn[name] for turn in rounds[1:]) for name in commands}


def main() -> None:
    commands = {
        "bare interpreter": ("-c", "pass"),
        "check": (*CHECK, "--python", sys.executable),
        "check --assume": (*CHECK, "--assume", "gpu=L4", "--assume", "torch=2.5.1+cu124"),
    }
    if importlib.util.find_spec("torch") is not None:
        commands["torch's collect_env"] = ("-m", "torch.utils.collect_env")
    medians = measure(commands)
    bare, collect = medians["bare interpreter"], medians.get("torch's collect_env")
    for name, median in medians.items():
        print(f"{name:20} {median:7.1f} ms   {median / bare:6.1f} x bare interpreter")
    if collect is None:
        print("torch's collect_env was not measured: no torch in this environment")
    else:
        print(f"check takes {medians['check'] / collect:.3f} of torch's collect_env")


if __name__ == "__main__":
    main()
