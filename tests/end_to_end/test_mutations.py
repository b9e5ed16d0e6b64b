"""Ten thousand damaged snapshots, policies and logs: an answer or one line, never a traceback.

Each case is made from its number alone, so a failure names the number and is made again with

    FLASHDOCTOR_MUTATIONS=1 FLASHDOCTOR_MUTATIONS_FROM=NUMBER python -m pytest THIS_FILE

FLASHDOCTOR_MUTATIONS=50000 with another start makes a larger round.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import random
import sys
import time
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from flashdoctor.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
COUNT = int(os.environ.get("FLASHDOCTOR_MUTATIONS", "10000"))
FIRST = int(os.environ.get("FLASHDOCTOR_MUTATIONS_FROM", "0"))
CHUNK = 250
SLOWEST_S = 5.0
LONGEST = 40_000
MOST_PLACES = 20_000

SNAPSHOTS = [
    (ROOT / "flashdoctor" / "examples" / f"{name}.json").read_bytes()
    for name in ("v100", "wsl2", "v100", "wsl2", "v100", "wsl2", "h200")
]
LOGS = [
    path.read_bytes()[:LONGEST]
    for path in sorted((ROOT / "tests" / "data" / "pastes").iterdir())
    if path.is_file()
]
POLICY = """\
require = ["flash-attn", "sdpa"]
fail-on = "warning"
expect = ["driver >= 580", "torch == 2.11.*", "kernel fa3 proven"]
ignore = [
  { id = "FD302", reason = "the image is rebuilt in December", until = 2026-12-31 },
  { id = "cxx11-abi-mismatch", reason = "the same", until = 2099-01-01 },
]

[profile.workstation]
fail-on = "error"
expect = ["driver >= 570"]

[profile.ci]
require = ["vllm"]
ignore = [{ id = "FD1", reason = "no GPU here", until = 2026-06-30 }]
"""
FORMATS = ("terminal", "terminal", "json", "json", "sarif", "junit", "github", "markdown", "html")
STACK = ("--assume", "gpu=L4", "--assume", "torch=2.6.0+cu124", "--assume", "flash_attn=2.8.2")

NASTY = (
    b"\0", b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf",
    b"\x1b[31m", b"\x1b]0;x\x07", b"\x9b2J", b"\r", b"\r\n", b"\x85", b"\xe2\x80\xae",
    b"\xe2\x80\xa8", b"\\ud800", b"\\u0000", b"::error::x\n", b"\n::set-env name=A::b\n",
    b"##vso[task.complete]", b"##[error]x", b"##teamcity[x]", b"section_start:1:x\r\x1b[0K",
    b"<script>alert(1)</script>", b"]]>", b"{0}", b"[bold]x[/bold]", b"%s%n", b"9" * 400,
    b"9" * 5000, b"1e999", b"-0", b"NaN", b"Infinity", b"0x1F", b"[" * 3000, b'{"a":' * 2000, b'"',
    b"'", b"'''", b'"""', b"\\", b"\n" * 50, b"\xf0\x9f\x94\xa5", b"A" * 20_000, b" " * 5000,
    b"$(reboot)", b"../../../etc/passwd", b"torch==2.99.0+cu999\n",
)  # fmt: skip
JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**18, 10**400, -(10**30), 0.5, 1e308, float("nan"),
    float("inf"), "", " ", "absent", "unknown", "known", "\ud800", "\0", "\x1b[2J", "9" * 5000,
    "2.8.0+cu128", "9.0", "sm_90", "::error::x", "##vso[task.complete]",
    "<img src=x onerror=alert(1)>", "a" * 20_000, "\u202e", "::", "1.2.3.4", "/home/alice/x", "-1",
    "2.11.0a0+git.x", "99999999999999999999.0", [], {}, [None], [[]], [1, "a"], {"": ""},
    {"value": 1}, {"state": "known"}, [{"index": 0}], [{"name": None}], ["sm_90", 1],
)  # fmt: skip
TOML = (
    "[[profile]]", "[profile]", "[profile.ci]", "[profile.'']", "[tool.flashdoctor]",
    "require = 1", "require = ['']", "require = [[1]]", "fail-on = []", "fail-on = 'never'",
    "expect = 'driver'", "expect = ['torch']",
    "expect = ['driver >= ', 'torch == x.*', '>= 1', 'kernel', 'a b c d']",
    "expect = ['driver >= 99999999999999999999999', 'glibc >= 2.17', 'gpu == ']",
    "ignore = 'FD302'", "ignore = [1]", "ignore = [{}]",
    "ignore = [{ id = 1, reason = 2, until = 3 }]",
    "ignore = [{ id = 'FD302', reason = '', until = 2026-02-30 }]",
    "ignore = [{ id = 'FD302', reason = 'x', until = 2026-12-31T00:00:00Z }]",
    "ignore = [{ id = 'FD302', reason = 'x', until = 07:32:00 }]",
    "ignore = [{ id = 'FD302', reason = 'x', until = 0001-01-01 }]",
    "ignore = [{ id = 'FD', reason = 'x', until = 9999-12-31 }]", "x = 1", "x" * 3000 + " = 1",
    "a.b.c.d = 1", ".".join("a" * 2000) + " = 1", "require = " + "[" * 3000, "x = " + "{a=" * 1500,
    "x = " + "9" * 5000, "x = 1e9999", "x = inf", "'''", '"""', '"', "=", "]", "# \0", "# \x7f",
    'fail-on = "\\ud800"', 'fail-on = "\\U00110000"', "\u202e = 1", "\tx = 1\r",
)  # fmt: skip

