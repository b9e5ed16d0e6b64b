"""FD612: transformers is newer than this vLLM supports."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import at_least
from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed
from flashdoctor.model import versions
from flashdoctor.model.specifiers import below, fits

_PIN, _OWN = "vllm.transformers_pin", "transformers.version"
CEILINGS = (("0.10.0", "4.54"), ("0.19.1", "5"))
"""vLLM before the first breaks with transformers from the second on: 0.9 with 4.54
(vllm-project/vllm#20921), 5.0 is supported from 0.19.1 on (vllm-project/vllm#30566)."""


def judge(view: View) -> Judgement:
    """Compare transformers with the known ceilings, then with the upper end of the pin."""
    vllm = installed_version(view)
    own = view.need(_OWN)
    if own is None:
        raise MissingFactError(_OWN)
    for fixed_in, first_bad in CEILINGS:
        if not at_least(vllm, fixed_in) and at_least(own, first_bad):
            return _fail(vllm, own, f"<{first_bad}", "vllm.version")
    pin = view.need(_PIN)
    if pin is None:
        raise MissingFactError(_PIN)
    if fits(own, pin) or below(own, pin):
        return passed(_PIN, _OWN)
    return _fail(vllm, own, pin, _PIN)


def _fail(vllm: str, own: str, wanted: str, path: str) -> Judgement:
    return failed(
        *dict.fromkeys((_OWN, "vllm.version", path)),
        detail=f"vLLM {vllm} works with transformers {wanted}, {own} is installed.",
        values={"advice.transformers": wanted, "advice.own": versions.public(own)},
    )
