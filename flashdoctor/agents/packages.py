# ruff: noqa: PTH208 - pathlib's import costs more than this whole part
"""Agent part: versions of the watched packages, and what the metadata of frameworks asks for."""

from __future__ import annotations

import os
import re

# Fact name -> distributions that stand for it, the usual one first.
VERSIONS = {
    "triton": ("triton", "pytorch-triton", "triton-nightly", "triton-windows"),
    "xformers": ("xformers",),
    "flashinfer": ("flashinfer-python", "flashinfer"),
    "flashinfer_cubin": ("flashinfer-cubin",),
    "transformers": ("transformers",),
    "kernels": ("kernels",),
    "accelerate": ("accelerate",),
    "bitsandbytes": ("bitsandbytes",),
    "autoawq": ("autoawq",),
    "auto_gptq": ("auto-gptq",),
    "gptqmodel": ("gptqmodel",),
    "exllamav2": ("exllamav2",),
    "llmcompressor": ("llmcompressor",),
    "compressed_tensors": ("compressed-tensors",),
    "optimum": ("optimum",),
    "numpy": ("numpy",),
    "pynvml": ("pynvml",),
    "nvidia_ml_py": ("nvidia-ml-py",),
    "sgl_kernel": ("sgl-kernel",),
    "vllm_flash_attn": ("vllm-flash-attn",),
    "torchvision": ("torchvision",),
    "torchaudio": ("torchaudio",),
    "peft": ("peft",),
    "ninja": ("ninja",),
    "packaging": ("packaging",),
    "psutil": ("psutil",),
    "wheel": ("wheel",),
    "setuptools": ("setuptools",),
    "nvidia_cutlass_dsl": ("nvidia-cutlass-dsl",),
    "ray": ("ray",),
    "vllm": ("vllm",),
    "flash_attn": ("flash-attn",),
    "flash_attn_3": ("flash-attn-3", "flashattn-hopper"),
    "flash_attn_4": ("flash-attn-4", "flash-attn-cute"),
}

# Import name -> distributions that install it; what a folder of that name can hide.
MODULES = {
    "torch": ("torch",),
    "triton": VERSIONS["triton"],
    "flash_attn": ("flash-attn", "flash-attn-4"),
    "flash_attn_interface": VERSIONS["flash_attn_3"],
    "vllm": ("vllm",),
    "transformers": ("transformers",),
    "xformers": ("xformers",),
    "flashinfer": VERSIONS["flashinfer"],
    "bitsandbytes": ("bitsandbytes",),
    "accelerate": ("accelerate",),
    "peft": ("peft",),
    "optimum": ("optimum",),
    "numpy": ("numpy",),
    "ray": ("ray",),
}

# Distributions that are read besides: torch itself and what its requirements name.
OTHERS = ("torch", "pip", "cuda-toolkit")
PREFIXES = ("nvidia-",)

FRAMEWORK_PATHS = (
    "vllm.torch_pin", "vllm.transformers_pin", "vllm.flashinfer_pin", "vllm.python_requires",
    "transformers.torch_pin", "transformers.kernels_pin",
)  # fmt: skip

_BITSANDBYTES = re.compile(r"libbitsandbytes_cuda(\d{2})(\d)(?:_nocublaslt)?\.(?:so|dll)")


def watched() -> set:
    """Return the names of every distribution worth opening."""
    return set(OTHERS).union(*VERSIONS.values())


def version_paths() -> tuple:
    """Return the fact paths of all versions."""
    return tuple(name + ".version" for name in VERSIONS)


def state_versions(report: object, scan: object) -> None:
    """State the version of every watched package, or that it is not installed."""
    for name, distributions in VERSIONS.items():
        found = scan.first(*distributions)
        if found is None:
            report.absent(name + ".version", "sys.path")
        elif found.version:
            report.known(name + ".version", found.version, "metadata of " + found.name)
        else:
            report.unknown(name + ".version", "metadata of " + found.name, "it has no Version")


class Pins:
    """What one distribution requires here: markers evaluated, extras as asked for."""

    def __init__(self, distribution: object, requirements: object, environment: dict) -> None:
        self._requirements = requirements
        self._environment = environment
        self._lines = distribution.requires() if distribution else []
        self.source = "metadata of " + distribution.name if distribution else "sys.path"

    def all(self, extras: tuple = ()) -> list:
        """Return the requirements that apply, with these extras."""
        parsed = [self._requirements.parse_requirement(line) for line in self._lines]
        return [
            item for item in parsed if self._requirements.applies(item, self._environment, extras)
        ]

    def named(self, names: tuple, extras: tuple = ()) -> str | None:
        """Return the specifier on the first of these names; one without extras comes first.

        Text that holds no such name is skipped unparsed: transformers lists hundreds.
        """
        for asked in ((), extras):
            for line in self._lines:
                if not any(name in line.lower() for name in names):
                    continue
                item = self._requirements.parse_requirement(line)
                wanted = item.name in names and item.specifier
                if wanted and self._requirements.applies(item, self._environment, asked):
                    return item.specifier
        return None


def state_frameworks(report: object, scan: object, requirements: object, environment: dict) -> None:
    """State what vLLM and transformers require."""
    vllm = scan.first("vllm")
    pins = Pins(vllm, requirements, environment)
    for path, names, extras in (
        ("vllm.torch_pin", ("torch",), ()),
        ("vllm.transformers_pin", ("transformers",), ()),
        ("vllm.flashinfer_pin", VERSIONS["flashinfer"], ("flashinfer",)),
    ):
        report.known_or_absent(path, pins.named(names, extras), pins.source)
    report.known_or_absent(
        "vllm.python_requires", vllm.header("Requires-Python") if vllm else None, pins.source
    )
    pins = Pins(scan.first("transformers"), requirements, environment)
    report.known_or_absent(
        "transformers.torch_pin", pins.named(("torch",), ("torch",)), pins.source
    )
    report.known_or_absent(
        "transformers.kernels_pin",
        pins.named(("kernels",), ("kernels", "hub-kernels")),
        pins.source,
    )


def state_bitsandbytes(report: object, scan: object) -> None:
    """State the CUDA versions that bitsandbytes carries a library for, `12.4`."""
    folder = scan.locate("bitsandbytes")
    if folder is None:
        report.absent("bitsandbytes.cuda_binaries", "sys.path")
        return
    matches = [_BITSANDBYTES.fullmatch(name) for name in os.listdir(folder)]
    found = {(int(match.group(1)), int(match.group(2))) for match in matches if match}
    report.known(
        "bitsandbytes.cuda_binaries",
        ["%d.%d" % pair for pair in sorted(found)],
        "file names in bitsandbytes",
    )
