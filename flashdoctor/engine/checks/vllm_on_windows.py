"""FD623: vLLM in a Python of Windows."""

from __future__ import annotations

from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, View, failed, passed
from flashdoctor.model.rule import Severity

_SYSTEM, _EXTENSION = "os.system", "vllm.extension"


def judge(view: View) -> Judgement:
    """Fail on Windows; where the extension is on disk it is somebody's own build: a warning."""
    version = installed_version(view)
    if view.need(_SYSTEM) != "Windows":
        return passed(_SYSTEM)
    detail = f"vLLM {version} has no wheel for Windows."
    severity: Severity | None = "warning" if view.get(_EXTENSION).is_known else None
    return failed("vllm.version", _SYSTEM, _EXTENSION, detail=detail, severity=severity)
