from __future__ import annotations

import importlib
import json
import math
import os
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

measure: Any = importlib.import_module("flashdoctor.agents.smoke_measure")
sdpa: Any = importlib.import_module("flashdoctor.agents.smoke_sdpa")

FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>"


def event(name: str, microseconds: float, device: str = "DeviceType.CUDA", **more: bool) -> Any:
    span = SimpleNamespace(elapsed_us=lambda: microseconds)
    return SimpleNamespace(name=name, device_type=device, time_range=span, **more)


def test_kernels_stand_by_their_total_time_and_once() -> None:
    events = [
        event("aten::scaled_dot_product_attention", 90, "DeviceType.CPU"),
        event("Memset (Device)", 2),
        event("combine", 3),
        event(FLASH, 4),
        event("combine", 3),
        event("ProfilerStep#0", 99, is_user_annotation=True),
        event(FLASH, 4, is_user_annotation=False),
    ]
    assert measure.kernels_of(events) == [FLASH, "combine", "Memset (Device)"]
    assert measure.kernels_of(None) == []


def test_a_profile_has_no_end_of_names_nor_names_without_end() -> None:
    kernels = measure.kernels_of([event("k" * 5000 + str(number), 1) for number in range(200)])
    assert kernels == ["k" * 2000]
    assert len(measure.kernels_of([event(f"kernel{number}", 1) for number in range(200)])) == 60


@pytest.mark.parametrize(
    ("at_n", "at_2n", "grows"),
    [(4.1, 8.1, "N"), (180.0, 656.0, "N squared"), (2.0, 2.0, "N"), (0.0, 0.0, None)],
)
def test_memory_at_two_lengths_says_how_it_grows(
    at_n: float, at_2n: float, grows: str | None
) -> None:
    assert measure.growth(at_n, at_2n) == grows


def test_cupti_is_quoted_before_an_exception() -> None:
    said = (
        "a banner\nWARNING: function failed with error CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)\n"
    )
    assert measure.why_no_kernels(said, ["RuntimeError: no"]) == said.splitlines()[1]
    assert measure.why_no_kernels("a banner", ["RuntimeError: no"]) == "RuntimeError: no"
    assert "did not say why" in measure.why_no_kernels("", [])


@pytest.mark.parametrize("pass_on", [True, False])
def test_standard_error_is_taken_from_whoever_writes_it(
    capfd: pytest.CaptureFixture[str], *, pass_on: bool
) -> None:
    said: list[str] = []
    with measure.captured_stderr(said, pass_on=pass_on):
        os.write(2, "CUPTI: ü\n".encode())
    os.write(2, b"later\n")
    assert said == ["CUPTI: ü\n"]
    assert capfd.readouterr().err == ("CUPTI: ü\nlater\n" if pass_on else "later\n")


def test_standard_error_comes_back_after_an_exception(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="inside"), measure.captured_stderr([]):
        raise ValueError("inside")
    os.write(2, b"later")
    assert capfd.readouterr().err == "later"


