from __future__ import annotations

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.errors import (
    TargetCrashedError,
    TargetError,
    TargetNotFoundError,
    TargetSilentError,
    TargetTimeoutError,
    TargetTooOldError,
)
from flashdoctor.target import payload
from flashdoctor.target.process import Limits
from flashdoctor.target.run import (
    SENTINEL,
    _Lines,
    describe_status,
    exchange,
    last_words,
    parse_reports,
    run_agent,
)

Script = Callable[[str], Path]
ENVIRON = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def run(python: Path, timeout_s: float = 20, environ: Mapping[str, str] = ENVIRON) -> Any:
    return run_agent(python, timeout_s=timeout_s, environ=environ)


def facts(report: Any) -> dict[str, Any]:
    return {item["path"]: item.get("value") for item in report["facts"]}


def test_a_real_interpreter_reports(site: Any) -> None:
    report = run(site.python)
    assert report["agent"] == "collect"
    assert facts(report)["python.version"] == ".".join(map(str, sys.version_info[:3]))
    assert facts(report)["python.executable"] == str(site.python)


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_every_supported_python_reports(interpreter: Callable[[str], Path], version: str) -> None:
    found = facts(run(interpreter(version)))
    assert found["python.version"].startswith(version + ".")
    assert found["python.tag"] == "cp" + version.replace(".", "")


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_an_old_python_says_so_in_words(interpreter: Callable[[str], Path], version: str) -> None:
    with pytest.raises(TargetTooOldError, match=rf"is Python {version}\.\d+; .* 3\.8"):
        run(interpreter(version))


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("exit 0", TargetSilentError, "ended without a report"),
        ("exit 3", TargetCrashedError, "ended with status 3"),
        ("echo 'pyenv: python3: command not found' >&2; exit 127", TargetCrashedError,
         "status 127: pyenv: python3: command not found"),
        ("kill -SEGV $$", TargetCrashedError, "ended by SIGSEGV"),
        ("kill -ABRT $$", TargetCrashedError, "ended by SIGABRT"),
        ("echo hello; exec cat", TargetSilentError, "ended without a report"),
        ("echo FLASHDOCTOR-AGENT-V1 garbage", TargetSilentError, "ended without a report"),
        ("echo 'FLASHDOCTOR-AGENT-V1 [1]'", TargetSilentError, "ended without a report"),
        ("echo 'FLASHDOCTOR-AGENT-V1 {\"agent\": \"smoke\"}'", TargetSilentError, "report"),
        ("sleep 300 & sleep 300", TargetTimeoutError, "did not answer within 0.5 s"),
    ],
)  # fmt: skip
def test_every_failure_has_its_type(
    script: Script, text: str, kind: type[TargetError], words: str
) -> None:
    started = time.monotonic()
    with pytest.raises(kind, match=words) as caught:
        run(script(text), timeout_s=0.5 if kind is TargetTimeoutError else 20)
    assert type(caught.value) is kind
    assert caught.value.hint
    assert time.monotonic() - started < 5


def test_output_without_end_is_a_silent_target(script: Script) -> None:
    with pytest.raises(TargetSilentError, match="more than 16 MiB"):
        run(script("exec cat /dev/zero"))


def test_a_shell_taken_for_a_python_runs_nothing(tmp_path: Path) -> None:
    shell = shutil.which("sh")
    assert shell is not None
    before = sorted(tmp_path.iterdir())
    with pytest.raises(TargetCrashedError, match=r"ended with status \d"):
        run(Path(shell))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["gone", "a-folder", "plain.txt", "no-format", "nul\0byte"])
def test_what_cannot_be_started_is_not_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "a-folder").mkdir()
    (tmp_path / "plain.txt").write_text("x", encoding="utf-8")
    (tmp_path / "no-format").write_bytes(b"\0\1\2")
    (tmp_path / "no-format").chmod(0o755)
    with pytest.raises(TargetNotFoundError, match="cannot be started") as caught:
        run(tmp_path / name)
    assert "--python" in caught.value.hint


