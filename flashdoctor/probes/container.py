"""Whether this is a container, of which kind, and what it asked of NVIDIA's container runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flashdoctor.model.facts import Fact, absent, known, known_or_absent
from flashdoctor.model.scrub import scrub_text
from flashdoctor.probes.tree import exists, inside, read_text

PATHS = (
    "container.kind",
    "container.visible_devices",
    "container.driver_capabilities",
    "container.require_cuda",
    "container.require_disabled",
)

_VARIABLES = {
    "container.visible_devices": "NVIDIA_VISIBLE_DEVICES",
    "container.driver_capabilities": "NVIDIA_DRIVER_CAPABILITIES",
    "container.require_cuda": "NVIDIA_REQUIRE_CUDA",
}
_TRUE = {"1", "t", "T", "TRUE", "true", "True"}  # what Go's strconv.ParseBool takes

# Most telling first: Kubernetes runs on top of the others.
_CGROUP_WORDS = {
    "kubepods": "kubernetes",
    "libpod": "podman",
    "docker": "docker",
    "cri-containerd": "containerd",
    "lxc": "lxc",
}
_MOUNT_WORDS = {
    "/containers/storage/overlay": "podman",
    "/docker/overlay2/": "docker",
    "/docker/rootfs/": "docker",
    "/io.containerd.": "containerd",
    "/lxc/": "lxc",
}
_FILES = {
    "/run/.containerenv": "podman",
    "/.dockerenv": "docker",
    "/.singularity.d": "other",
}
_APPTAINER = ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER")
_NAMES = {"docker", "podman", "lxc", "containerd"}
_NOT_CONTAINERS = {"", "wsl"}  # systemd counts WSL as one


def read_container(root: Path, environ: Mapping[str, str]) -> list[Fact]:
    """Read the kind of container and its NVIDIA variables; all absent outside a container.

    Their UUIDs are masked here already.
    """
    kind = find_kind(root, environ)
    if kind is None:
        return [absent(path, "not in a container") for path in PATHS]
    return [
        known("container.kind", kind, "marks of container runtimes"),
        *(
            known_or_absent(path, _masked(environ.get(variable)), variable)
            for path, variable in _VARIABLES.items()
        ),
        known(
            "container.require_disabled",
            environ.get("NVIDIA_DISABLE_REQUIRE") in _TRUE,
            "NVIDIA_DISABLE_REQUIRE",
        ),
    ]


def _masked(value: str | None) -> str | None:
    return None if value is None else scrub_text(value)


def find_kind(root: Path, environ: Mapping[str, str]) -> str | None:
    """Return the kind of container, None outside one.

    Looks for what runtimes leave behind: Kubernetes' variables, marker files, the `container`
    variable (this process's and the first one's), systemd's note, control groups, the root mount.
    """
    if "KUBERNETES_SERVICE_HOST" in environ:
        return "kubernetes"
    cgroup = _text(root, "/proc/1/cgroup") + _text(root, "/proc/self/cgroup")
    by_cgroup = parse_cgroup(cgroup)
    if by_cgroup == "kubernetes":
        return by_cgroup
    marked = (kind for name, kind in _FILES.items() if exists(inside(root, name)))
    return (
        next(marked, None)
        or _kind_of_word(environ.get("container", ""))
        or ("other" if any(name in environ for name in _APPTAINER) else None)
        or _kind_of_word(_text(root, "/run/systemd/container").strip())
        or _kind_of_word(parse_environ(_text(root, "/proc/1/environ")).get("container", ""))
        or by_cgroup
        or parse_mounts(_text(root, "/proc/self/mountinfo"))
    )


def _text(root: Path, name: str) -> str:
    return read_text(inside(root, name)) or ""


def _kind_of_word(word: str) -> str | None:
    """Return the kind that a runtime calls itself; `other` for one that is not told apart."""
    if word in _NOT_CONTAINERS:
        return None
    first = word.partition("-")[0]
    return first if first in _NAMES else "other"


def parse_environ(text: str) -> dict[str, str]:
    """Read a process's environment block, `NAME=value` parted by null characters."""
    pairs = (item.partition("=") for item in text.split("\0"))
    return {name: value for name, equals, value in pairs if equals}


def parse_cgroup(text: str) -> str | None:
    """Return the kind that the paths of a `/proc/*/cgroup` betray."""
    paths = [line.split(":", 2)[2] for line in text.splitlines() if line.count(":") > 1]
    # A service of the host that is merely called `docker.service` is no container.
    parts = [part for path in paths for part in path.split("/") if not part.endswith(".service")]
    for word, kind in _CGROUP_WORDS.items():
        if any(part.startswith(word) for part in parts):
            return kind
    return None


def parse_mounts(text: str) -> str | None:
    """Return the kind that the root's mount in a `/proc/self/mountinfo` betrays."""
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) > 4 and fields[4] == "/":  # noqa: PLR2004  # the mount point, proc(5)
            return next((kind for word, kind in _MOUNT_WORDS.items() if word in line), None)
    return None
