from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashdoctor.engine.checks.cudnn_version_mismatch import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def pin(required: str, installed: str | None) -> dict[str, Any]:
    record = {"package": "nvidia-cudnn-cu12", "required": required, "installed": installed}
    return {"torch.pins_unmet": [record], "torch.version": "2.6.0"}


@pytest.mark.parametrize(
    ("installed", "severity"),
    [("8.9.2.26", "error"), ("9.5.1.17", "warning"), (None, "error")],
)
def test_another_major_breaks_and_another_minor_is_doubted(
    look: Look, installed: str | None, severity: str
) -> None:
    assert judge(look(pin("==9.1.0.70", installed))).severity == severity


def test_a_torch_that_was_imported_is_not_broken(look: Look) -> None:
    facts = {**pin("==9.1.0.70", "8.9.2.26"), "live.status": "ok"}
    assert judge(look(facts)).severity == "warning"


def test_what_is_loaded_counts_before_what_is_pinned(look: Look) -> None:
    facts = {"live.cudnn": "9.5.1", "torch.cudnn": "9.1.0.70"}
    assert judge(look(facts)).evidence == ("live.cudnn", "torch.cudnn")
    assert judge(look({**facts, "torch.cudnn": "9.5.1.17"})).outcome == "pass"


def test_nothing_known_is_no_verdict(look: Look) -> None:
    with pytest.raises(MissingFactError):
        judge(look({}))