BANNERS = {
    "a banner": "print('Welcome to the cluster')",
    "a banner without its newline": "import os; os.write(1, b'Welcome')",
    "a banner at exit": "import atexit; atexit.register(print, 'bye')",
    "bytes that are no text": "import os; os.write(1, bytes(range(256)))",
    "a replaced stdout": "import sys, io; sys.stdout = io.StringIO()",
    "a warning": "import warnings; warnings.warn('old')",
    "a lie": 'print(\'FLASHDOCTOR-AGENT-V1 {"agent": "collect", "facts": [\')',
}


@pytest.mark.parametrize("text", BANNERS.values(), ids=BANNERS.keys())
def test_what_sitecustomize_prints_does_not_matter(site: Any, text: str) -> None:
    site.write("sitecustomize.py", text)
    assert facts(run(site.python))["python.implementation"] == sys.implementation.name


def test_a_sitecustomize_that_ends_the_process_makes_a_silent_target(site: Any) -> None:
    site.write("sitecustomize.py", "import os; os._exit(0)")
    with pytest.raises(TargetSilentError):
        run(site.python)


def test_a_sitecustomize_that_sleeps_makes_a_timeout(site: Any) -> None:
    site.write("sitecustomize.py", "import time; time.sleep(300)")
    with pytest.raises(TargetTimeoutError):
        run(site.python, timeout_s=0.5)


def test_a_sitecustomize_that_crashes_makes_a_crash(site: Any) -> None:
    site.write("sitecustomize.py", "import ctypes; ctypes.string_at(0)")
    with pytest.raises(TargetCrashedError, match="SIGSEGV"):
        run(site.python)


def test_a_broken_interpreter_is_quoted(site: Any) -> None:
    environ = {**ENVIRON, "PYTHONHOME": "/nowhere"}
    with pytest.raises(TargetCrashedError, match=r"Fatal Python error|ModuleNotFoundError"):
        run(site.python, environ=environ)


