from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.torch_library_missing import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_the_loader_names_the_library(look: Look) -> None:
    words = "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory"
    assert "libcudnn.so.9" in judge(look({"live.error": words})).detail


def test_the_drivers_libraries_are_no_part_of_torch(look: Look) -> None:
    words = "OSError: libcuda.so.1: cannot open shared object file: No such file or directory"
    empty: list[str] = []
    assert judge(look({"live.error": words, "torch.library_missing": empty})).outcome == "pass"


def test_what_is_not_on_disk_is_listed(look: Look) -> None:
    missing = ["libcudnn.so.9", "libnccl.so.2"]
    assert "libcudnn.so.9, libnccl.so.2" in judge(look({"torch.library_missing": missing})).detail


def test_unread_files_are_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError, match=r"torch.library_missing"):
        judge(look({}))