VALUES = {
    "require": ("[]", '["sdpa"]', '["flash-attn"]', '["vllm", "fa3"]', '["sdpa", "sdpa"]', '["x"]'),
    "fail-on": ('"error"', '"warning"', '"never"', '"warning"', '"info"'),
    "expect": (
        '["torch == 2.6.*"]', '["torch >= 2.11", "driver >= 580"]', '["gpu == L4"]',
        '["vllm == 0.9"]', '["kernel fa2 proven"]', '["torch == 2.6.0", "flash-attn >= 2.8"]',
        '["driver >= 1", "x"]',
        '["torch != 99999999999999999999"]', '["torch ~= 2.6"]', '["torch == 2.6.0+cu124"]', "[]",
    ),
    "ignore": (
        "[]", '[{ id = "FD1", reason = "r", until = 2099-01-01 }]',
        '[{ id = "FD302", reason = "\\u202e", until = 2020-01-01 }]',
        '[{ id = "FD3", reason = "r", until = 9999-12-31 }, { id = "FD302", reason = "s" }]',
        '[{ id = "FD912", reason = "r", until = 2099-01-01 }]',
        '[{ id = "no-such-rule", reason = "r", until = 2099-01-01 }]',
    ),
}  # fmt: skip


class Case(NamedTuple):
    """A damaged file by its name, the command that reads it, and the exit codes it may have."""

    name: str
    data: bytes
    args: Sequence[str]
    codes: frozenset[int]


class Answer(NamedTuple):
    code: int
    out: str
    err: str


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with some damage of the kinds that disks, pipes, editors and people do."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        data = rng.choice(_DAMAGES)(data, rng)
    return data


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randint(0, len(data))]


def _flip(data: bytes, rng: random.Random) -> bytes:
    body = bytearray(data)
    for _ in range(rng.choice((1, 3, 20)) if body else 0):
        body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
    return bytes(body)


def _drop(data: bytes, rng: random.Random) -> bytes:
    start = rng.randint(0, len(data))
    return data[:start] + data[start + rng.randint(1, 200) :]


def _double(data: bytes, rng: random.Random) -> bytes:
    start = rng.randint(0, len(data))
    end = start + rng.randint(1, 400)
    return data[:end] + data[start:end] + data[end:]


def _insert(data: bytes, rng: random.Random) -> bytes:
    place = rng.randint(0, len(data))
    return data[:place] + rng.choice(NASTY) + data[place:]


def _shuffle(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(rng.randint(1, 5)):
        one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def _splice(data: bytes, rng: random.Random) -> bytes:
    other = rng.choice((*SNAPSHOTS, *LOGS, POLICY.encode()))
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :][:5000]


def _encode(data: bytes, rng: random.Random) -> bytes:
    name = rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "utf-7", "cp037"))
    return data.decode("utf-8", "ignore").encode(name, "replace")


