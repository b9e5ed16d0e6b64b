"""FD713: the image asks for a newer driver than the host has (NVIDIA_REQUIRE_CUDA).

The variable holds alternatives behind spaces, each a list of conditions joined by commas:
`cuda>=12.8 brand=tesla,driver>=535,driver<536`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.regex import regex

_TERM = regex(r"(!?)(cuda|driver|arch|brand)(>=|<=|!=|=|>|<)(\S+)")
_BRANDS: Mapping[str, frozenset[str]] = {
    "datacenter": frozenset({"tesla", "nvidia"}),
    "consumer": frozenset({"geforce", "geforcertx"}),
    "laptop": frozenset({"geforce", "geforcertx"}),
    "workstation": frozenset({"quadro", "quadrortx", "nvidiartx", "titan", "titanrtx"}),
}
_COMPARE: Mapping[str, Callable[[object, object], bool]] = {
    ">=": lambda a, b: a >= b,  # type: ignore[operator]
    "<=": lambda a, b: a <= b,  # type: ignore[operator]
    ">": lambda a, b: a > b,  # type: ignore[operator]
    "<": lambda a, b: a < b,  # type: ignore[operator]
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def judge(view: View) -> Judgement:
    """Pass where CUDA is proven; only warn where the container evidently got its GPU."""
    requirement = view.need("container.require_cuda")
    if not requirement or situation.proves_cuda(view):
        return passed("container.require_cuda")
    truths = [_all(_term(view, term) for term in part.split(",")) for part in requirement.split()]
    if True in truths or not truths:
        return passed("container.require_cuda", "driver.version", "driver.cuda")
    if None in truths:
        raise MissingFactError(_missing(view))
    return failed(
        "container.require_cuda",
        "driver.version",
        "driver.cuda",
        "gpu.name",
        severity="warning" if _started_all_the_same(view) else None,
    )


def _started_all_the_same(view: View) -> bool:
    """Whether the check was switched off, or (as CDI does) nobody made it: a GPU is there."""
    return bool(view.value("container.require_disabled") or view.value("gpu.count"))


def _missing(view: View) -> str:
    wanted = ("driver.cuda", "driver.version", "gpu.segment", "gpu.compute_capability")
    return next((path for path in wanted if not view.get(path).is_known), "container.require_cuda")


def _all(parts: Iterable[bool | None]) -> bool | None:
    seen = list(parts)
    if False in seen:
        return False
    return None if None in seen else True


def _term(view: View, text: str) -> bool | None:
    match = _TERM.fullmatch(text)
    if match is None:
        return None
    negated, key, operator, value = match.groups()
    truth = _brand(view, operator, value) if key == "brand" else _number(view, key, operator, value)
    return truth if truth is None or not negated else not truth


def _brand(view: View, operator: str, value: str) -> bool | None:
    own = _BRANDS.get(view.value("gpu.segment", ""))
    if own is None or operator not in {"=", "!="}:
        return None
    return (value in own) == (operator == "=")


def _number(view: View, key: str, operator: str, value: str) -> bool | None:
    paths = {"cuda": "driver.cuda", "driver": "driver.version", "arch": "gpu.compute_capability"}
    own, wanted = view.value(paths[key]), versions.release(value)
    numbers = versions.release(own) if own else None
    if numbers is None or wanted is None:
        return None
    return _COMPARE[operator](numbers, wanted)
