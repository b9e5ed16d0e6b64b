"""Facts that follow from facts: what the tables know of a named GPU, driver, wheel or release.

Only what nobody stated is derived: an observed fact always stands. A wheel of the package index
is taken for what the tables say; vendor and nightly builds (`2.8.0a0+...`) are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flashdoctor.data import lookup
from flashdoctor.data.tables import Tables
from flashdoctor.engine.torch_wheels import (
    Machine,
    is_index_wheel,
    machine_of,
    wheel_targets,
)
from flashdoctor.model import versions
from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact, absent, known, known_or_absent
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.model.wheels import parse_wheel_name

GROUPS = {
    "torch.": "torch.version",
    "live.": "torch.version",
    "flash_attn.": "flash_attn.version",
    "flash_attn_3.": "flash_attn_3.version",
    "flash_attn_4.": "flash_attn_4.version",
    "vllm.": "vllm.version",
    "xformers.": "xformers.version",
    "transformers.": "transformers.version",
    "bitsandbytes.": "bitsandbytes.version",
    "toolkit.": "toolkit.version",
    "gpu.": "gpu.name",
}
"""Where the fact on the right is absent, unstated facts of the prefix are absent as well."""

OF_IMAGE = "container image"
"""Starts the source of what only the name of an image says."""

_CAPABILITY = "compute_capability"
_OTHER_DEVICES = ("cpu", "rocm", "xpu", "tpu", "neuron", "gaudi", "openvino")
"""How the local tags begin that vLLM's setup.py gives to builds for something else than CUDA."""

_KEPT_WHEN_ABSENT = frozenset(
    {"flash_attn.leftover", "flash_attn.extension_present", "torch.installs", "gpu.pci_count"}
    | {"gpu.visible_devices", "gpu.visible_invalid", "gpu.nvswitch", "gpu.count"}
    | {"toolkit.home", "toolkit.home_problem", "live.status"}
)


def derive(snapshot: Snapshot, tables: Tables) -> Snapshot:
    """Return the snapshot with every fact that follows from it; a fixed point, so idempotent."""
    facts = dict(snapshot.facts)
    if snapshot["gpu.devices"].is_known:
        facts["gpu.devices"] = _with_capabilities(facts["gpu.devices"], tables)
    for step in _STEPS:
        view = Snapshot(facts, snapshot.conflicts)
        for fact in step(view, tables):
            if fact.path not in facts or facts[fact.path].state == "unknown":
                facts[fact.path] = fact
    return Snapshot(facts, snapshot.conflicts)


def _image(snapshot: Snapshot, tables: Tables) -> Iterator[Fact]:
    """Say what an image holds when it is started; not once another torch is known in it."""
    image = snapshot.value("launch.image", "")
    row = lookup.ngc_pytorch(tables, image)
    if row is None or snapshot["torch.version"].state != "unknown":
        return
    source = f"{OF_IMAGE} {image}"
    for path, key in (
        ("torch.version", "torch"),
        ("torch.cuda", "cuda"),
        ("toolkit.version", "cuda"),
        ("python.version", "python"),
        ("os.distribution", "distribution"),
    ):
        if key in row:
            yield known(path, row[key], source)


def _system(snapshot: Snapshot, _tables: Tables) -> Iterator[Fact]:
    platform = snapshot.value("os.platform")
    distribution = snapshot.value("os.distribution", "").lower()
    if platform:
        word = platform.split("_")[0]
        names = {"linux": "Linux", "win": "Windows", "macosx": "Darwin"}
        if word in names:
            yield known("os.system", names[word], "follows from os.platform")
    elif "windows" in distribution:
        yield known("os.system", "Windows", "follows from os.distribution")
    elif "macos" in distribution or "darwin" in distribution:
        yield known("os.system", "Darwin", "follows from os.distribution")
    elif distribution or snapshot.value("wsl.version"):
        yield known("os.system", "Linux", "follows from os.distribution")


