from __future__ import annotations

from typing import Any

from flashdoctor.engine.checks.xformers_torch_mismatch import built_for


def test_releases_pair_xformers_with_a_torch(look: Any) -> None:
    view = look({})
    assert built_for(view, "0.0.29.post2") == "==2.6.0"
    assert built_for(view, "0.0.29") is None


def test_the_torch_it_was_built_for_is_named(ask: Any) -> None:
    facts = {"xformers.version": "0.0.30", "torch.version": "2.8.0"}
    assert ask("xformers-torch-mismatch", facts).detail == (
        "xformers 0.0.30 was built for torch 2.7.0, 2.8.0 is installed."
    )
