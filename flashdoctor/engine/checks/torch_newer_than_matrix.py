"""FD218: a torch release that the tables do not hold."""

from __future__ import annotations

from flashdoctor.data import lookup
from flashdoctor.engine.torch_wheels import is_index_wheel
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Pass on vendor builds, which have a rule of their own, and on any patch of a known X.Y."""
    version = view.need("torch.version")
    if version is None or not is_index_wheel(version):
        return passed("torch.version")
    if lookup.torch_minor_release(view.tables, version) is None:
        text = f"The tables of {view.tables.date} end before or begin after torch {version}."
        return failed("torch.version", detail=text)
    return passed("torch.version")
