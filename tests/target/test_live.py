from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact, absent, known
from flashdoctor.target.collect import Collected
from flashdoctor.target.live import Import, not_run, plan_imports, run_live

TORCH = """\
import types
__version__ = "2.6.0+cu124"
version = types.SimpleNamespace(cuda="12.4")
float32 = "f"

class Ops:
    def load_library(self, path):
        exec(open(path).read())
ops = Ops()

class Cudnn:
    def version(self): return 90100
backends = types.SimpleNamespace(cudnn=Cudnn())

class Cuda:
    def is_available(self): return True
    def device_count(self): return 2
    def init(self): pass
    def get_device_capability(self, index): return (9, 0)
    def get_arch_list(self): return ["sm_80", "sm_90"]
    def synchronize(self): pass
cuda = Cuda()

class Matrix:
    def __init__(self, device="cpu"): self.device = device
    def __mod__(self, other): return self
    def reshape(self, *shape): return self
    def __add__(self, other): return self
    def __matmul__(self, other): return self
    def to(self, device): return Matrix(device)
    def cpu(self): return self
def arange(count, dtype): return Matrix()
def equal(left, right): return left.device == "cuda" and right.device == "cpu"
"""
CRASH = "import ctypes; ctypes.string_at(0)"
HANG = "import time; time.sleep(300)"


def live(site: Any, modules: Iterable[str | Import] = (), **limits: Any) -> dict[str, Fact]:
    imports = [item if isinstance(item, Import) else Import(module=item) for item in modules]
    facts = run_live(site.python, imports=imports, environ=site.environ, **limits)
    found = {fact.path: fact for fact in facts}
    assert sorted(found) == sorted(path for path in FACTS if path.startswith("live."))
    assert all(fact.reason for fact in facts if fact.state == "unknown")
    return found


def test_a_healthy_torch_tells_all(site: Any) -> None:
    site.write("torch/__init__.py", TORCH)
    found = live(site)
    expected = {
        "live.status": "ok", "live.torch_version": "2.6.0+cu124", "live.cuda_available": True,
        "live.device_count": 2, "live.capability": "9.0", "live.arch_list": ["sm_80", "sm_90"],
        "live.cudnn": "9.1.0", "live.kernel_ran": True, "live.imports": [],
        "live.error": None, "live.kernel_error": None,
    }  # fmt: skip
    assert {path: found[path].value for path in expected} == expected
    assert found["live.libraries"].is_known
    assert found["live.error"].state == found["live.kernel_error"].state == "absent"


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("raise OSError('libcudart.so.12: cannot open shared object file')", "error",
         "OSError: libcudart.so.12: cannot open shared object file"),
        ("raise SystemExit('no')", "error", "SystemExit: no"),
        ("import no_such_module", "error", "ModuleNotFoundError: No module named 'no_such_module'"),
        (CRASH, "crashed", "SIGSEGV in the step `torch`"),
        ("import os; os.abort()", "crashed", "SIGABRT"),
        ("import os; os._exit(0)", "crashed", "ended with status 0 in the step `torch`"),
        (HANG, "timeout", "no answer in the step `torch`"),
        ("import os, sys; sys.stderr.write('terminate called\\n'); os._exit(9)", "crashed",
         "status 9 in the step `torch`: terminate called"),
    ],
)  # fmt: skip
def test_a_torch_that_does_not_import_is_a_result(
    site: Any, text: str, status: str, words: str
) -> None:
    site.write("torch/__init__.py", text)
    found = live(site, ["json"], silence_s=3)
    assert found["live.status"].value == status
    assert words in found["live.error"].value
    assert found["live.torch_version"].state == "unknown"
    assert found["live.imports"].value == [{"module": "json", "status": "not-run"}]


def test_no_torch_at_all_is_an_error(site: Any) -> None:
    found = live(site)
    assert (found["live.status"].value, found["live.error"].value) == (
        "error", "ModuleNotFoundError: No module named 'torch'",
    )  # fmt: skip


def test_what_a_torch_prints_does_not_matter(site: Any) -> None:
    banner = "import os; print('Welcome'); os.write(1, b'to torch')\n"
    site.write("torch/__init__.py", banner + TORCH)
    assert live(site)["live.status"].value == "ok"


def test_a_start_of_cuda_that_fails_keeps_its_words(site: Any) -> None:
    text = TORCH.replace(
        "def init(self): pass",
        "def init(self): raise RuntimeError('driver is too old (found version 12020)')",
    ).replace("is_available(self): return True", "is_available(self): return False")
    site.write("torch/__init__.py", text)
    found = live(site)
    assert found["live.status"].value == "error"
    assert found["live.error"].value == "RuntimeError: driver is too old (found version 12020)"
    assert found["live.cuda_available"].value is False
    assert found["live.torch_version"].value == "2.6.0+cu124"
    assert found["live.kernel_ran"].state == "unknown"


