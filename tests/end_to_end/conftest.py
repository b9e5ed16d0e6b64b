"""Whole machines for the real command line: a root folder, an NVML, a target Python."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import jsonschema
import pytest

TESTS = Path(__file__).resolve().parents[1]
LAUNCHER = Path(__file__).resolve().with_name("on_machine.py")
SCHEMA = json.loads((TESTS / "data" / "report_v1.schema.json").read_text(encoding="utf-8"))
SUFFIX = EXTENSION_SUFFIXES[0]
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
LONGEST_S = 60.0

# Names in real torch: what TORCH_CHECK throws, by C++ ABI, and two functions that extensions call.
ERROR = "_ZN3c105ErrorC{part}ENS_14SourceLocationE{string}"
STRINGS = {True: "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", False: "Ss"}
DEVICES = "_ZN3c104cuda12device_countEv"
EMPTY = "_ZN2at4_ops5empty4callEN3c108ArrayRefIlEE"
LATER = "_ZNK3c106SymInt6sym_neERKS0_"

PINS = {
    "nvidia-cuda-runtime-cu{major}": "{major}.6.77",
    "nvidia-cudnn-cu{major}": "9.10.2.21",
    "nvidia-nccl-cu{major}": "2.27.5",
}

# What `import torch` and a small kernel need of torch; libraries are loaded as torch does.
TORCH = """\
import ctypes, pathlib, types
ctypes.CDLL(str(pathlib.Path(__file__).with_name("lib") / "libtorch_python.so"), ctypes.RTLD_GLOBAL)
from torch import version
from torch.version import __version__
float32 = "f"

class Ops:
    def load_library(self, path): ctypes.CDLL(path)
ops = Ops()

class Cudnn:
    def version(self): return 91002
backends = types.SimpleNamespace(cudnn=Cudnn())

class Cuda:
    def is_available(self): return True
    def device_count(self): return 1
    def init(self): pass
    def get_device_capability(self, index): return {capability}
    def get_arch_list(self): return {arch_list}
    def synchronize(self): pass
cuda = Cuda()

class Matrix:
    def __init__(self, device="cpu"): self.device = device
    def __mod__(self, other): return self
    def reshape(self, *shape): return self
    def __add__(self, other): return self
    def __matmul__(self, other): return self
    def to(self, device): return Matrix(device)
    def cpu(self): return self
def arange(count, dtype): return Matrix()
def equal(left, right): return left.device == "cuda" and right.device == "cpu"
"""

# A module without Python.h: PyModuleDef as it has been laid out since Python 3.5.
MODULE = """
struct definition {{ long references; void *type, *init; long index; void *copy; const char *name;
  void *doc; long size; void *methods, *slots, *traverse, *clear, *free; }};
