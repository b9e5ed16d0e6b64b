"""FD345: a driver that the compiler of FlashAttention-4's kernels does not take."""

from __future__ import annotations

from flashdoctor.engine import drivers, situation
from flashdoctor.engine.view import Judgement, MissingFactError, View, failed, passed

_SUBJECT, _DRIVER = "flash_attn_4.version", "driver.version"


def judge(view: View) -> Judgement:
    """Compare with the floor in the limit row of fa4; a kernel that ran is the better judge.

    The floor is one of Linux: nothing is said of a driver of Windows.
    """
    if not view.get(_SUBJECT).is_known or situation.uses_windows_driver(view):
        raise MissingFactError(_SUBJECT)
    if "fa4" in (view.value("smoke.proven") or ()):
        return passed(_SUBJECT, "smoke.proven")
    driver = view.need(_DRIVER)
    rows = view.tables.compat("flash_attn")["limit"]
    floor = next(row["min_driver"] for row in rows if row["variant"] == "fa4")
    if driver is None or not drivers.is_below(driver, floor):
        return passed(_SUBJECT, _DRIVER)
    detail = f"nvidia-cutlass-dsl compiles its kernels and needs driver {floor} or newer."
    return failed(_DRIVER, _SUBJECT, detail=detail)
