"""FD136: NVIDIA no longer publishes fixes for this driver branch."""

from __future__ import annotations

from flashdoctor.data import lookup
from flashdoctor.engine import situation
from flashdoctor.engine.view import Judgement, View, failed, passed


def judge(view: View) -> Judgement:
    """Compare the branch's last month with the day of the tables, not with a clock."""
    branch = view.need("driver.branch")
    if branch is None or situation.uses_windows_driver(view) or situation.is_jetson(view):
        return passed("driver.branch")
    row = lookup.driver_branch(view.tables, branch)
    end = row.get("end_of_life") if row else None
    if end and end < view.tables.date[:7]:
        text = f"Branch {branch} was supported until {end}."
        return failed("driver.version", "driver.branch", detail=text)
    return passed("driver.branch")
