"""C++ symbol names as the linker sees them: whose they are, and which std::string they take.

Source of the grammar: Itanium C++ ABI, "External Names (a.k.a. Mangling)".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from flashdoctor.model.regex import regex

_NAMESPACES = frozenset({"at", "c10", "c10d", "caffe2", "torch"})
_C_FUNCTIONS = ("THP", "aoti_torch_", "torch_")  # of libtorch_python, and of the stable ABI
_NEW_STRING = "NSt7__cxx1112basic_stringI"
_NEW_TAG = "B5cxx11"  # a function that returns a std::string
_OLD_STRING = "Ss"
# What holds digits that are no length of a name: substitutions, template parameters, thunks,
# literals, array bounds.
_NO_NAME = regex(r"S[0-9A-Z]*_|T[0-9]*_|T[hv](?:n?[0-9]+_)+|L[a-z]n?[0-9]+E|A[0-9]+_")
_LENGTH = regex(r"[1-9][0-9]{0,4}")
# What may stand before the outermost scope: vtables, type information, guards, thunks, `const`.
_BEFORE_SCOPE = regex(r"(?:T[VTIS]|G[VR]|Z|_)*N?[rVKRO]*")


class Mangled(NamedTuple):
    """A mangled name taken apart: its identifiers, and the rest with `.` for each of them."""

    identifiers: tuple[str, ...]
    rest: str


def parse_mangled(name: str) -> Mangled:
    """Take a mangled name apart; one that is not mangled has no identifiers."""
    if not name.startswith("_Z"):
        return Mangled((), name)
    identifiers, rest, at = [], [], 2
    while at < len(name):
        length = _LENGTH.match(name, at)
        if length:
            at = length.end() + int(length[0])
            identifiers.append(name[length.end() : at])
            rest.append(".")
            continue
        other = _NO_NAME.match(name, at)
        rest.append("_" if other else name[at])
        at = other.end() if other else at + 1
    return Mangled(tuple(identifiers), "".join(rest))


def belongs_to_torch(name: str) -> bool:
    """Whether torch's libraries are what must define this symbol.

    By its outermost scope; pybind11's counts where a type of torch's is in the name, for
    libtorch_python defines the converters of at::Tensor.
    """
    if name.startswith(_C_FUNCTIONS):
        return True
    identifiers, rest = parse_mangled(name)
    if not identifiers or not _BEFORE_SCOPE.fullmatch(rest.partition(".")[0]):
        return False
    if identifiers[0] == "pybind11":
        return not _NAMESPACES.isdisjoint(identifiers)
    return identifiers[0] in _NAMESPACES


def cxx11_abi(names: Iterable[str]) -> bool | None:
    """Which C++11 ABI these symbols were compiled for; None where none of them tells.

    Raise `ValueError` where they contradict one another.
    """
    found = {abi for abi in map(_abi_of, names) if abi is not None}
    if len(found) > 1:
        raise ValueError("symbols of both C++11 ABIs")
    return next(iter(found), None)


def _abi_of(name: str) -> bool | None:
    if _NEW_STRING in name or _NEW_TAG in name:
        return True
    return False if _OLD_STRING in parse_mangled(name).rest else None