extern void *PyModule_Create2(struct definition *, int);
static struct definition module = {{ .references = 1, .name = "{name}", .size = -1 }};
void *PyInit_{name}(void) {{ return PyModule_Create2(&module, 1013); }}
"""


def error_names(*, abi: bool) -> list[str]:
    return [ERROR.format(part=part, string=STRINGS[abi]) for part in (1, 2)]


def fat_binary(targets: Iterable[str]) -> bytes:
    """Lay out a fat binary with an entry for each target, sm_90 or compute_120, as nvcc does."""
    entries = b""
    for target in targets:
        kind = 1 if target.startswith("compute") else 2
        head = struct.pack("<HHIQ", kind, 0x101, 64, 16)
        number = int(target.rpartition("_")[2])
        entries += head + struct.pack("<IIHHIIIQQQ", 0, 0, 8, 1, number, 0, 0, 0x11, 0, 0)
        entries += b"\x7fELF" * 4
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def code(exports: Sequence[str], wants: Sequence[str], module: str, targets: Sequence[str]) -> str:
    """Write C that defines and asks for symbols of any name."""
    lines = [f'void out{n}(void) __asm__("{name}"); void out{n}(void) {{}}'
             for n, name in enumerate(exports)]  # fmt: skip
    lines += [f'void in{n}(void) __asm__("{name}");' for n, name in enumerate(wants)]
    lines.append(
        f"void (*const uses[])(void) = {{{', '.join(f'in{n}' for n in range(len(wants)))}}};"
    )
    if module:
        lines.append(MODULE.format(name=module))
    if targets:
        numbers = ",".join(str(byte) for byte in fat_binary(targets))
        mark = '__attribute__((section(".nv_fatbin"), used))'
        lines.append(f"static const unsigned char fat[] {mark} = {{{numbers}}};")
    return "\n".join(lines)


class Libraries:
    """Small shared libraries, each compiled once a session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[Any, Path] = {}

    def get(
        self,
        name: str,
        *,
        exports: Sequence[str] = (),
        wants: Sequence[str] = (),
        needs: Sequence[Path] = (),
        module: str = "",
        targets: Sequence[str] = (),
        source: str = "",
    ) -> Path:
        """Return a library of that name: what it exports, wants, needs, and its GPU code."""
        key = (name, *map(tuple, (exports, wants, needs, targets)), module, source)
        if key not in self._made:
            text = source or code(exports, wants, module, targets)
            self._made[key] = self._compile(name, text, needs)
        return self._made[key]

    def _compile(self, name: str, source: str, needs: Sequence[Path]) -> Path:
        path = self._folder / str(len(self._made)) / name
        path.parent.mkdir()
        rpath = (
            "-Wl,-rpath,$ORIGIN:$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN/../../nvidia/cu13/lib"
        )
        command = ["gcc", "-x", "c", "-", "-shared", "-fPIC", f"-Wl,-soname,{name}", rpath,
                   "-Wl,--no-as-needed", "-x", "none", *map(str, needs), "-o", str(path)]  # fmt: skip
        subprocess.run(command, input=source, text=True, check=True, timeout=LONGEST_S)
        return path

    def of_torch(self, *, abi: bool, major: int) -> dict[str, Path]:
        """Return torch's own libraries, by the folder below site-packages that they stand in."""
        cudart = self.get(f"libcudart.so.{major}", exports=["cudaGetDeviceCount"])
        c10 = self.get("libc10.so", exports=error_names(abi=abi))
        cpu = self.get("libtorch_cpu.so", exports=[EMPTY], needs=[c10])
        c10_cuda = self.get("libc10_cuda.so", exports=[DEVICES], needs=[c10, cudart])
        torch = self.get("libtorch.so", needs=[cpu, c10_cuda])
        python = self.get("libtorch_python.so", needs=[torch, cpu, c10_cuda, c10])
        folder = "nvidia/cuda_runtime/lib" if major < 13 else "nvidia/cu13/lib"
        own = {f"torch/lib/{file.name}": file for file in (c10, cpu, c10_cuda, torch, python)}
        return {**own, f"{folder}/{cudart.name}": cudart}


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    if sys.platform != "linux" or shutil.which("gcc") is None:
        pytest.skip("machines are played on Linux, with libraries that gcc makes")
    return Libraries(tmp_path_factory.mktemp("libraries"))


