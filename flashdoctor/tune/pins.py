"""What the user holds fast: flags read as the release's own parser reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from flashdoctor.errors import UsageError
from flashdoctor.logs.command_line import read_quantity
from flashdoctor.tune.argv import Given, parse
from flashdoctor.tune.flags import FlagTable
from flashdoctor.tune.words import Word

AUTO = frozenset({"auto", "-1"})
_GIB = 1 << 30


class Pin(NamedTuple):
    """A flag as it goes into the command (`--max-num-seqs`), its name, and its value if any."""

    text: str
    name: str
    value: str | None = None
    negative: bool = False

    @property
    def is_on(self) -> bool:
        """Whether a switch is switched on."""
        said = (self.value or "true").lower()
        return not self.negative and said not in {"false", "0", "no"}


def read_pins(items: Iterable[str], table: FlagTable) -> dict[str, Pin]:
    """Return pins by flag name; every mistake is named in one `UsageError`."""
    found: dict[str, Pin] = {}
    mistakes: list[str] = []
    for item in items:
        try:
            pin = _read(item.strip(), table)
            found[pin.text.lstrip("-") if "." in pin.text else pin.name] = pin
        except ValueError as error:
            mistakes.append(str(error))
    if mistakes:
        raise UsageError("--pin: " + "; ".join(mistakes), hint="--pin max-num-seqs=64")
    return found


def _read(item: str, table: FlagTable) -> Pin:
    head, equals, value = item.partition("=")
    if not head.strip("-"):
        raise ValueError(f"{item!r} is not FLAG or FLAG=VALUE")
    written = head if head.startswith("-") else f"--{head}"
    given = parse([Word(f"{written}={value}" if equals else written)], table).given
    if not given or given[0].flag is None:
        raise ValueError(_unknown(head, given[0] if given else None, table))
    one = given[0]
    flag = one.flag
    text = f"--{'no-' if one.negative else ''}{one.name}"
    if one.key:
        text = f"--{one.name}.{one.key}"
    if not equals and not (flag and (flag.is_switch or flag.optional)):
        raise ValueError(f"{text} takes a value")
    if equals and flag and flag.is_switch and value.lower() in {"true", "false"}:
        negative = one.negative is not (value.lower() == "false")
        return Pin(f"--{'no-' if negative else ''}{one.name}", one.name, None, negative)
    if equals and flag and flag.is_switch:
        raise ValueError(f"{text} takes no value")
    return Pin(text, one.name, value if equals else None, one.negative)


def _unknown(head: str, given: Given | None, table: FlagTable) -> str:
    name = head.lstrip("-").replace("_", "-")
    version = table.release.version
    if given and given.options:
        return f"{head} may mean {' or '.join(given.options[:4])}"
    if name in table.rows:
        return f"vLLM {version} has no --{name}, other releases do"
    close = get_close_matches(name, table.flags, n=1)
    meant = f", did you mean --{close[0]}?" if close else ""
    return f"vLLM {version} has no --{name}{meant}"


def settings_of(pins: Mapping[str, Pin]) -> dict[str, Any]:
    """Return the fields of `Settings` that pins decide; `UsageError` for what is no such value."""
    found: dict[str, Any] = {}
    mistakes: list[str] = []
    for name, pin in pins.items():
        try:
            found.update(_fields(name, pin))
        except ValueError:
            mistakes.append(f"{pin.text} does not take {pin.value!r}")
    if mistakes:
        raise UsageError("--pin: " + "; ".join(mistakes))
    return found


def _fields(name: str, pin: Pin) -> dict[str, Any]:
    """Return the field that a pin decides, under the name that `Settings` has for it."""
    field = name.replace("-", "_")
    if name in _SWITCHES:
        return {field: pin.is_on}
    reader = _READERS.get(name)
    if reader is None or (name in _SIZES and pin.value in AUTO):
        return {}
    renamed = {"cpu-offload-gb": "cpu_offload_bytes", "optimization-level": "enforce_eager"}
    if name == "disable-hybrid-kv-cache-manager":
        return {"hybrid_kv_cache": not pin.is_on}
    return {renamed.get(name, field): reader(pin.value or "")}


def _size(text: str) -> int:
    number = read_quantity(text)
    if number is None or number < 1:
        raise ValueError
    return number


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise ValueError
    return share


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(_size(part) for part in text.replace(",", " ").split())


_SIZES = (
    "max-model-len", "max-num-seqs", "max-num-batched-tokens", "block-size",
    "tensor-parallel-size", "pipeline-parallel-size", "num-gpu-blocks-override",
    "kv-cache-memory-bytes", "max-cudagraph-capture-size",
)  # fmt: skip
_SWITCHES = frozenset(
    {
        "enforce-eager", "enable-prefix-caching", "enable-chunked-prefill", "async-scheduling",
        "enable-expert-parallel",
    }
)  # fmt: skip
_READERS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(_SIZES, _size),
    **dict.fromkeys(("kv-cache-dtype", "dtype", "attention-backend"), str),
    "gpu-memory-utilization": _share,
    "cpu-offload-gb": lambda text: round(float(text) * _GIB),
    "cudagraph-capture-sizes": _sizes,
    "optimization-level": lambda text: text == "0",
    "disable-hybrid-kv-cache-manager": str,
}
