"""Releases that came after the matrix."""

from __future__ import annotations

from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions


def compare(view: View, package: str) -> Judgement:
    """Compare the release numbers of a package with the newest in its table."""
    path = f"{package}.version"
    own = view.need(path)
    if own is None:
        raise MissingFactError(path)
    rows = view.tables.compat(package)["release"]
    newest = max((row["version"] for row in rows), key=lambda text: versions.order(text) or ((), 0))
    if (versions.release(own) or ()) <= (versions.release(newest) or ()):
        return passed(path)
    return failed(path, detail=f"{own} is newer than {newest}, the newest that was looked at.")
