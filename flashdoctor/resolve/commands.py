"""The commands that install a plan, for pip and for uv."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from flashdoctor.model import versions
from flashdoctor.model.plan import Build, Installer, Plan

_INSTALL: Mapping[Installer, str] = {"pip": "pip install", "uv": "uv pip install"}
_UNINSTALL: Mapping[Installer, str] = {"pip": "pip uninstall -y", "uv": "uv pip uninstall"}
_NO_CACHE: Mapping[Installer, str] = {"pip": "--no-cache-dir", "uv": "--no-cache"}
_NUMPY_2_FROM_TORCH = ((2, 3), 0)
_BUILD_TOOLS = ("packaging", "psutil", "ninja", "wheel", "setuptools")
_FA3_SOURCE = "https://github.com/Dao-AILab/flash-attention"


def commands(
    plan: Plan,
    installer: Installer,
    stale: tuple[str, ...] = (),
    *,
    companions: tuple[str, ...] = (),
) -> Iterator[str]:
    """Yield the commands in their order.

    A flash-attn without a wheel's address looks for its wheel by itself. `stale` names packages
    that must go first, `companions` those that follow torch's release.
    """
    if stale:
        yield f"{_UNINSTALL[installer]} {' '.join(stale)}"
    yield from _base(plan, installer, companions)
    yield from _flash_attns(plan, installer)


def partial_commands(
    plan: Plan,
    installer: Installer,
    stale: tuple[str, ...],
    changed: frozenset[str],
    companions: tuple[str, ...] = (),
) -> Iterator[str]:
    """Yield the commands for what of a plan is `changed` where all else is there already."""
    if changed & {"torch", "vllm"}:
        yield from commands(plan, installer, stale, companions=companions)
        return
    if stale:
        yield f"{_UNINSTALL[installer]} {' '.join(stale)}"
    if "transformers" in changed:
        yield f"{_INSTALL[installer]} transformers=={plan.transformers}"
    yield from _flash_attns(plan, installer)


def _flash_attns(plan: Plan, installer: Installer) -> Iterator[str]:
    """Yield flash-attn-4 at the end: flash-attn brings an early copy of its files (rule FD344)."""
    install = _INSTALL[installer]
    if plan.flash_attn_url:
        yield f"{install} {_quoted(plan, plan.flash_attn_url)}"
    elif plan.flash_attn and not _has_build(plan, "flash-attn"):
        yield f"{install} {' '.join(_BUILD_TOOLS)}"
        options = f"--no-build-isolation {_NO_CACHE[installer]}"
        yield f"{install} {options} flash-attn=={plan.flash_attn}"
    if plan.flash_attn_3 and not _has_build(plan, "flash-attn-3"):
        yield f"{install} flash-attn-3=={plan.flash_attn_3} --index-url {plan.torch_index_url}"
    for build in plan.builds:
        yield from _build(plan, build, installer)
    if plan.flash_attn_4:
        yield f"{install} {_quoted(plan, fa4_requirement(plan))}"


def restore_fa4(version: str, installer: Installer) -> str:
    """Return the command that lays the installed flash-attn-4 over a new flash-attn again."""
    option = "--reinstall" if installer == "uv" else "--force-reinstall"
    return f"{_INSTALL[installer]} {option} --no-deps flash-attn-4=={version}"


def packages(plan: Plan) -> list[str]:
    """Return the packages of the package index beside torch, as requirements."""
    found = []
    if plan.vllm:
        found.append(f"vllm=={plan.vllm}")
    if plan.transformers:
        found.append(f"transformers=={plan.transformers}")
    if (versions.order(plan.torch) or _NUMPY_2_FROM_TORCH) < _NUMPY_2_FROM_TORCH:
        found.append("numpy<2")
    return found


def fa4_requirement(plan: Plan) -> str:
    """Return flash-attn-4 with the extra that CUDA 13 asks for."""
    extra = "[cu13]" if versions.major(plan.torch_cuda) == 13 else ""  # noqa: PLR2004 - a CUDA
    return f"flash-attn-4{extra}=={plan.flash_attn_4}"


def torch_requirements(plan: Plan, *, full: bool) -> list[str]:
    """Return torch, and triton where torch itself would take more than one release of it."""
    torch = f"torch=={plan.torch_version if full else plan.torch}"
    is_open = plan.triton and plan.triton_is_open
    return [torch, f"triton=={plan.triton}"] if is_open else [torch]


def _base(plan: Plan, installer: Installer, companions: tuple[str, ...]) -> Iterator[str]:
    """Yield torch and what comes from the package index.

    vLLM's torchvision and torchaudio must be of torch's CUDA, so they are resolved together with it
    wherever that is not the package index's own.
    """
    install, others = _INSTALL[installer], [_quoted(plan, item) for item in packages(plan)]
    if companions:
        install += " --upgrade"
    if plan.torch_index is None:
        if others:
            yield f"{install} {' '.join(others)}"
        return
    if plan.torch_is_default:
        words = [*torch_requirements(plan, full=False), *companions, *others]
        yield f"{install} {' '.join(words)}"
    elif plan.vllm:
        full = installer == "pip"
        words = [*torch_requirements(plan, full=full), *companions, *others]
        yield f"{install} {' '.join(words)} {_beside(plan, installer)}"
    else:
        words = [*torch_requirements(plan, full=True), *companions]
        yield f"{install} {' '.join(words)} --index-url {plan.torch_index_url}"
        if others:
            yield f"{_INSTALL[installer]} {' '.join(others)}"


def _beside(plan: Plan, installer: Installer) -> str:
    """Return the option that adds torch's index to the package index.

    uv takes a package from the first index that has it; its own option knows which ones to take
    from PyTorch's.
    """
    if installer == "uv":
        return f"--torch-backend={plan.torch_index}"
    return f"--extra-index-url {plan.torch_index_url}"


def _build(plan: Plan, build: Build, installer: Installer) -> Iterator[str]:
    install = _INSTALL[installer]
    yield f"{install} {' '.join(_BUILD_TOOLS)}"
    what = f"{build.package}=={build.version}"
    if build.package == "flash-attn-3":
        yield f"git clone --recursive {_FA3_SOURCE}"
        what = "./flash-attention/hopper"
    command = f"{install} --no-build-isolation {_NO_CACHE[installer]} {what}"
    if plan.platform == "win_amd64":
        yield from (f'$env:{name} = "{value}"' for name, value in build.environment.items())
        yield command
        return
    words = [f"{name}={shlex.quote(value)}" for name, value in build.environment.items()]
    yield " ".join([*words, command])


def _has_build(plan: Plan, package: str) -> bool:
    return any(build.package == package for build in plan.builds)


def _quoted(plan: Plan, word: str) -> str:
    """Return a word as the shell of the plan's system takes it for itself."""
    if plan.platform == "win_amd64":
        return f'"{word}"' if any(char in word for char in "<>[]") else word
    return shlex.quote(word)
