"""How long `flashdoctor diagnose` takes, by the length of the log and for a batch; as ratios.

    python tests/bench/bench_diagnose.py

Run it with an interpreter that has flashdoctor installed. The logs are made of the lines that a
serving engine prints, with a fault at their end; the medians are of 5 runs each.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 5
KILO = 1024
MEGA = 1024 * KILO
BATCH = 200
DIAGNOSE = ("-m", "flashdoctor", "diagnose", "--format", "jsonl")
FAULT = "ValueError: No available memory for the cache blocks.\n"
LINES = (
    "INFO 11-30 12:00:{0:02} [loggers.py:271] Engine 000: Running: {0} reqs, Waiting: 0 reqs\n",
    "(EngineCore_DP0 pid=35{0}) INFO 11-30 12:00:{0:02} [core.py:77] step {0} of the engine\n",
    '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line {0}, in step\n',
    "Loading safetensors checkpoint shards: {0:3}% Completed | {0}/99 [00:01<00:02, 1.{0}it/s]\n",
)


def log(size: int) -> str:
    """Return a log of about `size` bytes."""
    block = "".join(line.format(number) for number in range(100) for line in LINES)
    body = (block * (size // len(block) + 1))[: size - len(FAULT) - 1]
    return f"{body}\n{FAULT}"


def seconds(*files: Path) -> float:
    """Return how long one whole process takes."""
    start = time.perf_counter()
    command = [sys.executable, *DIAGNOSE, *map(str, files)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.stdout.count(b"\n") != len(files):
        raise SystemExit(done.stderr.decode())
    return time.perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sets: dict[str, list[Path]] = {}
        for name, size, count in (
            ("1 kB", KILO, 1),
            ("1 MB", MEGA, 1),
            ("16 MB", 16 * MEGA, 1),
            (f"{BATCH} of 1 kB", KILO, BATCH),
        ):
            sets[name] = [Path(folder) / f"{name} {number}.log" for number in range(count)]
            for file in sets[name]:
                file.write_text(log(size), encoding="utf-8")
        medians = {
            name: statistics.median(seconds(*files) for _ in range(RUNS))
            for name, files in sets.items()
        }
    first = medians["1 kB"]
    for name, median in medians.items():
        print(f"{name:12} {1000 * median:8.0f} ms   {median / first:6.2f} x 1 kB")
    each = (medians[f"{BATCH} of 1 kB"] - first) / (BATCH - 1)
    print(f"a further report in one process costs {each / first:.4f} of a process of its own")
    print(f"16 MB take {medians['16 MB'] / medians['1 MB']:.1f} x as long as 1 MB")


if __name__ == "__main__":
    main()
