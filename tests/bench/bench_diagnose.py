"""What `flashdoctor diagnose` costs, by the length of the log, for hostile logs and for a batch.

    python tests/bench/bench_diagnose.py

Run it with an interpreter that has flashdoctor installed. Given is the CPU time of one whole
process, the median of some runs, as ratios to 1 kB. Ordinary logs are made of the lines that a
serving engine prints, with a fault at their end. Hostile ones are made to cost time: of all the
lines and keywords that the signatures know, of commands, file names and blanks.
"""

from __future__ import annotations

import itertools
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from flashdoctor.data.signatures import load_signatures
from flashdoctor.data.tables import load_tables
from flashdoctor.logs.parser import load_parsers

RUNS = 3
KILO = 1024
MEGA = 1024 * KILO
BATCH = 200
LONG = 4090
DIAGNOSE = ("-m", "flashdoctor", "diagnose", "--format", "jsonl")
FAULT = "ValueError: No available memory for the cache blocks.\n"
LINES = (
    "INFO 11-30 12:00:{0:02} [loggers.py:271] Engine 000: Running: {0} reqs, Waiting: 0 reqs",
    "(EngineCore_DP0 pid=35{0}) INFO 11-30 12:00:{0:02} [core.py:77] step {0} of the engine",
    '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line {0}, in step',
    "Loading safetensors checkpoint shards: {0:3}% Completed | {0}/99 [00:01<00:02, 1.{0}it/s]",
)
TABLES = load_tables()
KEYWORDS = sorted({keyword for row in load_signatures(TABLES) for keyword in row.keywords})
TOOLS = sorted({keyword for parser in load_parsers() for keyword in parser.keywords})


def known_lines() -> list[str]:
    """Return every line that a signature is known to meet."""
    rows = (row for name in TABLES.group("signatures") for row in TABLES.table(name)["signature"])
    hits = (hit if isinstance(hit, str) else hit["text"] for row in rows for hit in row["hits"])
    return [hit for hit in hits if "\n" not in hit]


HITS = known_lines()


def ordinary() -> Iterator[str]:
    for number in itertools.count():
        yield LINES[number % 4].format(number % 100)


def messages() -> Iterator[str]:
    for number in itertools.count():
        yield f"{HITS[number % len(HITS)]} {number}"


def long_keywords() -> Iterator[str]:
    chance = random.Random(1)
    while True:
        yield " ".join(chance.sample(KEYWORDS + TOOLS, 160))[:LONG]


def short_keywords() -> Iterator[str]:
    chance = random.Random(2)
    for number in itertools.count():
        yield f"{chance.choice(KEYWORDS)} {chance.choice(TOOLS)} {number}"


def commands() -> Iterator[str]:
    for number in itertools.count():
        yield f"vllm serve a{number}/b{number} --port {number} --max-model-len {number}"


def wheels() -> Iterator[str]:
    for number in itertools.count():
        yield f"Downloading flash_attn-2.{number}+cu12torch2.6cxx11abiTRUE-cp312-cp312-any.whl"


def blanks() -> Iterator[str]:
    for number, keyword in enumerate(itertools.cycle(TOOLS)):
        yield f"{keyword}{' ' * 4000}{number}"


def symbols() -> Iterator[str]:
    for number in itertools.count():
        yield f"ImportError: /x/fa.so: undefined symbol: _ZN3c10{'5ErrorC2ESs' * 30}{number}"


def one_line() -> Iterator[str]:
    yield " ".join(itertools.islice(messages(), 200_000))


HOSTILE: Mapping[str, Callable[[], Iterator[str]]] = {
    "known lines": messages,
    "long keywords": long_keywords,
    "short keywords": short_keywords,
    "commands": commands,
    "wheel names": wheels,
    "blanks": blanks,
    "symbols": symbols,
    "one line": one_line,
}


def log(size: int, lines: Iterator[str], end: str = "\n") -> str:
    """Return a log of about `size` characters."""
    parts: list[str] = []
    length = 0
    while length < size - len(end) and (line := next(lines, None)) is not None:
        parts.append(line)
        length += len(line) + 1
    return "\n".join(parts)[: size - len(end) - 1] + "\n" + end


def seconds(*files: Path) -> float:
    """Return the CPU time of one whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *DIAGNOSE, *map(str, files)]
    done = subprocess.run(command, capture_output=True, check=False, cwd=files[0].parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.stdout.count(b"\n") != len(files):
        raise SystemExit(done.stderr.decode())
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(folder: Path, text: str, count: int = 1) -> float:
    """Return the median CPU time for so many files with a text."""
    files = [folder / f"{number}.log" for number in range(count)]
    for file in files:
        file.write_text(text, encoding="utf-8")
    return statistics.median(seconds(*files) for _ in range(RUNS))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = median(folder, log(KILO, ordinary(), FAULT))
        print(f"{'1 kB':22} {1000 * first:6.0f} ms")
        sizes = {
            size: median(folder, log(size * MEGA, ordinary(), FAULT)) - first for size in (1, 16)
        }
        for size, more in sizes.items():
            print(f"{f'{size} MB':22} {1000 * more:+6.0f} ms   {more / first + 1:6.2f} x 1 kB")
        print(f"16 MB cost {sizes[16] / sizes[1]:.1f} x what 1 MB costs, beyond 1 kB")
        for kind, lines in HOSTILE.items():
            one, four = (median(folder, log(size * MEGA, lines())) - first for size in (1, 4))
            print(f"1 MB, {kind:16} {1000 * one:+6.0f} ms   4 MB: {four / one:4.2f} x that")
        batch = median(folder, log(KILO, ordinary(), FAULT), BATCH)
        each = (batch - first) / (BATCH - 1)
        print(f"{f'{BATCH} of 1 kB':22} {1000 * batch:6.0f} ms   {batch / first:6.2f} x 1 kB")
        print(f"a further report in one process costs {each / first:.4f} of a process of its own")


if __name__ == "__main__":
    main()
