"""What the live import of an extension said."""

from __future__ import annotations

import re

from flashdoctor.engine.view import MissingFactError, View

_FAILED = ("error", "crashed", "timeout")
_KINDS = {
    "cuda library": re.compile(r"\blib(cuda|cudart|nvrtc|cublas\w*|nvJitLink)\.so\S*: cannot open"),
    "system library": re.compile(r"\b(GLIBC|GLIBCXX|CXXABI)_[\d.]+\W+not found"),
}


def failed_import(view: View, module: str) -> str | None:
    """Return the error of a module's import, None where all went well.

    `module` is a pattern for the whole name. Skips the rule where nothing was imported, or torch
    itself did not come up: then its error says nothing of the extension.
    """
    status, imports = view.need("live.status"), view.need("live.imports")
    tried = [item for item in imports or () if re.fullmatch(module, item.get("module", ""))]
    if status != "ok" or not tried:
        raise MissingFactError("live.imports")
    for item in tried:
        if item.get("status") in _FAILED:
            return str(item.get("error") or item["status"])
    return None


def imports_well(view: View, module: str) -> bool:
    """Whether a live import of the module is known to have worked."""
    try:
        return failed_import(view, module) is None
    except MissingFactError:
        return False


def kind_of_error(error: str) -> str:
    """Return `cuda library`, `system library` or `other` for the error of an import."""
    return next((kind for kind, words in _KINDS.items() if words.search(error)), "other")
