from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.torch_cuda_unavailable import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


CUDA = {"torch.version": "2.9.1+cu128", "live.torch_version": "2.9.1+cu128"}


def test_cudas_own_words_are_the_detail(look: Look) -> None:
    words = "RuntimeError: No CUDA GPUs are available"
    facts = {**CUDA, "live.status": "error", "live.error": words, "live.cuda_available": False}
    assert judge(look(facts)).detail == words


def test_devices_that_show_are_not_enough_where_the_start_fails(look: Look) -> None:
    facts = {**CUDA, "live.status": "error", "live.cuda_available": True}
    assert judge(look(facts)).outcome == "fail"


def test_a_crash_inside_the_kernel_is_another_fault(look: Look) -> None:
    facts = {
        **CUDA,
        "live.status": "crashed",
        "live.cuda_available": True,
        "live.kernel_ran": False,
    }
    assert judge(look(facts)).outcome == "pass"


def test_an_import_that_failed_says_nothing_of_cuda(look: Look) -> None:
    facts = {"torch.version": "2.9.1+cu128", "live.status": "error", "live.error": "ImportError"}
    with pytest.raises(MissingFactError, match=r"live.cuda_available"):
        judge(look(facts))