class Profilers:
    """Stand-ins for the two profilers; each finds what it was made with, or raises it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, direct: Any, public: Any) -> None:
        self.bench = measure.Bench(SimpleNamespace(ones=lambda *_, **__: None), "cuda", {})
        monkeypatch.setattr(measure, "trace_directly", self._tracer(direct))
        monkeypatch.setattr(measure, "trace_publicly", self._tracer(public))

    @staticmethod
    def _tracer(outcome: Any) -> Any:
        def trace(bench: Any, call: Any) -> Any:
            del bench, call
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return trace

    def profile(self) -> Any:
        return measure.profile(self.bench, lambda: None)


def test_the_profiler_that_sees_a_kernel_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Profilers(monkeypatch, [FLASH], RuntimeError("unused")).profile() == ([FLASH], "ok")
    assert Profilers(monkeypatch, [], [FLASH]).profile() == ([FLASH], "ok")
    assert Profilers(monkeypatch, TypeError("old"), [FLASH]).profile() == ([FLASH], "ok")


def test_without_a_profiler_no_kernel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    profilers = Profilers(monkeypatch, TypeError("no use_device"), [])
    assert profilers.profile() == ([], "TypeError: no use_device")
    assert profilers.bench.profiler == "TypeError: no use_device", "asked once, not for each case"


def test_a_profiler_that_breaks_later_takes_no_case_along(monkeypatch: pytest.MonkeyPatch) -> None:
    profilers = Profilers(monkeypatch, [FLASH], [])
    profilers.profile()
    profilers.bench.trace = Profilers._tracer(RuntimeError("kineto\n is gone"))
    assert profilers.profile() == ([], "RuntimeError: kineto is gone")


def test_a_package_that_is_not_there_is_told_from_one_that_is_broken(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fd_broken.py").write_text("raise ImportError('undefined symbol: x')\n")
    (tmp_path / "fd_needs.py").write_text("import fd_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    bench = measure.Bench(None, "cpu", {})
    with pytest.raises(measure.MissingError, match="No module named 'fd_gone'"):
        bench.import_module("fd_gone")
    with pytest.raises(measure.MissingError, match="No module named 'fd_not_there'"):
        bench.import_module("fd_needs")
    with pytest.raises(ImportError, match="undefined symbol"):
        bench.import_module("fd_broken")


def test_what_a_version_lacks_is_named() -> None:
    bench = measure.Bench(None, "cpu", {})
    with pytest.raises(measure.MissingError, match=r"^json 2\S* has no flash_attn_func$"):
        bench.attribute(json, "flash_attn_func")
    assert bench.attribute(json, "loads") is json.loads


def test_each_run_draws_other_numbers_unless_told() -> None:
    seeds = {measure.Bench(None, "cpu", {}).seed for _ in range(8)}
    assert len(seeds) > 1
    assert measure.Bench(None, "cpu", {"seed": 7}).seed == 7


MASK = "Flash Attention does not support non-null attn_mask."
DTYPE = "Expected {Half, BFloat16}. Got Query dtype: float (instead)."
SAID = f"""\
[W1130 15:41:35.1 sdp_utils_cpp.h:262] Warning: {MASK} (function check_for_attn_mask)
something else
[W sdp_utils_cpp.h:91] Warning: {DTYPE}
"""


def test_reads_the_warnings_of_old_and_new_torch() -> None:
    assert sdpa.warnings_in(SAID) == [MASK, DTYPE]


@given(st.text())
def test_any_standard_error_is_read(text: str) -> None:
    assert all(found == " ".join(found.split()) for found in sdpa.warnings_in(text))


class Memory:
    """CUDA's memory as torch's allocator holds it: freed blocks first, then new ones."""

    float32, bfloat16 = "float32", "bfloat16"

    def __init__(self, free: int) -> None:
        self.cuda = SimpleNamespace(empty_cache=self._empty, memory_reserved=self._reserved)
        self.filled: list[tuple[tuple[int, ...], float, str, str]] = []
        self._free, self._held = free, 0
        self.emptied = 0

    def _empty(self) -> None:
        self.emptied += 1

    def _reserved(self) -> int:
        return max(self._held - self._free, 0)

    def full(self, size: tuple[int, ...], value: float, *, dtype: str, device: str) -> object:
        self.filled.append((size, value, dtype, device))
        self._held += 1
        return object()


@pytest.mark.parametrize(("free", "blocks"), [(0, 1), (3, 4), (1000, 64)])
def test_the_memory_that_an_output_will_get_is_poisoned(free: int, blocks: int) -> None:
    memory = Memory(free)
    measure.poison(SimpleNamespace(torch=memory), [(7, "bfloat16")])
    assert memory.emptied == 1
    assert len(memory.filled) == blocks
    sizes = {(size, dtype, device) for size, _, dtype, device in memory.filled}
    assert sizes == {((7,), "bfloat16", "cuda")}
    assert all(math.isnan(value) for _, value, _, _ in memory.filled)