class Target:
    """A virtual environment without pip, filled by hand as pip would have filled it."""

    def __init__(self, root: Path, libraries: Libraries) -> None:
        venv.create(root, symlinks=True, with_pip=False)
        self.root = root
        self.python = root / "bin" / "python"
        self.packages = next((root / "lib").glob("python3*")) / "site-packages"
        self._libraries = libraries

    def write(self, path: str, text: str = "") -> Path:
        """Write a file below site-packages."""
        file = self.packages / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def copy(self, path: str, file: Path) -> None:
        """Copy a library to a place below site-packages."""
        place = self.packages / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)

    def install(
        self,
        name: str,
        version: str,
        *,
        requires: Iterable[str] = (),
        files: Mapping[str, str] | None = None,
        info: Mapping[str, str] | None = None,
    ) -> None:
        """Lay out a distribution: its files, its metadata and what else stands beside that."""
        folder = f"{name.replace('-', '_')}-{version}.dist-info"
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {line}" for line in requires]
        self.write(f"{folder}/METADATA", "\n".join([*lines, "", "A description.", ""]))
        for path, text in (info or {}).items():
            self.write(f"{folder}/{path}", text)
        for path, text in (files or {}).items():
            self.write(path, text)

    def torch(
        self,
        version: str = "2.7.1+cu126",
        *,
        abi: bool = True,
        capability: tuple[int, int] = (9, 0),
        change: Mapping[str, str] | None = None,
        init: str = "",
    ) -> Target:
        """Install a torch whose import works, with `change` made to its text, or is `init`."""
        local = version.partition("+cu")[2]
        cuda, major = f"{local[:-1]}.{local[-1]}", int(local[:-1])
        text = init or self._torch_text(capability, change or {})
        pins = {k.format(major=major): v.format(major=major) for k, v in PINS.items()}
        self.install(
            "torch",
            version,
            requires=[f"{name}=={pin}; sys_platform == 'linux'" for name, pin in pins.items()],
            files={
                "torch/__init__.py": text,
                "torch/version.py": f"__version__ = '{version}'\ncuda = '{cuda}'\nhip = None\n",
            },
        )
        for name, pin in pins.items():
            self.install(name, pin)
        for path, file in self._libraries.of_torch(abi=abi, major=major).items():
            self.copy(path, file)
        return self

    @staticmethod
    def _torch_text(capability: tuple[int, int], change: Mapping[str, str]) -> str:
        arch_list = [f"sm_{capability[0]}{capability[1]}"]
        text = TORCH.format(capability=capability, arch_list=arch_list)
        for old, new in change.items():
            assert old in text
            text = text.replace(old, new)
        return text

    def flash_attn(
        self,
        wheel: str,
        *,
        abi: bool = True,
        wants: Sequence[str] = (DEVICES, EMPTY),
        targets: Sequence[str] = ("sm_80", "sm_90", "sm_100", "sm_120"),
    ) -> Target:
        """Install flash-attn as from a wheel `2.8.3+cu12torch2.7cxx11abiTRUE` of this Python."""
        version = wheel.partition("+")[0]
        name = f"flash_attn-{wheel}-{TAG}-{TAG}-linux_x86_64.whl"
        url = f"https://github.com/Dao-AILab/flash-attention/releases/download/v{version}/{name}"
        self.install(
            "flash-attn",
            version,
            requires=["torch", "einops"],
            files={"flash_attn/__init__.py": "import flash_attn_2_cuda\n"},
            info={
                "WHEEL": f"Wheel-Version: 1.0\nTag: {TAG}-{TAG}-linux_x86_64\n",
                "direct_url.json": json.dumps({"url": url.replace("+", "%2B"), "archive_info": {}}),
            },
        )
        self.copy(f"flash_attn_2_cuda{SUFFIX}", self._extension(abi, wants, targets))
        return self

    def vllm(
        self,
        version: str = "0.10.2",
        torch: str = "2.8.0",
        transformers: str = "4.57.1",
        *,
        wants: Sequence[str] = (DEVICES, EMPTY),
        targets: Sequence[str] = ("sm_80", "sm_90", "sm_100", "sm_120"),
    ) -> Target:
        """Install vLLM with its FlashAttention copies, and a transformers beside it."""
        self.install(
            "vllm",
            version,
            requires=[f"torch=={torch}", "transformers>=4.55.2"],
            files={"vllm/__init__.py": "raise SystemExit('vllm itself must not be imported')\n"},
        )
        for place, name in (("", "_C"), ("/vllm_flash_attn", "_vllm_fa2_C"),
                            ("/vllm_flash_attn", "_vllm_fa3_C")):  # fmt: skip
            file = self._libraries.get(f"{name}.abi3.so", wants=wants, targets=targets)
            self.copy(f"vllm{place}/{file.name}", file)
        self.install("transformers", transformers, files={"transformers/__init__.py": ""})
        return self

    def _extension(self, abi: bool, wants: Sequence[str], targets: Sequence[str]) -> Path:
        own = self._libraries.of_torch(abi=True, major=12)
        needs = [own[f"torch/lib/{name}.so"] for name in ("libc10", "libtorch_cpu", "libc10_cuda")]
        return self._libraries.get(
            f"flash_attn_2_cuda{SUFFIX}",
            wants=[*error_names(abi=abi), *wants],
            needs=needs,
            module="flash_attn_2_cuda",
            targets=targets,
        )


@pytest.fixture
def make_target(tmp_path: Path, libraries: Libraries) -> Callable[[Path], Target]:
    """Return a function that makes a target environment in a folder of that name."""
    return lambda name: Target(tmp_path / name, libraries)