def test_the_working_directory_hides_nothing_from_the_agent(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "re", "types", "os", "site", "importlib"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hidden')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert facts(run(site.python))["python.executable"] == str(site.python)


def test_pythonpath_and_the_user_site_stay_as_the_failing_program_has_them(
    site: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "extra"
    info = folder / "triton-3.2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: triton\nVersion: 3.2.0\n", encoding="utf-8")
    found = facts(run(site.python, environ={**ENVIRON, "PYTHONPATH": str(folder)}))
    assert found["triton.version"] == "3.2.0"
    assert found["python.pythonpath"] == [str(folder)]


def test_nothing_is_left_behind(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write("sitecustomize.py", "import helper")
    site.write("helper.py", "")
    here = tmp_path / "cwd"
    here.mkdir()
    monkeypatch.chdir(here)
    run(site.python)
    assert list(here.iterdir()) == []
    assert not list(site.packages.rglob("*.pyc"))


def test_an_agent_gets_its_options_and_a_report_survives_a_crash_behind_it(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = """
        import os, signal
        def main(parts, options, emit):
            emit({"agent": "probe", "n": 1})
            emit({"agent": "probe", "n": 2, "options": options})
            os.kill(os.getpid(), signal.SIGKILL)
    """
    real = payload._text
    monkeypatch.setattr(
        payload, "_text", lambda name: real(name) if name == "bootstrap" else textwrap.dedent(agent)
    )
    options = {"text": "\u00e4 'quoted' \"both\" \\n\n", "list": [1, None, True], "x": {"y": 1.5}}
    report = run_agent(site.python, agent="probe", options=options, environ=ENVIRON)
    assert (report["n"], report["options"]) == (2, options)


def test_an_agent_that_raises_is_a_crash_with_its_words(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = payload._text
    text = "def main(parts, options, emit):\n    raise LookupError('no such thing')\n"
    monkeypatch.setattr(payload, "_text", lambda name: real(name) if name == "bootstrap" else text)
    with pytest.raises(TargetCrashedError, match="LookupError: no such thing"):
        run_agent(site.python, agent="probe", environ=ENVIRON)


def test_an_unknown_agent_is_our_own_mistake(site: Any) -> None:
    with pytest.raises(TargetError, match="'no-such' is missing"):
        run_agent(site.python, agent="no-such", environ=ENVIRON)


def test_reports_are_found_among_other_lines() -> None:
    first, second = {"agent": "collect", "a": 1}, {"agent": "collect", "b": 2}
    lines = [b"x", SENTINEL + json.dumps(first).encode(), b"", b" " + SENTINEL + b"{}",
             SENTINEL + json.dumps(second).encode(), SENTINEL + b"[" * 100_000]  # fmt: skip
    assert parse_reports(b"\n".join(lines), "collect") == (first, second)


@given(st.binary(), st.booleans())
def test_any_output_is_read(data: bytes, behind_the_sentinel: bool) -> None:
    text = SENTINEL + data if behind_the_sentinel else data
    assert all(report["agent"] == "collect" for report in parse_reports(text, "collect"))


@given(st.binary())
def test_any_error_output_has_last_words(data: bytes) -> None:
    words = last_words(data)
    assert len(words) <= 400
    assert all(character.isprintable() or character == "\t" or ord(character) > 0x9F
               for character in words)  # fmt: skip


def test_the_words_that_say_most_are_chosen() -> None:
    trace = b"Traceback\n  File x\nImportError: libcudart.so.12: cannot open\nnote: bye\n"
    assert last_words(trace) == "ImportError: libcudart.so.12: cannot open"
    assert last_words(b"\x1b[31mred\x1b[0m\n\n") == "red"
    assert last_words(b"") == ""


def test_a_status_reads_as_a_sentence_goes_on() -> None:
    assert describe_status(-9) == "was ended by SIGKILL"
    assert describe_status(-200) == "was ended by signal 200"
    assert describe_status(1) == "ended with status 1"
    assert describe_status(0xC0000005) == "ended with status 0xC0000005"


def test_each_report_is_handed_on_when_it_comes(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = """
        import time
        def main(parts, options, emit):
            for n in range(3):
                print("noise")
                emit({"agent": "probe", "n": n})
                time.sleep(0.4)
            emit({"agent": "probe", "n": "x" * 200000})
    """
    real = payload._text
    monkeypatch.setattr(
        payload, "_text", lambda name: real(name) if name == "bootstrap" else textwrap.dedent(agent)
    )
    seen: list[tuple[float, Any]] = []
    done = exchange(
        site.python,
        "probe",
        limits=Limits(timeout_s=20, silence_s=20),
        environ=ENVIRON,
        watch=lambda report: seen.append((time.monotonic(), report["n"])),
    )
    assert [n for _, n in seen] == [report["n"] for report in done.reports]
    assert [n for _, n in seen][:3] == [0, 1, 2]
    assert seen[1][0] - seen[0][0] > 0.2


def test_a_watcher_sets_the_time_that_a_step_may_take(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = """
        import time
        def main(parts, options, emit):
            emit({"agent": "probe", "n": 1})
            time.sleep(300)
    """
    real = payload._text
    monkeypatch.setattr(
        payload, "_text", lambda name: real(name) if name == "bootstrap" else textwrap.dedent(agent)
    )
    limits = Limits(timeout_s=60, silence_s=60)
    done = exchange(site.python, "probe", limits=limits, environ=ENVIRON, watch=lambda _: 0.5)
    assert (done.ended.reason, len(done.reports)) == ("timeout", 1)
    assert done.ended.seconds < 20


@given(st.lists(st.integers(1, 40), max_size=8))
def test_reports_are_the_same_however_the_output_is_cut(cuts: list[int]) -> None:
    lines = [SENTINEL + json.dumps({"agent": "collect", "n": n}).encode() for n in range(4)]
    text = b"noise\n" + b"\n\n".join(lines) + b"\n"
    seen: list[Any] = []
    pieces = _Lines("collect", lambda report: seen.append(report["n"]))
    for cut in [*cuts, len(text)]:
        pieces.hear(text[:cut])
        text = text[cut:]
    assert seen == [0, 1, 2, 3]
