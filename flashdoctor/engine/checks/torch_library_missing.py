"""FD215: libraries that torch links are not on disk."""

from __future__ import annotations

from flashdoctor.engine import situation
from flashdoctor.engine.torch_choice import own_index
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.regex import regex

_LOADER = regex(r"(lib[\w+-]+\.so[.\d]*): cannot open shared object file")
_OF_THE_DRIVER = regex(r"lib(cuda|nvidia-\w+)\.so")


def judge(view: View) -> Judgement:
    """Believe the loader first: what torch lacks is what stopped its import."""
    named = _LOADER.search(view.value("live.error", ""))
    if named and not _OF_THE_DRIVER.match(named[1]):
        text = f"The loader finds no {named[1]}."
        return failed("live.error", detail=text, values=own_index(view))
    if situation.imports_torch(view):
        return passed("live.torch_version")
    missing = view.need("torch.library_missing")
    if missing:
        text = "Not on disk: " + ", ".join(missing) + "."
        evidence = ("torch.library_missing", "torch.pins_unmet")
        return failed(*evidence, detail=text, values=own_index(view))
    return passed("torch.library_missing")