@pytest.fixture
def target(make_target: Callable[[Path], Target]) -> Target:
    return make_target(Path("env"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """A machine to look at: settings of on_machine.py, and variables."""

    settings: Mapping[str, Any]
    environ: Mapping[str, str]


DRIVER = re.compile(r"^driver (\S+)$", re.MULTILINE)
CUDA = re.compile(r"^cuda (\d+)$", re.MULTILINE)
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {driver}  Release Build\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Tue Apr 1 12:00:00 UTC 2025\n"


@pytest.fixture
def rig(
    tmp_path: Path,
    machine: Callable[..., Path],
    nvml_stub: Callable[[str], dict[str, str]],
    libraries: Libraries,
) -> Callable[..., Rig]:
    """Return a function that builds a healthy server around an NVML scene.

    `driver` is the kernel module's version, the scene's where it is not given; `gpus` the cards on
    the bus.
    """

    def build(
        scene: str, *, driver: str = "", gpus: int = 0, closed: bool = False, switches: int = 0
    ) -> Rig:
        environ = nvml_stub(scene)
        text = Path(environ["FLASHDOCTOR_NVML_SCENE"]).read_text(encoding="utf-8")
        driver = driver or DRIVER.findall(text)[0]
        gpus = gpus or text.count("\ngpu ")
        nodes = ("nvidiactl", "nvidia-uvm", *(f"nvidia{number}" for number in range(gpus)))
        root = machine(
            displays=gpus,
            switches=switches,
            nodes=nodes,
            module=driver,
            proc=(CLOSED if closed else OPEN).format(driver=driver),
        )
        _furnish(root, libraries, driver, int((CUDA.findall(text) or ["13000"])[0]))
        return Rig(settings={"root": str(root)}, environ=environ)

    return build


def _furnish(root: Path, libraries: Libraries, driver: str, cuda: int) -> None:
    """Add the modules, the distribution and the driver's library."""
    (root / "proc/modules").write_text("nvidia 1 0 - Live 0x0\nnvidia_uvm 1 0 - Live 0x0\n")
    (root / "sys/module/nvidia_uvm").mkdir()
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text('NAME="Ubuntu"\nVERSION_ID="22.04"\n')
    folder = root / "usr/lib/x86_64-linux-gnu"
    folder.mkdir(parents=True)
    source = f"int cuDriverGetVersion(int *out) {{ *out = {cuda}; return 0; }}"
    shutil.copy(libraries.get("libcuda.so.1", source=source), folder / f"libcuda.so.{driver}")
    (folder / "libcuda.so.1").symlink_to(f"libcuda.so.{driver}")
    (folder / "libcuda.so").symlink_to("libcuda.so.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one run of the command line gave."""

    report: Mapping[str, Any]
    code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def verdict(self) -> str:
        return str(self.report["verdict"])

    @property
    def errors(self) -> list[str]:
        """The causes of the findings that fail the check, the root cause first."""
        return self.causes("error")

    def causes(self, *severities: str) -> list[str]:
        return [item["cause"] for item in self.findings if item["severity"] in severities]

    @property
    def findings(self) -> list[Mapping[str, Any]]:
        return list(self.report["findings"])

    def value(self, path: str) -> Any:
        return self.report["facts"][path]["value"]

    def state(self, path: str) -> str:
        return str(self.report["facts"][path]["state"])


class Command:
    """The command line in a small environment, in an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.work = folder / "work"
        self.work.mkdir()
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "LC_ALL": "C.UTF-8",
        }

    def run(
        self,
        *args: str,
        rig: Rig | None = None,
        stdin: str = "",
        environ: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run `flashdoctor ARGS`: as `-m flashdoctor`, with a rig or settings by on_machine.py."""
        changed = {**(rig.settings if rig else {}), **(settings or {})}
        start = ["-m", "flashdoctor"]
        more: dict[str, str] = {"PYTHONPATH": str(TESTS.parent)}
        if changed:
            start, more = [str(LAUNCHER), json.dumps(changed)], {}
        return subprocess.run(
            [sys.executable, "-W", "error", *start, *args],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=LONGEST_S,
            cwd=self.work,
            env={**self.environ, **more, **(rig.environ if rig else {}), **(environ or {})},
        )

    def check(
        self,
        *args: str,
        target: Target | None = None,
        smoke: str = "off",
        **options: Any,
    ) -> Done:
        """Run `check --format json`, and see that its answer has the shape it must have."""
        words = ["--python", str(target.python)] if target else []
        started = time.monotonic()
        done = self.run("check", "--format", "json", "--smoke", smoke, *words, *args, **options)
        seconds = time.monotonic() - started
        assert done.stderr == "", done.stderr
        report = json.loads(done.stdout)
        jsonschema.validate(report, SCHEMA)
        assert report["exit_code"] == done.returncode
        assert not [item for item in report["findings"] if item["outcome"] == "crash"]
        return Done(
            report=report,
            code=done.returncode,
            stdout=done.stdout,
            stderr=done.stderr,
            seconds=seconds,
        )


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)