def _distribution(snapshot: Snapshot, tables: Tables) -> Iterator[Fact]:
    row = lookup.distribution(tables, snapshot.value("os.distribution", ""))
    if row:
        yield known("os.glibc", row["glibc"], f"matrix {row['name']}")


def _gpu(snapshot: Snapshot, tables: Tables) -> Iterator[Fact]:
    name = snapshot.value("gpu.name")
    row = lookup.gpu(tables, name) if name else None
    if row:
        source = f"matrix {row.get('name', name)}"
        if "compute_capability" in row:
            yield known("gpu.compute_capability", row["compute_capability"], source)
        if "memory_gib" in row:
            yield known("gpu.memory_mib", round(row["memory_gib"] * 1024), source)
        for key in ("segment", "min_driver_branch", "last_driver_branch"):
            if key in row:
                yield known(f"gpu.{key}", row[key], source)


def _live_gpu(snapshot: Snapshot, _tables: Tables) -> Iterator[Fact]:
    fact = snapshot["live.capability"]
    if fact.is_known:
        yield known("gpu.compute_capability", fact.value, f"live.capability ({fact.source})")


def _gpu_list(snapshot: Snapshot, _tables: Tables) -> Iterator[Fact]:
    """Take the capabilities of the GPUs that can be seen, where all of them are known."""
    fact, devices = snapshot["gpu.compute_capability"], snapshot["gpu.devices"]
    seen = [one for one in devices.value or () if one.get("visible", True)]
    each = [one[_CAPABILITY] for one in seen if _CAPABILITY in one]
    if each and len(each) == len(seen):
        yield known("gpu.compute_capabilities", each, devices.source)
    elif fact.is_known:
        yield known("gpu.compute_capabilities", [fact.value], fact.source)


def _with_capabilities(fact: Fact, tables: Tables) -> Fact:
    """Return the list of GPUs with the compute capability of each whose name tells it."""
    devices = [_with_capability(device, tables) for device in fact.value]
    return known(fact.path, devices, fact.source)


def _with_capability(device: Mapping[str, Any], tables: Tables) -> Mapping[str, Any]:
    name = device.get("name")
    row = lookup.gpu(tables, name) if name and _CAPABILITY not in device else None
    return {**device, _CAPABILITY: row[_CAPABILITY]} if row and _CAPABILITY in row else device


def _driver(snapshot: Snapshot, tables: Tables) -> Iterator[Fact]:
    branch = versions.major(snapshot.value("driver.version", ""))
    if branch is None:
        return
    yield known("driver.branch", branch, "follows from driver.version")
    row = lookup.driver_branch(tables, branch)
    if row and "nvidia_smi_cuda_version" in row:
        yield known("driver.cuda", row["nvidia_smi_cuda_version"], f"matrix driver branch {branch}")


def _python(snapshot: Snapshot, _tables: Tables) -> Iterator[Fact]:
    minor = versions.minor(snapshot.value("python.version", ""))
    if minor and snapshot.value("python.implementation", "cpython") == "cpython":
        yield known("python.tag", "cp" + minor.replace(".", ""), "follows from python.version")


def _torch_build(snapshot: Snapshot, tables: Tables) -> Iterator[Fact]:
    version = snapshot.value("torch.version")
    if version is None:
        return
    yield known_or_absent("torch.minor", versions.minor(version), "follows from torch.version")
    if snapshot["torch.cuda"].state != "unknown":
        build = "cuda" if snapshot["torch.cuda"].is_known else "cpu"
        yield known("torch.build", build, "follows from torch.cuda")
        return
    tag = versions.local_tag(version)
    cuda = versions.cuda_of_tag(tag or "")
    if cuda:
        yield known("torch.cuda", cuda, "local tag of torch.version")
        yield known("torch.build", "cuda", "local tag of torch.version")
    elif tag in {"cpu", "xpu"} or (tag or "").startswith("rocm"):
        yield absent("torch.cuda", "local tag of torch.version")
        yield known("torch.build", "rocm" if tag not in {"cpu", "xpu"} else tag, "local tag")
    elif tag is None:
        yield from _default_build(snapshot, tables, version)