def _pack(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return gzip.compress(data, 1, mtime=0)
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr(rng.choice(("a.txt", "../a", "a/b.log", "a.png")), data)
    return stored.getvalue()


def _whole(_data: bytes, rng: random.Random) -> bytes:
    return rng.choice(
        (b"", b" ", b"\n", b"\0" * 64, b"null", b"[]", b"{}", b'"x"', b"7", rng.randbytes(300))
    )


_DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut, _flip, _flip, _drop, _double, _insert, _insert, _insert, _shuffle, _splice, _encode,
    _pack, _whole,
)  # fmt: skip


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a JSON body with each of its keys."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in list(keys):
        yield value, key
        yield from places(value[key])


def rewritten(data: bytes, rng: random.Random) -> bytes:
    """Return a JSON body of which parts have another type, another place, or no sense at all."""
    body = json.loads(data)
    for _ in range(rng.choice((1, 2, 5, 25))):
        found = list(places(body))
        if not found or len(found) > MOST_PLACES:
            break
        holder, key = rng.choice(found)
        _swap(holder, key, rng, rng.choice(found))
    text = json.dumps(body, indent=rng.choice((None, 1)), ensure_ascii=rng.random() < 0.8)
    if rng.random() < 0.2:
        text = _with_twins(text, rng)
    return text.encode("utf-8", rng.choice(("surrogatepass", "replace")))


def _swap(holder: Any, key: Any, rng: random.Random, other: tuple[Any, Any]) -> None:
    kind = rng.randrange(7)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = copy.deepcopy(other[0][other[1]])
    elif kind == 2 and isinstance(holder, dict):
        holder[str(rng.choice(JUNK))[:50]] = holder.pop(key)
    elif kind == 3:
        deep: Any = holder[key]
        for _ in range(rng.choice((3, 60))):
            deep = [deep] if rng.random() < 0.5 else {"value": deep}
        holder[key] = deep
    elif kind == 4 and isinstance(holder[key], str):
        text = holder[key].encode("utf-8", "replace")
        holder[key] = damaged(text, rng)[:50_000].decode("utf-8", "surrogateescape")
    elif kind == 5:
        often = rng.choice((2, 300)) if not isinstance(holder[key], dict | list) else 2
        holder[key] = [holder[key]] * often
    else:
        holder[key] = copy.deepcopy(rng.choice(JUNK))


def _with_twins(text: str, rng: random.Random) -> str:
    """Return JSON in which a key stands twice, which parsers read in different ways."""
    twin = json.dumps(rng.choice(JUNK))
    name = rng.choice(("schema", "facts", "value", "state", "torch.version", "gpu.name"))
    return text.replace(f'"{name}":', f'"{name}": {twin}, "{name}":', rng.choice((1, 3)))


def snapshot_case(rng: random.Random) -> Case:
    seed = rng.choice(SNAPSHOTS)
    data = rewritten(seed, rng) if rng.random() < 0.65 else damaged(seed, rng)
    args = ["check", "--snapshot", "node.json", *_format(rng)]
    if rng.random() < 0.2:
        args += ["--require", rng.choice(("flash-attn", "vllm", "fa3", "sdpa"))]
    if rng.random() < 0.03:
        form = rng.choice(("terminal", "json"))
        args = ["diff", *rng.sample(["node.json", "example:v100"], 2), "--format", form]
    return Case("node.json", data, args, frozenset({0, 1, 3}))


def _composed(rng: random.Random) -> str:
    """Return a policy that mostly can be read: statements of all kinds, few of them wrong."""
    lines = [f"{key} = {rng.choice(VALUES[key])}" for key in rng.sample(sorted(VALUES), 3)]
    if rng.random() < 0.5:
        lines += ["[profile.ci]", f"fail-on = {rng.choice(VALUES['fail-on'])}"]
    return "\n".join(lines)


def _disturbed(rng: random.Random) -> str:
    lines = POLICY.splitlines()
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = rng.randrange(len(lines))
        end = place + rng.randrange(2)
        lines[place:end] = [rng.choice(TOML)] if rng.random() < 0.6 else lines[end : end + 2]
    return "\n".join(lines)


