# ruff: noqa: PTH110, PTH112, PTH118, PTH120, PTH123 - pathlib's import costs more than this whole part
"""Agent part: torch as it stands on disk, `torch.*`; torch itself is not imported."""

from __future__ import annotations

import os
import re

_ASSIGNMENT = re.compile(r"^(\w+)(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_ABI = re.compile(r"-D_GLIBCXX_USE_CXX11_ABI=([01])")
_SUFFIX = re.compile(r"nvidia-.*-cu(\d+)$")
_LIBRARY = re.compile(r"(?:^|/)lib[\w+-]*\.so[\w.]*$")
_MACRO = re.compile(
    r"^#define[ \t]+(?:CUDNN|NCCL)_(MAJOR|MINOR|PATCHLEVEL|PATCH)[ \t]+(\d+)", re.MULTILINE
)

# Packages whose version begins with the CUDA major; cuFFT 12 belongs to CUDA 13.
_CUDA_VERSIONED = ("nvidia-cublas", "nvidia-cuda-runtime", "nvidia-cuda-nvrtc", "nvidia-nvtx")
_HEADERS = {
    "cudnn": ("nvidia", "cudnn", "include", "cudnn_version.h"),
    "nccl": ("nvidia", "nccl", "include", "nccl.h"),
}

VERSION_PATHS = ("torch.version", "torch.build", "torch.cuda", "torch.cxx11_abi", "torch.installs")
PIN_PATHS = (
    "torch.triton_pin", "torch.cudnn_pin", "torch.pins_unmet", "torch.cuda_majors",
    "torch.python_requires",
)  # fmt: skip
LIBRARY_PATHS = ("torch.cudnn", "torch.nccl")


def parse_version_file(text: str) -> dict:
    """Return the text values in torch/version.py: __version__, cuda, hip, xpu; None stays None."""
    values = {}
    for name, value in _ASSIGNMENT.findall(text):
        quoted = value[:1] in ("'", '"') and value[-1:] == value[:1]
        values[name] = value[1:-1] if quoted else None
    return values


def parse_abi(text: str) -> bool | None:
    """Return the C++11 ABI in TorchConfig.cmake; None where the flag is missing."""
    match = _ABI.search(text)
    return match.group(1) == "1" if match else None


def build_kind(values: dict) -> str:
    """Return cuda, rocm, xpu or cpu from the values of torch/version.py."""
    for key, kind in (("cuda", "cuda"), ("hip", "rocm"), ("rocm", "rocm"), ("xpu", "xpu")):
        if values.get(key):
            return kind
    return "xpu" if "+xpu" in (values.get("__version__") or "") else "cpu"


def locate(scan: object) -> str | None:
    """Return torch's folder; a lone torch.py is not torch."""
    found = scan.locate("torch")
    return found if found and os.path.isdir(found) else None


def state_versions(report: object, scan: object, read_text: object) -> None:
    """State version, build, CUDA and C++ ABI from torch's own files."""
    folder = locate(scan)
    if folder is None:
        _state_absent(report, scan)
        return
    report.torch_lib = os.path.join(folder, "lib")
    report.known("torch.installs", len(scan.distributions.get("torch", ())), "sys.path")
    values = parse_version_file(read_text(os.path.join(folder, "version.py")) or "")
    if not values.get("__version__"):
        raise ValueError("torch/version.py is missing or names no version")
    source = "torch/version.py"
    report.known("torch.version", values["__version__"], source)
    report.known("torch.build", build_kind(values), source)
    report.known_or_absent("torch.cuda", values.get("cuda"), source)
    _state_abi(report, read_text(os.path.join(folder, "share/cmake/Torch/TorchConfig.cmake")))


def _state_absent(report: object, scan: object) -> None:
    left = scan.first("torch")
    reason = "metadata of torch %s is there, its folder is not" % left.version if left else ""
    for path in ("torch.version", "torch.build", "torch.cuda", "torch.cxx11_abi"):
        report.absent(path, "sys.path", reason)
    report.known("torch.installs", len(scan.distributions.get("torch", ())), "sys.path")


def _state_abi(report: object, text: str | None) -> None:
    source, abi = "TorchConfig.cmake", parse_abi(text or "")
    if abi is not None:
        report.known("torch.cxx11_abi", abi, source)
    else:
        reason = "the file is missing" if text is None else "the file does not state it"
        report.unknown("torch.cxx11_abi", source, reason)


def distribution(scan: object) -> object:
    """Return the metadata that belongs to the torch that would be imported, else any."""
    folder = locate(scan)
    for found in scan.distributions.get("torch", ()):
        if folder and found.folder == os.path.dirname(folder):
            return found
    return scan.first("torch")


def required(scan: object, pins_of: object) -> list:
    """Return torch's requirements, those of the metapackage cuda-toolkit in its place."""
    found = []
    for item in pins_of(distribution(scan)).all():
        found.append(item)
        if item.name == "cuda-toolkit" and scan.first(item.name) and item.extras:
            found += pins_of(scan.first(item.name)).all(item.extras)
    return found


def state_pins(report: object, scan: object, pins_of: object, requirements: object) -> None:
    """State what torch requires of triton, cuDNN and the other CUDA packages."""
    torch, source = distribution(scan), "metadata of torch"
    if torch is None:
        for path in PIN_PATHS:
            report.absent(path, "sys.path")
        return
    wanted = required(scan, pins_of)
    report.known_or_absent("torch.python_requires", torch.header("Requires-Python"), source)
    report.known_or_absent("torch.triton_pin", _specifier(wanted, r"(pytorch-)?triton$"), source)
    report.known_or_absent("torch.cudnn_pin", _specifier(wanted, r"nvidia-cudnn-cu\d+$"), source)
    majors = sorted({major for item in wanted for major in cuda_majors(item)})
    report.known_or_absent("torch.cuda_majors", majors or None, source)
    report.known("torch.pins_unmet", unmet(scan, wanted, requirements), source)


def _specifier(wanted: list, pattern: str) -> str | None:
    for item in wanted:
        if re.match(pattern, item.name) and item.specifier:
            return item.specifier
    return None


def cuda_majors(item: object) -> list:
    """Return the CUDA major that a requirement's name or exact version tells, as a list."""
    match = _SUFFIX.match(item.name)
    if match:
        return [match.group(1)]
    exact = re.match(r"==(\d+)\.", item.specifier)
    named = item.name == "cuda-toolkit" or item.name in _CUDA_VERSIONED
    return [exact.group(1)] if named and exact else []


def unmet(scan: object, wanted: list, requirements: object) -> list:
    """Return the CUDA packages that are missing, damaged or of another version than torch pins."""
    pins = [item for item in wanted if item.name.startswith(("nvidia-", "cuda-toolkit"))]
    found = [(item, effective_version(scan, item.name)) for item in pins]
    return [
        {"package": item.name, "required": item.specifier, "installed": installed}
        for item, installed in found
        if installed is None or not requirements.satisfies(installed, item.specifier)
    ]


def effective_version(scan: object, name: str) -> str | None:
    """Return the version of a package's files, None where it or one of its libraries is gone.

    cuDNN and NCCL packages of two CUDA majors install into one folder: the last one wins, which
    the headers on disk tell, and removing one takes the libraries of both.
    """
    found = scan.first(name)
    if found is None or is_damaged(found):
        return None
    twin = re.match(r"nvidia-(cudnn|nccl)-cu\d+$", name)
    if twin and len(_of_kind(scan, twin.group(1))) > 1:
        on_disk = header_version(found.folder, twin.group(1))
        if on_disk and not (found.version + ".").startswith(on_disk + "."):
            return on_disk
    return found.version


def _of_kind(scan: object, kind: str) -> list:
    return [name for name in scan.distributions if re.match("nvidia-%s-cu\\d+$" % kind, name)]


def header_version(folder: str, kind: str) -> str | None:
    """Return the version in cuDNN's or NCCL's header below a site folder."""
    try:
        with open(
            os.path.join(folder, *_HEADERS[kind]), encoding="utf-8", errors="replace"
        ) as file:
            macros = dict(_MACRO.findall(file.read()))
    except OSError:
        return None
    numbers = [
        macros.get("MAJOR"),
        macros.get("MINOR"),
        macros.get("PATCHLEVEL", macros.get("PATCH")),
    ]
    return ".".join(numbers) if all(numbers) else None


def state_libraries(report: object, scan: object, pins_of: object) -> None:
    """State the versions of cuDNN and NCCL that are installed for torch."""
    wanted = required(scan, pins_of)
    for kind in ("cudnn", "nccl"):
        names = [item.name for item in wanted if item.name.startswith("nvidia-%s-cu" % kind)]
        versions = [effective_version(scan, name) for name in (names or _of_kind(scan, kind))]
        report.known_or_absent(
            "torch." + kind, next(filter(None, versions), None), "nvidia-%s package" % kind
        )


def is_damaged(found: object) -> bool:
    """Whether a library that an installed package lists is gone."""
    for line in (found.read("RECORD") or "").splitlines():
        path = line.rpartition(",")[0].rpartition(",")[0].strip('"')
        if _LIBRARY.search(path) and not os.path.exists(os.path.join(found.folder, path)):
            return True
    return False