def _default_build(snapshot: Snapshot, tables: Tables, version: str) -> Iterator[Fact]:
    row = lookup.torch_release(tables, version)
    if row is None:
        return
    column = {"win_amd64": "windows_default_cuda", "linux_aarch64": "aarch64_default_cuda"}.get(
        snapshot.value("os.platform", ""), "default_cuda"
    )
    if snapshot.value("os.system") == "Windows":
        column = "windows_default_cuda"
    source = f"matrix torch {row['version']}, the package index's default wheel"
    if row[column] == "none":
        yield absent("torch.cuda", source)
        yield known("torch.build", "cpu", source)
    else:
        yield known("torch.cuda", row[column], source)
        yield known("torch.build", "cuda", source)


def _torch_wheel(snapshot: Snapshot, tables: Tables) -> Iterator[Fact]:
    version, cuda = snapshot.value("torch.version"), snapshot.value("torch.cuda")
    if version is None or cuda is None or not is_index_wheel(version):
        return
    release = lookup.torch_release(tables, version) or lookup.torch_minor_release(tables, version)
    variant = lookup.torch_variant(tables, version, cuda)
    source = f"matrix torch {versions.minor(version)} cuda {cuda}"
    if release:
        yield known("torch.glibc_floor", _glibc_floor(release, variant), source)
        yield known("torch.python_requires", release["requires_python"], source)
        if "triton" in release:
            yield known("torch.triton_pin", release["triton"], source)
    yield from _torch_abi(snapshot, variant, source)
    machine = machine_of(snapshot)
    targets = wheel_targets(variant, machine) if variant else []
    if targets:
        yield known("torch.arch_list", targets, f"{source}, {machine} wheel")


def _glibc_floor(release: Any, variant: Any) -> str:
    new_abi_early = variant and variant["cxx11_abi"] == "cxx11" and release["glibc_floor"] == "2.17"
    return "2.28" if new_abi_early else str(release["glibc_floor"])


def _torch_abi(snapshot: Snapshot, variant: Any, source: str) -> Iterator[Fact]:
    if variant is None:
        return
    if snapshot.value("os.platform") == "linux_aarch64":
        if versions.order(variant["minor"]) >= ((2, 6), 0):  # type: ignore[operator]
            yield known("torch.cxx11_abi", True, source + ", aarch64")
        return
    yield known("torch.cxx11_abi", variant["cxx11_abi"] == "cxx11", source)


def _cuda_floor(snapshot: Snapshot, tables: Tables) -> Iterator[Fact]:
    windows = snapshot.value("os.system") == "Windows" or bool(snapshot.value("wsl.version"))
    for name in ("torch", "vllm"):
        major = versions.major(snapshot.value(f"{name}.cuda", ""))
        row = lookup.cuda_floor(tables, major) if major else None
        if row:
            floor = row["min_windows" if windows else "min_linux"]
            yield known(f"{name}.min_driver", floor, f"matrix CUDA {major} minimum driver")


def _flash_attn_wheel(snapshot: Snapshot, _tables: Tables) -> Iterator[Fact]:
    file = snapshot.value("flash_attn.wheel.file")
    wheel = parse_wheel_name(file) if file else None
    if wheel is None:
        return
    source = "name of the flash-attn wheel"
    yield known("flash_attn.version", wheel.public_version, source)
    for key, value in (
        ("cuda", wheel.cuda),
        ("torch", wheel.torch),
        ("cxx11_abi", wheel.cxx11_abi),
        ("python", wheel.python),
        ("abi", wheel.abi),
        ("platform", wheel.platform),
    ):
        if value is not None:
            yield known(f"flash_attn.wheel.{key}", value, source)