def policy_case(rng: random.Random) -> Case:
    text = rng.choice((_composed, _disturbed))(rng)
    name = rng.choice(("p.toml", "flashdoctor.toml", "pyproject.toml"))
    if name == "pyproject.toml":
        text = "[tool.flashdoctor]\n" + text.replace("[profile.", "[tool.flashdoctor.profile.")
    data = text.encode("utf-8", "surrogatepass")
    data = data if rng.random() < 0.6 else damaged(rng.choice((data, POLICY.encode())), rng)
    args = ["check", *STACK, *_format(rng), *(["--policy", name] if name == "p.toml" else [])]
    args += rng.choice(([], [], ["--profile", "ci"], ["--profile", "workstation"]))
    return Case(name, data, args, frozenset({0, 1, 2, 3}))


def log_case(rng: random.Random) -> Case:
    data = damaged(rng.choice(LOGS), rng)
    args = ["diagnose", "job.log", *_format(rng)]
    kind = rng.random()
    if kind < 0.1:
        args = ["lint", "job.log", "--engine-version", "0.11.0", *_format(rng)]
    elif kind < 0.2:
        args = ["diagnose", "job.log", *rng.choice((["--redact"], ["--format", "jsonl"]))]
    return Case("job.log", data, args, frozenset({0, 1, 3}))


def _format(rng: random.Random) -> list[str]:
    return ["--format", rng.choice(FORMATS), *rng.choice(([], [], ["--verbose"], ["--quiet"]))]


KINDS = (snapshot_case,) * 8 + (policy_case,) * 5 + (log_case,) * 7


def case_of(number: int) -> Case:
    rng = random.Random(number)
    return KINDS[number % len(KINDS)](rng)


def answer(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Return what the command line says, its streams encoding strictly as a pipe's would."""
    file = folder / case.name
    file.write_bytes(case.data)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = main(case.args)
    file.unlink()
    texts = (stream.buffer.getvalue() for stream in (out, err))
    return Answer(code, *(text.decode("utf-8") for text in texts))


def complaints(case: Case, said: Answer) -> Iterator[str]:
    """Yield what is wrong with an answer."""
    if said.code not in case.codes:
        yield f"exit code {said.code}"
    if "Traceback" in said.err or "internal error" in said.out + said.err:
        yield said.err[-500:] or "internal error"
    if bool(said.out) == bool(said.err) and "--redact" not in case.args:
        yield f"{len(said.out)} characters on stdout, {len(said.err)} on stderr"
    if said.err.count("\n") > 1:
        yield f"{said.err.count(chr(10))} lines on stderr"
    if said.out and "--redact" not in case.args:
        if not all(line.isprintable() for line in said.out.split("\n")):
            yield "what is not printable"
        try:
            yield from malformed(case, said)
        except (ValueError, ET.ParseError) as error:
            yield f"malformed: {error}"


def malformed(case: Case, said: Answer) -> Iterator[str]:
    form = case.args[case.args.index("--format") + 1]
    if form == "junit":
        ET.fromstring(said.out)
    elif form == "sarif":
        told = json.loads(said.out)["runs"][0]["invocations"][0]["exitCode"]
        if told != said.code:
            yield f"exitCode {told}, not {said.code}"
    elif form in {"json", "jsonl"} and json.loads(said.out)["exit_code"] != said.code:
        yield "another exit_code"
    elif form == "html" and not said.out.endswith("</html>\n"):
        yield "no whole page"


@pytest.mark.parametrize("start", range(FIRST, FIRST + COUNT, CHUNK))
def test_no_damage_breaks_the_contract(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    broken = []
    for number in range(start, min(start + CHUNK, FIRST + COUNT)):
        case, began = case_of(number), time.process_time()
        wrong = list(complaints(case, answer(case, tmp_path, monkeypatch)))
        took = time.process_time() - began
        wrong += [f"{took:.1f} s"] if took > SLOWEST_S else []
        if wrong:
            broken.append((number, " ".join(case.args), wrong))
    assert broken == []
    assert not list(tmp_path.iterdir())


def test_every_kind_of_damage_and_answer_is_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cases would prove little if all of them were refused at the door."""
    monkeypatch.chdir(tmp_path)
    met: dict[str, set[int]] = {}
    for number in range(FIRST, FIRST + 600):
        case = case_of(number)
        met.setdefault(case.name.rpartition(".")[2], set()).add(
            answer(case, tmp_path, monkeypatch).code
        )
    assert met["json"] >= {1, 3}
    assert met["toml"] >= {0, 1, 2}
    assert met["log"] >= {0, 1, 3}
