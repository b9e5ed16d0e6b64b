"""What is kept of samples; tests/test_measure.py runs the child with a stand-in for pynvml."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.probes import memory_watch
from flashdoctor.probes.memory_watch import MemoryWatch, watch_memory
from flashdoctor.probes.nvml_memory_child import SENTINEL


def line(*sizes: int | None) -> bytes:
    return f"{SENTINEL}{json.dumps(sizes)}\n".encode()


def heard(*pieces: bytes) -> MemoryWatch:
    watch = MemoryWatch({}, 50)
    for piece in pieces:
        watch.hear(piece)
    return watch


def test_the_gpu_whose_use_rose_most_counts() -> None:
    use = heard(line(600, 70_000), line(630, 70_500), line(610, 60_000)).use()
    assert use is not None
    assert use == (1, 60_000, 70_500, 50, 3)
    assert use.rise_gib == pytest.approx(10.254, abs=0.001)


def test_a_size_that_was_not_told_is_left_out() -> None:
    use = heard(line(None, 5), line(None, 9)).use()
    assert use is not None
    assert (use.gpu, use.most_mib) == (1, 9)


def test_lines_come_in_pieces_and_among_others() -> None:
    text = b"a banner\n" + line(10) + line(30) + line(20)
    use = heard(text[:25], text[25:40], text[40:]).use()
    assert use is not None
    assert (use.before_mib, use.most_mib, use.samples) == (10, 30, 3)


def test_nothing_is_known_without_a_sample() -> None:
    assert heard(b"", b"no pynvml\n").use() is None


def test_no_child_where_nvml_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_watch, "may_exist", lambda _environ: False)
    before = threading.active_count()
    with watch_memory({}) as watch:
        assert threading.active_count() == before
    assert watch.use() is None


@given(st.lists(st.binary(max_size=60) | st.text(max_size=30).map(
    lambda text: SENTINEL.encode() + text.encode("utf-8", "replace") + b"\n")))  # fmt: skip
def test_any_output_can_be_heard(pieces: list[bytes]) -> None:
    use = heard(*pieces).use()
    assert use is None or use.most_mib >= use.before_mib
