"""`docker info` and `hostnamectl`: the host's system, and docker's runtimes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from flashdoctor.logs.statements import LineParser, say, shorten
from flashdoctor.model.log import Found, Line
from flashdoctor.model.regex import regex

SOURCE = "docker info"

_FIELD = regex(
    r"^\s{0,20}(?P<label>Runtimes|Default Runtime|Kernel Version|Kernel|Operating System"
    r"|Architecture|OSType): (?P<value>\S.{0,120}?)\s*$"
)
_WORD = regex(r"[\w.-]{1,60}")
_MACHINES = {"x86_64": "x86_64", "x86-64": "x86_64", "amd64": "x86_64"}
_MACHINES |= {"aarch64": "aarch64", "arm64": "aarch64"}
_KERNEL = regex(r"(?:Linux )?(\d{1,2}\.\d{1,3}[\w.+-]{0,60})")


def _runtimes(value: str) -> Iterator[tuple[str, object]]:
    names = value.split()
    if all(map(_WORD.fullmatch, names)):
        yield "launch.runtimes", names


def _default(value: str) -> Iterator[tuple[str, object]]:
    if _WORD.fullmatch(value):
        yield "launch.default_runtime", value


def _kernel(value: str) -> Iterator[tuple[str, object]]:
    kernel = _KERNEL.fullmatch(value)
    if kernel:
        yield "os.kernel", kernel[1]
        yield "os.system", "Linux"


def _system(value: str) -> Iterator[tuple[str, object]]:
    if value.startswith("Docker Desktop"):
        return  # of the virtual machine, which is neither the host nor the container
    yield "os.distribution", value


def _machine(value: str) -> Iterator[tuple[str, object]]:
    machine = _MACHINES.get(value.lower())
    if machine:
        yield "os.platform", f"linux_{machine}"


_FIELDS: Mapping[str, Callable[[str], Iterator[tuple[str, object]]]] = {
    "Runtimes": _runtimes,
    "Default Runtime": _default,
    "Kernel Version": _kernel,
    "Kernel": _kernel,
    "Operating System": _system,
    "Architecture": _machine,
}


def _read(whole: Line) -> Iterator[Found]:
    line = shorten(whole)
    field = _FIELD.match(line.text)
    reader = _FIELDS.get(field["label"]) if field else None
    for path, value in reader(field["value"]) if reader and field else ():
        yield say(path, value, line, SOURCE)


PARSER = LineParser(
    kind=SOURCE,
    keywords=(
        "runtimes: ", "default runtime: ", "kernel version: ", "kernel: linux",
        "operating system: ", "architecture: ",
    ),
    read=_read,
)  # fmt: skip
