"""FD303: flash-attn and torch differ in the C++11 ABI."""

from __future__ import annotations

from flashdoctor.engine.checks._flash_attn import installed_version, is_windows, loads, new_abi
from flashdoctor.engine.flash_wheels import wheel_advice
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_TORCH = "torch.cxx11_abi"
_NAMES = {True: "new", False: "old"}


def judge(view: View) -> Judgement:
    """Compare the two ABIs; an extension whose symbols are all there fits whatever its name."""
    version = installed_version(view)
    if loads(view):
        return passed("flash_attn.missing_symbols", "live.imports")
    own, path = new_abi(view)
    if is_windows(view):
        return passed(path)
    torch = view.need(_TORCH)
    if torch is None:
        raise MissingFactError(_TORCH)
    if own == torch:
        return passed(path, _TORCH)
    return failed(
        path,
        _TORCH,
        "torch.version",
        detail=(
            f"flash-attn {version} has the {_NAMES[own]} C++ ABI, "
            f"torch {view.value('torch.version', '')} the {_NAMES[torch]} one."
        ),
        values=wheel_advice(view),
    )
