"""The live import of a torch that misbehaves: a finding in time, whatever it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

SEGFAULT = "import ctypes; ctypes.string_at(0)"
HANG = "import time; time.sleep(300)"
IMPATIENT = {"silence_s": 3.0}  # a step gets 60 s else; longer than a healthy one needs here

BROKEN: dict[str, tuple[str, list[str], str]] = {
    "segfault": (SEGFAULT, ["torch-import-failed"], "SIGSEGV"),
    "abort": ("import os; os.abort()", ["torch-import-failed"], "SIGABRT"),
    "quiet end": ("import os; os._exit(0)", ["torch-import-failed"], "status 0"),
    "exit": ("raise SystemExit(3)", ["torch-import-failed"], "SystemExit: 3"),
    "hang": (HANG, ["torch-import-hangs"], "no answer in the step `torch` after 3 s"),
    "endless output": ("import os\nwhile True: os.write(1, b'x' * 65536)",
                       ["torch-import-hangs"], "no answer"),
    "syntax": ("def broken(:", ["torch-import-failed"], "SyntaxError"),
    "library": ("raise OSError('libcudart.so.12: cannot open shared object file')",
                ["torch-library-missing", "torch-import-failed"], "libcudart.so.12"),
    "glibc": ("raise ImportError(\"libc.so.6: version `GLIBC_2.99' not found\")",
              ["glibc-too-old", "torch-import-failed"], "GLIBC_2.99"),
    "grandchild": ("import subprocess; subprocess.Popen(['sleep', '300']); " + SEGFAULT,
                   ["torch-import-failed"], "SIGSEGV"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "errors", "words"), BROKEN.values(), ids=BROKEN.keys())
def test_a_torch_that_does_not_import(
    command: Any, rig: Any, target: Any, *, text: str, errors: list[str], words: str
) -> None:
    target.torch(init=text)
    settings = IMPATIENT if "torch-import-hangs" in errors else {}
    done = command.check(rig=rig("h200"), target=target, smoke="auto", settings=settings)
    assert (done.verdict, done.code, done.errors) == ("fail", 1, errors)
    assert words in done.value("live.error")
    assert done.seconds < 20


NO_CUDA = {"is_available(self): return True": "is_available(self): return False"}

# A change to a working torch, the errors, and the words of live.error or live.kernel_error.
ILL: dict[str, tuple[Mapping[str, str], list[str], str]] = {
    "no CUDA": ({**NO_CUDA, "init(self): pass": "init(self): raise RuntimeError('No CUDA GPUs')"},
                ["torch-cuda-unavailable"], "RuntimeError: No CUDA GPUs"),
    "no CUDA and no words": (NO_CUDA, ["torch-cuda-unavailable"], ""),
    "start hangs": ({"init(self): pass": "init(self): __import__('time').sleep(300)"},
                    ["torch-import-hangs"], "in the step `cuda`"),
    "no code": ({"synchronize(self): pass":
                 "synchronize(self): raise RuntimeError('no kernel image is available for')"},
                ["gpu-arch-not-in-torch-wheel", "torch-cuda-unavailable"], "no kernel image"),
    "wrong result": ({'left.device == "cuda"': "False"},
                     ["torch-cuda-unavailable"], "differs from the CPU's"),
    "kernel crashes": ({"synchronize(self): pass": "synchronize(self): ctypes.string_at(0)"},
                       ["torch-cuda-unavailable"], "SIGSEGV in the step `kernel`"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "errors", "words"), ILL.values(), ids=ILL.keys())
def test_a_torch_that_imports_and_does_not_work(
    command: Any, rig: Any, target: Any, *, change: Mapping[str, str], errors: list[str], words: str
) -> None:
    target.torch(change=change)
    settings = IMPATIENT if "torch-import-hangs" in errors else {}
    done = command.check(rig=rig("h200"), target=target, smoke="auto", settings=settings)
    assert (done.verdict, done.code, done.errors) == ("fail", 1, errors)
    said = [done.value("live.error"), done.value("live.kernel_error")]
    assert any(words in text for text in said if text) or not words
    assert done.value("live.torch_version") == "2.7.1+cu126"
    assert done.seconds < 20


NOISE = {
    "banner": "import os; print('Welcome'); os.write(1, b'to torch'); os.write(2, b'x' * 200000)",
    "false report": 'print(\'FLASHDOCTOR-AGENT-V1 {"agent": "live", "step": "end"}\')',
    "replaced stdout": "import io, sys; sys.stdout = io.StringIO()",
    "warning": "import warnings; warnings.warn('old')",
    "exit handler": "import atexit; atexit.register(lambda: print('bye'))",
}


@pytest.mark.parametrize("text", NOISE.values(), ids=NOISE.keys())
def test_a_torch_that_prints_and_works(command: Any, rig: Any, target: Any, text: str) -> None:
    target.torch(change={"import ctypes": f"{text}\nimport ctypes"})
    done = command.check(rig=rig("h200"), target=target, smoke="auto")
    assert (done.verdict, done.code) == ("pass", 0)
    assert done.value("live.kernel_ran") is True
    assert any(path.endswith("/libtorch_python.so") for path in done.value("live.libraries"))


def test_nothing_is_imported_where_nobody_asked(command: Any, rig: Any, target: Any) -> None:
    mark = command.folder / "imported"
    target.torch(init=f"open({str(mark)!r}, 'w').close()")
    assert command.check(rig=rig("h200"), target=target).value("live.status") == "not-run"
    assert not mark.exists()


def test_without_a_gpu_it_takes_an_explicit_wish(
    command: Any, machine: Callable[..., Path], target: Any
) -> None:
    target.torch(change=NO_CUDA)
    settings = {"root": str(machine())}
    idle = command.check(target=target, smoke="auto", settings=settings)
    assert idle.value("live.status") == "not-run"
    assert idle.errors == ["no-nvidia-gpu"]
    done = command.check(target=target, smoke="on", settings=settings)
    assert (done.value("live.status"), done.value("live.cuda_available")) == ("ok", False)
    assert (done.code, done.errors) == (1, ["no-nvidia-gpu", "torch-cuda-unavailable"])
    assert done.findings[1]["follows"] == done.findings[0]["id"]


@pytest.mark.parametrize("text", [SEGFAULT, "raise SystemExit", "print('hello')"])
def test_on_this_machine_a_bad_torch_never_passes(command: Any, target: Any, text: str) -> None:
    target.torch(init=text)
    done = command.check(target=target, smoke="on")
    assert (done.verdict, done.code) == ("fail", 1)


def test_each_import_is_judged_on_its_own(command: Any, rig: Any, target: Any) -> None:
    target.torch().flash_attn("2.8.3+cu12torch2.7cxx11abiTRUE")
    target.install("triton", "3.3.1", files={"triton/__init__.py": SEGFAULT})
    target.write("flash_attn/__init__.py", HANG)
    done = command.check(
        "--require", "flash-attn", rig=rig("h200"), target=target, smoke="auto",
        settings=IMPATIENT,
    )  # fmt: skip
    assert [(item["module"], item["status"]) for item in done.value("live.imports")] == [
        ("triton", "crashed"), ("flash_attn_2_cuda", "ok"), ("flash_attn", "timeout"),
    ]  # fmt: skip
    assert done.value("live.status") == "ok"
    assert done.code == 1


def test_a_crash_leaves_nothing_behind(command: Any, rig: Any, target: Any) -> None:
    target.torch(init=SEGFAULT)
    before = sorted(target.packages.rglob("*"))
    command.check(rig=rig("h200"), target=target, smoke="auto")
    assert list(command.work.iterdir()) == []
    assert sorted(target.packages.rglob("*")) == before
