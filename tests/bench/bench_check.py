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


def measure(*arguments: str) -> float:
    """Return the median seconds of one whole process; one warm-up run is not counted."""
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def main() -> None:
    bare = measure("-c", "pass")
    check = measure(*CHECK, "--python", sys.executable)
    what_if = measure(*CHECK, "--assume", "gpu=L4", "--assume", "torch=2.5.1+cu124")
    print(f"bare interpreter        {bare * 1000:7.1f} ms")
    print(
        f"check                   {check * 1000:7.1f} ms   {check / bare:5.1f} x bare interpreter"
    )
    print(f"check --assume ...      {what_if * 1000:7.1f} ms   {what_if / bare:5.1f} x bare")
    if importlib.util.find_spec("torch") is None:
        print("torch's collect_env     not measured: no torch in this environment")
        return
    collect = measure("-m", "torch.utils.collect_env")
    print(
        f"torch's collect_env     {collect * 1000:7.1f} ms   check is {check / collect:.3f} of it"
    )


if __name__ == "__main__":
    main()
