"""PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True and what of vLLM it does not go with."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.model.lint import LintFinding
from flashdoctor.model.regex import regex
from flashdoctor.tune.flags import Row
from flashdoctor.tune.forms import Setting
from flashdoctor.tune.kinds import DISAGREE
from flashdoctor.tune.lint_findings import Context, make, source_of
from flashdoctor.tune.lint_values import number_of

_NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_ON = regex(r"(?i)expandable_segments\s{0,4}:\s{0,4}true")


def custom_all_reduce(context: Context, row: Row) -> Iterator[LintFinding]:
    """Yield that several GPUs would share memory that cannot be shared."""
    setting = _setting(context)
    ranks = number_of(context.parsed.last("tensor-parallel-size"))
    if setting is None or ranks is None or ranks < 2:  # noqa: PLR2004 - one GPU shares nothing
        return
    if context.parsed.last("disable-custom-all-reduce") is None:
        yield _found(setting, row, "expandable_segments gets in the way of custom all-reduce",
                     severe=False)  # fmt: skip


def kv_connector(context: Context, row: Row) -> Iterator[LintFinding]:
    """Yield that a connector would pin memory that moves; sleep mode brings its own allocator."""
    setting = _setting(context)
    connected = any(
        one.flag and one.flag.name == "kv-transfer-config" for one in context.parsed.given
    )
    own = any(map(context.parsed.last, ("enable-sleep-mode", "enable-cumem-allocator")))
    if setting is not None and connected and not own:
        title = "vLLM refuses a KV connector together with expandable_segments"
        yield _found(setting, row, title, severe=True)


def sleep_mode(context: Context, row: Row) -> Iterator[LintFinding]:
    """Yield that the allocator of sleep mode does not start with segments that grow."""
    setting = _setting(context)
    sleeps = context.parsed.last("enable-sleep-mode")
    if setting is not None and sleeps is not None and not sleeps.negative:
        title = "sleep mode does not start together with expandable_segments"
        yield _found(setting, row, title, severe=True)


def _setting(context: Context) -> Setting | None:
    found = (one for one in context.command.environment if one.name in _NAMES)
    return next((one for one in found if _ON.search(one.value)), None)


def _found(setting: Setting, row: Row, title: str, *, severe: bool) -> LintFinding:
    return make(
        DISAGREE,
        setting.value.part(f"{setting.name}={setting.value}"),
        title,
        flag=setting.name,
        advice="Leave expandable_segments out of it.",
        detail=str(row["text"]),
        severity=None if severe else "warning",
        sources=source_of(row),
    )
