"""FD217: a torch release with a CUDA tag that was never published for it."""

from __future__ import annotations

from flashdoctor.data import lookup
from flashdoctor.engine import situation
from flashdoctor.engine.torch_choice import advise_torch
from flashdoctor.engine.torch_wheels import is_index_wheel
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model import versions


def judge(view: View) -> Judgement:
    """Compare the tag with every variant of the release, tested and unadvertised ones included."""
    version = view.need("torch.version") or ""
    tag = versions.local_tag(version) or ""
    release = lookup.torch_release(view.tables, version)
    if release is None or not versions.cuda_of_tag(tag) or not is_index_wheel(version):
        return passed("torch.version")
    rows = view.tables.compat("torch")["variant"]
    built = {row["tag"] for row in rows if row["minor"] == release["minor"]}
    if tag in built | set(release["cuda_variants"]) or situation.imports_torch(view):
        return passed("torch.version")
    text = f"torch {release['version']} exists as {', '.join(sorted(built))}, not as {tag}."
    return failed("torch.version", detail=text, values=advise_torch(view))
