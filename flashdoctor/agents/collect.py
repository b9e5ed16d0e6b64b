"""Agent: facts about the target interpreter and its packages, none of which it imports."""

from __future__ import annotations

import sys


def main(parts: object, options: dict, emit: object) -> None:
    """Emit one report: `facts` and the `files` that flashdoctor looks into."""
    del options
    report = parts.report.Report()
    packages, environment = parts.packages, parts.environment
    report.guard(environment.IDENTITY_PATHS, environment.state_identity, report)
    report.guard(
        ("python.headers", "python.user_site", "python.pythonpath"),
        environment.state_surroundings, report,
    )  # fmt: skip
    path = [entry for entry in sys.path if isinstance(entry, str) and "\0" not in entry]
    scan = parts.distributions.Scan(path, packages.watched(), packages.PREFIXES)
    state_packages(parts, report, scan)
    state_torch(parts, report, scan)
    state_attention(parts, report, scan)
    emit(report.to_json())


def state_packages(parts: object, report: object, scan: object) -> None:
    """State versions, what frameworks require, and what depends on where packages stand."""
    packages = parts.packages
    report.guard(packages.version_paths(), packages.state_versions, report, scan)
    report.guard(
        packages.FRAMEWORK_PATHS, packages.state_frameworks, report, scan, parts.requirements,
        parts.environment.marker_environment(),
    )  # fmt: skip
    report.guard(("bitsandbytes.cuda_binaries",), packages.state_bitsandbytes, report, scan)
    report.guard(
        ("python.pip", "python.user_site_packages", "python.shadowed"),
        parts.environment.state_packages, report, scan, packages,
    )  # fmt: skip


def state_torch(parts: object, report: object, scan: object) -> None:
    """State what torch's files and its metadata tell."""
    torch, requirements = parts.torch_files, parts.requirements
    environment = parts.environment.marker_environment()

    def pins_of(distribution: object) -> object:
        return parts.packages.Pins(distribution, requirements, environment)

    read_text = parts.distributions.read_text
    report.guard(torch.VERSION_PATHS, torch.state_versions, report, scan, read_text)
    report.guard(torch.PIN_PATHS, torch.state_pins, report, scan, pins_of, requirements)
    report.guard(torch.LIBRARY_PATHS, torch.state_libraries, report, scan, pins_of)


def state_attention(parts: object, report: object, scan: object) -> None:
    """State the attention packages and their extensions."""
    attention = parts.attention
    for paths, step in (
        (attention.WHEEL_PATHS, attention.state_wheel),
        (attention.FLASH_PATHS, attention.state_flash),
        (attention.FA3_PATHS, attention.state_fa3),
        (attention.FA4_PATHS, attention.state_fa4),
        (attention.VLLM_PATHS, attention.state_vllm),
        (attention.XFORMERS_PATHS, attention.state_xformers),
    ):
        report.guard(paths, step, report, scan)