def _flash_attn(snapshot: Snapshot, tables: Tables) -> Iterator[Fact]:
    version = snapshot.value("flash_attn.version")
    row = lookup.flash_attn_release(tables, version) if version else None
    if row is None:
        return
    source = f"matrix flash-attn {row['version']}"
    accepts = row["runtime_gpu_check"].replace(" ", "") == "major>=8"
    yield known("flash_attn.accepts_blackwell", accepts, source)
    torch = snapshot.value("flash_attn.wheel.torch", snapshot.value("torch.minor"))
    if torch in row["wheel_torch_minors"]:
        yield known("flash_attn.sass", list(row["wheel_sass"]), source + ", its wheels")
        if "wheel_glibc_needed" in row:
            yield known("flash_attn.wheel.glibc", row["wheel_glibc_needed"], source)


def _vllm(snapshot: Snapshot, tables: Tables) -> Iterator[Fact]:
    version = snapshot.value("vllm.version")
    if version is None or (versions.local_tag(version) or "").startswith(_OTHER_DEVICES):
        return
    pin = lookup.vllm_torch_pin(tables, version)
    if pin:
        yield known("vllm.torch_pin", f"=={pin}", f"matrix vllm {versions.public(version)}")
    row = lookup.vllm_release(tables, version)
    if row is None:
        return
    source = f"matrix vllm {row['minor']}"
    tag = versions.cuda_of_tag(versions.local_tag(version) or "")
    yield known("vllm.cuda", tag or row["index_wheel_cuda"], source)
    yield known("vllm.min_capability", row["min_compute_capability"], source)
    yield known("vllm.glibc_floor", row["glibc_floor_tag"], source)
    yield known("vllm.python_requires", row["requires_python"], source)
    yield known("vllm.transformers_pin", row["transformers"], source)
    yield known("vllm.bundled", [k for k in ("fa2", "fa3", "fa4") if row[f"bundled_{k}"]], source)
    if "flashinfer" in row:
        yield known("vllm.flashinfer_pin", row["flashinfer"], source)
    if "sass_in_wheel" in row and tag is None and _is_wheel_of(row, machine_of(snapshot)):
        yield known("vllm.sass", list(row["sass_in_wheel"]), source)


def _is_wheel_of(row: Mapping[str, Any], machine: Machine) -> bool:
    """Whether the index has this vLLM for a machine; elsewhere it was built by somebody else."""
    word = "aarch64" if machine == "aarch64" else "x86_64"
    return any(tag.endswith(word) for tag in row["wheel_tags"])


def _transformers(snapshot: Snapshot, tables: Tables) -> Iterator[Fact]:
    version = snapshot.value("transformers.version")
    row = lookup.transformers_release(tables, version) if version else None
    if row is None:
        return
    source = f"matrix transformers {row['minor']}"
    minimum = versions.release(row["min_flash_attn_cuda"])
    if minimum:
        text = ".".join(str(number) for number in minimum)
        yield known("transformers.min_flash_attn", text, source)
    yield known("transformers.torch_pin", row["torch"], source)
    if "kernels_pin" in row:
        yield known("transformers.kernels_pin", row["kernels_pin"], source)


def _absences(snapshot: Snapshot, _tables: Tables) -> Iterator[Fact]:
    for prefix, head in GROUPS.items():
        fact = snapshot[head]
        if fact.state == "absent":
            for path in FACTS:
                if path.startswith(prefix) and path not in _KEPT_WHEN_ABSENT:
                    yield absent(path, fact.source, f"{head} is absent")


_STEPS: tuple[Callable[[Snapshot, Tables], Iterator[Fact]], ...] = (
    _flash_attn_wheel,
    _image,
    _system,
    _distribution,
    _gpu,
    _live_gpu,
    _gpu_list,
    _driver,
    _python,
    _torch_build,
    _torch_wheel,
    _flash_attn,
    _vllm,
    _transformers,
    _cuda_floor,
    _absences,
)
