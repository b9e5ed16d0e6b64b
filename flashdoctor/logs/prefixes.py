"""What log collectors and launchers put before each line. Pure.

Only the collector's part goes: the level, the time and the place that a program itself wrote stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_MOST = 8  # prefixes that stand one behind another: a time, a pod, a worker, a rank

_DAY = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d:\d\d"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"

# The program's name is kept where it tells whose message it is.
_TELLING = r"(?:kernel|nv[\w-]*|docker\w*|containerd|kubelet|systemd[\w-]*|dkms|modprobe)"
_PROGRAM = (
    rf"(?P<host>[\w.:-]+) (?:(?={_TELLING}(?:\[\d+\])?: )|[\w./@-]+(?:\(\w+\))?(?:\[\d+\])?: ?)"
)

SYSLOG = re.compile(rf"(?:<\d{{1,3}}>)?{_MONTH} [ \d]\d {_CLOCK}(?:\.\d+)? {_PROGRAM}")
"""journalctl, /var/log/syslog: `Dec 29 15:21:11 host program[123]: `."""

SYSLOG_ISO = re.compile(
    rf"(?:<\d{{1,3}}>1? ?)?{_DAY}T{_CLOCK}(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d) "
    r"(?P<host>[\w.:-]+) (?:(?=kernel: |nv[\w-]*\[)|[\w./@-]+\[\d+\]: ?)"
)
"""The same with a full time stamp: `2025-12-29T15:21:11.123456+01:00 host program[123]: `."""

_ZULU = re.compile(
    rf"\ufeff?{_DAY}T{_CLOCK}(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
    r"(?: std(?:out|err) [FP](?: |$)| \d\d[OE][ +]?| |\t|$)"
)
"""GitHub Actions, `kubectl logs --timestamps`, containerd (`stderr F`), GitLab (`01E `)."""

_BY_START: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "(": (
        # Ray and vLLM: (RayWorkerWrapper pid=1523, ip=10.0.0.2), (Worker_TP0 pid=1), (raylet)
        re.compile(r"\((?:[^()]{1,80}[ ,])?pid=\d+(?:, ?[\w]+=[^(),]{1,60}){0,4}\) ?"),
        re.compile(r"\((?:raylet|gcs_server|autoscaler|scheduler|dashboard|log_monitor)"
                   r"(?:[ ,][^()]{1,80})?\) ?"),
    ),
    "[": (
        re.compile(r"\[(?:rank|Rank )?\d{1,5}\]: ?|\[default\d{1,5}\]:"),  # torchrun
        re.compile(r"\[\d+,\d+\]<std(?:out|err)>: ?"),  # mpirun --tag-output
        re.compile(r"\[ *\d{1,8}\.\d{6}\](?:\[ *[TC]\d+\])? "),  # dmesg
        re.compile(rf"\[[A-Z][a-z]{{2}} {_MONTH} [ \d]\d {_CLOCK} \d{{4}}\] "),  # dmesg -T
        re.compile(rf"\[{_DAY}T{_CLOCK}(?:\.\d+)?Z\] "),  # Jenkins
        re.compile(r"\[pod/[^\]\s]{1,200}\] "),  # kubectl logs --prefix
        re.compile(r"\[command\]"),  # GitHub Actions
    ),
    "<": (re.compile(rf"<\d{{1,3}}>(?:1 )?(?=\[|{_MONTH} |{_DAY}T)"),),  # dmesg -r, syslog
    "#": (
        re.compile(r"##\[[a-z-]{1,20}\]"),  # ##[error], ##[group]
        re.compile(r"#\d{1,4} \d{1,6}\.\d{1,3} "),  # docker build: #14 12.34
    ),
    ":": (re.compile(r"::(?:error|warning|notice|debug|group)(?: [^:]{0,300})?::"),),
    "E": (re.compile(r"E {3,}(?=\S)"),),  # pytest
}  # fmt: skip
_TIMED = (SYSLOG_ISO, _ZULU)
_RANKED = re.compile(r"\d{1,4}: (?=\S)")  # srun --label
_MONTHS = frozenset(
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
)
_STEP = re.compile(rf"[^\t]{{1,120}}\t[^\t]{{1,120}}\t(?=\ufeff?{_DAY}T)")  # gh run view --log
# docker compose: `vllm-1  | `; without a number only where the name is filled up with blanks.
_SERVICE = re.compile(r"[\w.-]{1,60}(?:[_-]\d{1,4} +\| ?| {2,}\| (?![^|+].*\|\s*$))")
_SERVICE_WITHIN = 80
_REPEATED = re.compile(r" \[repeated \d+x across (?:cluster|all nodes)\](?: \(Ray dedup.*)?$")


_WORKER = re.compile(r"(?:\([\w:.-]{1,60} [^()]{0,20}pid=\d+[^()]{0,80}\) ?){1,4}")
_WORKER_WITHIN = 300


def worker_of(text: str) -> str:
    """Return the prefix that names the process a line came from; empty where there is none.

    Such a name may tell more than the line: `(EngineCore_DP0 pid=280)` is vLLM.
    """
    found = _WORKER.search(text, 0, _WORKER_WITHIN) if "pid=" in text else None
    return found[0].rstrip() if found else ""


def strip_prefixes(text: str) -> str:
    """Return the line as the program wrote it; the blanks that it starts with stay."""
    for _ in range(_MOST):
        length = _prefix_length(text)
        if not length:
            break
        text = text[length:]
    if "[repeated " in text:
        text = _REPEATED.sub("", text)
    return text


def _prefix_length(text: str) -> int:
    """Return the length of one prefix, 0 where there is none."""
    start = text[:1]
    patterns = _BY_START.get(start)
    if patterns is None:
        patterns = _TIMED if start.isdigit() or start == "\ufeff" else ()
        if text[:3] in _MONTHS:
            patterns = (SYSLOG,)
    for pattern in patterns:
        found = pattern.match(text)
        if found:
            return found.end()
    return _other_length(text, start)


def _other_length(text: str, start: str) -> int:
    found = None
    if "|" in text[:_SERVICE_WITHIN]:
        found = _SERVICE.match(text)
    elif start.isdigit():
        found = _RANKED.match(text)
    elif "\t" in text:
        found = _STEP.match(text)
    return found.end() if found else 0