def test_a_torch_without_cuda_is_no_error(site: Any) -> None:
    text = TORCH.replace('cuda="12.4"', "cuda=None").replace("return True", "return False")
    site.write("torch/__init__.py", text)
    found = live(site)
    assert (found["live.status"].value, found["live.cuda_available"].value) == ("ok", False)
    assert found["live.error"].state == "absent"
    assert found["live.kernel_ran"].reason == "CUDA has not started"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("def synchronize(self): pass",
         "def synchronize(self): raise RuntimeError('no kernel image is available')",
         "RuntimeError: no kernel image is available"),
        ('return left.device == "cuda"', "return False", "its result differs from the CPU's"),
        ("def synchronize(self): pass",
         "def synchronize(self): __import__('ctypes').string_at(0)", "SIGSEGV"),
    ],
)  # fmt: skip
def test_a_kernel_that_does_not_run_is_told(site: Any, old: str, new: str, words: str) -> None:
    assert old in TORCH
    site.write("torch/__init__.py", TORCH.replace(old, new))
    found = live(site, ["json"])
    assert found["live.kernel_ran"].value is False
    assert words in found["live.kernel_error"].value
    assert found["live.capability"].value == "9.0", "what came before is kept"
    assert found["live.imports"].value == [{"module": "json", "status": "ok"}]


def test_one_fact_that_cannot_be_had_does_not_cost_the_others(site: Any) -> None:
    text = TORCH.replace("return 90100", "raise RuntimeError('cuDNN version incompatibility')")
    site.write("torch/__init__.py", text)
    found = live(site)
    assert found["live.cudnn"].reason == "RuntimeError: cuDNN version incompatibility"
    assert found["live.kernel_ran"].value is True


def test_each_import_is_a_result_and_the_next_one_goes_on(site: Any) -> None:
    site.write("torch/__init__.py", TORCH)
    for name, text in {
        "good": "", "crashes": CRASH, "aborts": "import os; os.abort()", "hangs": HANG,
        "exits": "import sys; sys.exit(1)",
        "wrong": "raise ImportError('undefined symbol: _ZN3c10')",
    }.items():  # fmt: skip
        site.write(f"{name}.py", text)
    extension = site.write("odd/_C.abi3.so", "raise OSError('GLIBC_2.32 not found')")
    modules: list[str | Import] = [
        "good", "crashes", "wrong", "aborts", "hangs", "exits",
        Import(module="odd._C", file=str(extension)), "json",
    ]  # fmt: skip
    found = live(site, modules, silence_s=3)
    assert found["live.status"].value == "ok", "torch itself is well"
    assert found["live.kernel_ran"].value is True
    records = {record["module"]: record for record in found["live.imports"].value}
    assert list(records) == [item.module if isinstance(item, Import) else item for item in modules]
    assert {name: record["status"] for name, record in records.items()} == {
        "good": "ok", "crashes": "crashed", "wrong": "error", "aborts": "crashed",
        "hangs": "timeout", "exits": "error", "odd._C": "error", "json": "ok",
    }  # fmt: skip
    assert records["wrong"]["error"] == "ImportError: undefined symbol: _ZN3c10"
    assert "SIGSEGV in the step `crashes`" in records["crashes"]["error"]
    assert records["odd._C"]["error"] == "OSError: GLIBC_2.32 not found"


def test_the_time_for_everything_is_a_limit(site: Any) -> None:
    site.write("torch/__init__.py", TORCH)
    site.write("hangs.py", HANG)
    started = time.monotonic()
    found = live(site, ["hangs", "json"], timeout_s=3)
    assert time.monotonic() - started < 10
    assert [record["status"] for record in found["live.imports"].value] == ["timeout", "not-run"]


def test_a_crash_leaves_no_core_file(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    site.write("torch/__init__.py", CRASH)
    assert live(site)["live.status"].value == "crashed"
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "status"),
    [("exit 0", "crashed"), ("kill -SEGV $$", "crashed"), ("sleep 300", "timeout")],
)
def test_an_interpreter_that_fails_is_a_result(
    script: Callable[[str], Path], text: str, status: str
) -> None:
    timeout_s = 0.5 if status == "timeout" else 20
    facts = run_live(script(text), environ={"PATH": "/usr/bin:/bin"}, timeout_s=timeout_s)
    assert {fact.path: fact.value for fact in facts}["live.status"] == status


def test_an_interpreter_that_is_not_there_was_not_run(tmp_path: Path) -> None:
    found = {fact.path: fact for fact in run_live(tmp_path / "gone")}
    assert found["live.status"].value == "not-run"
    assert "cannot be started" in found["live.kernel_ran"].reason
    assert {fact.path for fact in not_run("x")} == set(found)


def test_the_plan_names_what_is_installed() -> None:
    collected = Collected(
        facts=(
            known("triton.version", "3.2.0", "s"),
            known("flash_attn.extension_present", True, "s"),
            known("flash_attn_3.module", "flash_attn_3", "s"),
            absent("flash_attn_4.version", "s"),
        ),
        files={"extensions": {"vllm.fa3": "/v/_vllm_fa3_C.abi3.so", "flash_attn": "/f.so"}},
    )
    assert plan_imports(collected) == (
        Import(module="triton"),
        Import(module="flash_attn_2_cuda"),
        Import(module="flash_attn"),
        Import(module="flash_attn_3.flash_attn_interface"),
        Import(module="vllm.vllm_flash_attn._vllm_fa3_C", file="/v/_vllm_fa3_C.abi3.so"),
    )
    assert plan_imports(Collected(facts=())) == ()


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="this interpreter has no torch"
)
def test_the_torch_of_this_interpreter_imports() -> None:
    found = {fact.path: fact for fact in run_live(sys.executable, timeout_s=120)}
    assert found["live.torch_version"].is_known
    assert any("libtorch" in path for path in found["live.libraries"].value)
