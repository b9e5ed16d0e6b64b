"""FD621: xformers' extension was built for another torch."""

from __future__ import annotations

from flashdoctor.engine.checks._symbols import summary
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.specifiers import fits, lower_bound

_OWN, _TORCH, _MISSING = "xformers.version", "torch.version", "xformers.missing_symbols"


def judge(view: View) -> Judgement:
    """Look at the symbols, else at the torch that vLLM's releases pin beside this xformers."""
    own = view.need(_OWN)
    if own is None:
        return passed(_OWN)
    missing = view.get(_MISSING)
    if missing.is_known and not missing.value:
        return passed(_MISSING)
    if missing.is_known:
        detail = f"xformers {own} needs {summary(missing.value)}, which this torch does not have."
        return failed(_MISSING, _OWN, _TORCH, detail=detail)
    wanted, torch = built_for(view, str(own)), view.need(_TORCH)
    if wanted is None or torch is None:
        raise MissingFactError(_MISSING if wanted is None else _TORCH)
    if fits(torch, wanted):
        return passed(_OWN, _TORCH)
    detail = f"xformers {own} was built for torch {lower_bound(wanted)}, {torch} is installed."
    return failed(_OWN, _TORCH, detail=detail)


def built_for(view: View, xformers: str) -> str | None:
    """Return the torch pin of the vLLM release that pins this xformers, None where none does."""
    wanted = versions.order(xformers)
    for row in view.tables.compat("vllm")["release"]:
        if wanted and versions.order(lower_bound(row.get("xformers", "")) or "") == wanted:
            return str(row["torch"])
    return None
