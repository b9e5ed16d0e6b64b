"""Run flashdoctor's command line as if on another machine, or with less patience.

    python on_machine.py '{"root": "/tmp/root", "silence_s": 2}' check --format json

Settings, all optional: `root`, a folder in place of `/` for the GPU and host probes; `gpu_s`,
`collect_s` and `silence_s`, limits for NVML with nvidia-smi, for the target's report and for a step
of its live import; `system`, win32 or darwin, whose Python lacks parts of the standard library.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

LACKS: dict[str, dict[str, str]] = {
    "win32": {
        "modules": "fcntl grp pty pwd resource termios",
        "os": "confstr fork geteuid getuid killpg mkfifo P_PID sched_getaffinity setsid statvfs"
        " sysconf uname waitid WEXITED WNOWAIT",
        "signal": "SIGKILL",
    },
    "darwin": {"modules": "", "os": "sched_getaffinity waitid", "signal": ""},
}


def pretend(system: str) -> None:
    """Take away what the Python of another system does not have; typer is not what is looked at."""
    import typer  # noqa: F401, PLC0415 - it would look for modules that only Windows has

    lacks = LACKS[system]
    for name in lacks["modules"].split():
        sys.modules[name] = None  # type: ignore[assignment]  # what makes its import fail
    for module in (os, signal):
        for name in lacks[module.__name__].split():
            delattr(module, name)
    sys.platform = system


def change_default(function: Any, **changes: Any) -> None:
    """Give parameters of a function other defaults, wherever it has been imported to already."""
    keywords = dict(function.__kwdefaults__ or {})
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    plain = dict(zip(names[::-1], (function.__defaults__ or ())[::-1], strict=False))
    for name, value in changes.items():
        (keywords if name in keywords else plain)[name] = value
    function.__kwdefaults__ = keywords or None
    function.__defaults__ = tuple(plain[name] for name in names if name in plain)


def change_probes(settings: dict[str, Any]) -> None:
    """Give the probes the root and the limits of the settings."""
    from flashdoctor.probes.gpu import read_gpu  # noqa: PLC0415 - as the system that is pretended
    from flashdoctor.probes.host import read_host  # noqa: PLC0415 - the same
    from flashdoctor.target.collect import collect_facts  # noqa: PLC0415 - the same
    from flashdoctor.target.live import run_live  # noqa: PLC0415 - the same

    if "root" in settings:
        for read in (read_gpu, read_host):
            change_default(read, root=Path(settings["root"]))
    if "gpu_s" in settings:
        change_default(read_gpu, timeout_s=settings["gpu_s"])
    if "collect_s" in settings:
        change_default(collect_facts, timeout_s=settings["collect_s"])
    if "silence_s" in settings:
        change_default(run_live, silence_s=settings["silence_s"])


def main() -> None:
    """Run the command line that follows the settings."""
    settings = json.loads(sys.argv.pop(1))
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    if "system" in settings:
        pretend(settings["system"])
    change_probes(settings)
    runpy.run_module("flashdoctor", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
