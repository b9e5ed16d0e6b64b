"""What a paste shows its writer wants to run: the components that count as required."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.model.rule import Component
from flashdoctor.model.snapshot import Snapshot

_IMPLEMENTATIONS: dict[str, Component] = {
    "flash_attention_2": "flash-attn",
    "flash_attention_3": "fa3",
    "flash_attention_4": "fa4",
    "sdpa": "sdpa",
}
_PROGRAMS: dict[str, Component] = {"vllm": "vllm", "transformers": "transformers"}


def asked_for(snapshot: Snapshot) -> frozenset[Component]:
    """Return the components that a launch command or start-up line asks for."""
    return frozenset(_asked(snapshot))


def _asked(snapshot: Snapshot) -> Iterator[Component]:
    chosen = _IMPLEMENTATIONS.get(snapshot.value("launch.attn_implementation", ""))
    if chosen:
        yield chosen
    for path in ("launch.program", "engine.name"):
        program = _PROGRAMS.get(snapshot.value(path, ""))
        if program:
            yield program
