"""Whole machines for the real command line: a root folder, an NVML, a target Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import jsonschema
import pytest

TESTS = Path(__file__).resolve().parents[1]
LAUNCHER = Path(__file__).resolve().with_name("on_machine.py")
SCHEMA = json.loads((TESTS / "data" / "report_v1.schema.json").read_text(encoding="utf-8"))
TORCH = (TESTS / "data" / "torch_stub.txt").read_text(encoding="utf-8")
SUFFIX = EXTENSION_SUFFIXES[0]
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
LONGEST_S = 60.0

# Names in real torch: what TORCH_CHECK throws, by C++ ABI, and two functions that extensions call.
ERROR = "_ZN3c105ErrorC1ENS_14SourceLocationE"
ERRORS = {True: f"{ERROR}NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", False: f"{ERROR}Ss"}
DEVICES = "_ZN3c104cuda12device_countEv"
EMPTY = "_ZN2at4_ops5empty4callEN3c108ArrayRefIlEE"
MODERN = ("sm_80", "sm_90", "sm_100", "sm_120")

# A module without Python.h: PyModuleDef as it has been laid out since Python 3.5.
MODULE = """
struct definition {{ long references; void *type, *init; long index; void *copy; const char *name;
  void *doc; long size; void *methods, *slots, *traverse, *clear, *free; }};
extern void *PyModule_Create2(struct definition *, int);
static struct definition module = {{ .references = 1, .name = "{name}", .size = -1 }};
void *PyInit_{name}(void) {{ return PyModule_Create2(&module, 1013); }}
"""


def fat_binary(targets: Iterable[str]) -> bytes:
    """Lay out a fat binary with machine code for each target, as nvcc does."""
    entries = b""
    for target in targets:
        number = int(target.removeprefix("sm_"))
        entries += struct.pack("<HHIQ", 2, 0x101, 64, 16)
        entries += struct.pack("<IIHHIIIQQQ", 0, 0, 8, 1, number, 0, 0, 0x11, 0, 0)
        entries += b"\x7fELF" * 4
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def exporting(names: Iterable[str]) -> str:
    """Write C that defines symbols of any name."""
    line = 'void out{n}(void) __asm__("{name}"); void out{n}(void) {{}}\n'
    return "".join(line.format(n=n, name=name) for n, name in enumerate(names))


def wanting(names: Sequence[str], targets: Iterable[str], module: str = "") -> str:
    """Write C that asks for symbols of any name and carries GPU code; a Python module if named."""
    lines = [f'void in{n}(void) __asm__("{name}");' for n, name in enumerate(names)]
    uses = ", ".join(f"in{n}" for n in range(len(names)))
    numbers = ", ".join(str(byte) for byte in fat_binary(targets))
    mark = '__attribute__((section(".nv_fatbin"), used))'
    lines += [
        f"void (*const uses[])(void) = {{{uses}}};",
        f"static const unsigned char fat[] {mark} = {{{numbers}}};",
        MODULE.format(name=module) if module else "",
    ]
    return "\n".join(lines)


class Libraries:
    """Small shared libraries, each compiled once a session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[Any, Path] = {}

    def get(self, name: str, source: str = "", needs: Iterable[Path] = ()) -> Path:
        """Return the library of that name made from C, which needs those other libraries."""
        key = (name, source, *needs)
        if key not in self._made:
            path = self._folder / str(len(self._made)) / name
            path.parent.mkdir()
            self._made[key] = path
            nvidia = [f"$ORIGIN/../../nvidia/{part}/lib" for part in ("cuda_runtime", "cu13")]
            linked = f"-Wl,-soname,{name},--no-as-needed,-rpath,{':'.join(['$ORIGIN', *nvidia])}"
            command = ["gcc", "-shared", "-fPIC", "-o", str(path), "-x", "c", "-", "-x", "none"]
            command += [linked, *map(str, needs)]
            subprocess.run(command, input=source, text=True, check=True, timeout=LONGEST_S)
        return self._made[key]

    def of_torch(self, *, abi: bool, major: int) -> dict[str, Path]:
        """Return torch's own libraries, by their places below site-packages."""
        cudart = self.get(f"libcudart.so.{major}", exporting(["cudaGetDeviceCount"]))
        c10 = self.get("libc10.so", exporting([ERRORS[abi]]))
        cpu = self.get("libtorch_cpu.so", exporting([EMPTY]), [c10])
        c10_cuda = self.get("libc10_cuda.so", exporting([DEVICES]), [c10, cudart])
        torch = self.get("libtorch.so", "", [cpu, c10_cuda])
        python = self.get("libtorch_python.so", "", [torch, cpu, c10_cuda, c10])
        folder = "cuda_runtime" if major < 13 else "cu13"
        own = {f"torch/lib/{file.name}": file for file in (c10, cpu, c10_cuda, torch, python)}
        return {**own, f"nvidia/{folder}/lib/{cudart.name}": cudart}


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        pytest.skip("the machines that are played run Linux on x86_64")
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not here, and the machines are made of libraries from C")
    return Libraries(tmp_path_factory.mktemp("libraries"))


class Target:
    """A virtual environment without pip, filled by hand as pip would have filled it."""

    def __init__(self, root: Path, libraries: Libraries) -> None:
        venv.create(root, symlinks=True, with_pip=False)
        self.root = root
        self.python = root / "bin" / "python"
        self.packages = next((root / "lib").glob("python3*")) / "site-packages"
        self._libraries = libraries

    def write(self, path: str, text: str = "") -> None:
        """Write a file below site-packages."""
        file = self.packages / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def copy(self, path: str, file: Path) -> None:
        """Copy a library to a place below site-packages."""
        self.write(path)
        shutil.copy(file, self.packages / path)

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
        pins = {
            f"nvidia-cuda-runtime-cu{major}": f"{cuda}.77",
            f"nvidia-cudnn-cu{major}": "9.10.2.21",
            f"nvidia-nccl-cu{major}": "2.27.5",
        }
        self.install(
            "torch",
            version,
            requires=[f"{name}=={pin}; sys_platform == 'linux'" for name, pin in pins.items()],
            files={
                "torch/__init__.py": init or torch_text(capability, change or {}),
                "torch/version.py": f"__version__ = '{version}'\ncuda = '{cuda}'\nhip = None\n",
            },
        )
        for name, pin in pins.items():
            self.install(name, pin)
        for path, file in self._libraries.of_torch(abi=abi, major=major).items():
            self.copy(path, file)
        return self

    def flash_attn(
        self,
        wheel: str,
        *,
        abi: bool = True,
        wants: Sequence[str] = (DEVICES, EMPTY),
        targets: Sequence[str] = MODERN,
    ) -> None:
        """Install flash-attn as from a wheel `2.8.3+cu12torch2.7cxx11abiTRUE` of this Python."""
        version = wheel.partition("+")[0]
        name = f"flash_attn-{wheel.replace('+', '%2B')}-{TAG}-{TAG}-linux_x86_64.whl"
        url = f"https://github.com/Dao-AILab/flash-attention/releases/download/v{version}/{name}"
        self.install(
            "flash-attn",
            version,
            requires=["torch", "einops"],
            files={"flash_attn/__init__.py": "import flash_attn_2_cuda\n"},
            info={
                "WHEEL": f"Wheel-Version: 1.0\nTag: {TAG}-{TAG}-linux_x86_64\n",
                "direct_url.json": json.dumps({"url": url, "archive_info": {}}),
            },
        )
        own = self._libraries.of_torch(abi=True, major=12)
        needs = [own[f"torch/lib/{name}.so"] for name in ("libc10", "libtorch_cpu", "libc10_cuda")]
        source = wanting([ERRORS[abi], *wants], targets, "flash_attn_2_cuda")
        file = f"flash_attn_2_cuda{SUFFIX}"
        self.copy(file, self._libraries.get(file, source, needs))

    def vllm(self, transformers: str = "4.57.1", wants: Sequence[str] = (DEVICES,)) -> None:
        """Install vLLM 0.10.2 with its FlashAttention copies, and a transformers beside it."""
        self.install(
            "vllm",
            "0.10.2",
            requires=["torch==2.8.0", "transformers>=4.55.2"],
            files={"vllm/__init__.py": "raise SystemExit('vllm itself must not be imported')\n"},
        )
        for name in ("_C", "vllm_flash_attn/_vllm_fa2_C", "vllm_flash_attn/_vllm_fa3_C"):
            file = f"{name.rpartition('/')[2]}.abi3.so"
            self.copy(f"vllm/{name}.abi3.so", self._libraries.get(file, wanting(wants, MODERN)))
        self.install("transformers", transformers, files={"transformers/__init__.py": ""})


def torch_text(capability: tuple[int, int], change: Mapping[str, str]) -> str:
    arch_list = [f"sm_{capability[0]}{capability[1]}"]
    text = TORCH.replace("CAPABILITY", str(capability)).replace("ARCH_LIST", str(arch_list))
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture
def make_target(tmp_path: Path, libraries: Libraries) -> Callable[[Path], Target]:
    """Return a function that makes a target environment in a folder of that name."""
    return lambda name: Target(tmp_path / name, libraries)


@pytest.fixture
def target(make_target: Callable[[Path], Target]) -> Target:
    return make_target(Path("env"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """A machine to look at: the folder in place of its `/`, and variables."""

    root: Path
    environ: Mapping[str, str] = field(default_factory=dict)


DRIVER = re.compile(r"^driver (\S+)$", re.MULTILINE)
CUDA = re.compile(r"^cuda (\d+)$", re.MULTILINE)
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {driver}  Release Build\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Tue Apr 1 12:00:00 UTC 2025\n"


@pytest.fixture
def rig(
    machine: Callable[..., Path],
    nvml_stub: Callable[[str], dict[str, str]],
    libraries: Libraries,
) -> Callable[..., Rig]:
    """Return a function that builds a healthy server around an NVML scene.

    Kernel module and libcuda are of the scene's driver, or of `driver`; there are as many cards
    on the bus as in the scene, but at least one; the module is open unless `closed`.
    """

    def build(scene: str, *, driver: str = "580.95.05", closed: bool = False) -> Rig:
        environ = nvml_stub(scene)
        text = Path(environ["FLASHDOCTOR_NVML_SCENE"]).read_text(encoding="utf-8")
        driver = (DRIVER.findall(text) or [driver])[0]
        cards = text.count("\ngpu ") or 1
        nodes = ("nvidiactl", "nvidia-uvm", *(f"nvidia{number}" for number in range(cards)))
        proc = (CLOSED if closed else OPEN).format(driver=driver)
        root = machine(displays=cards, nodes=nodes, module=driver, proc=proc)
        furnish(root, libraries, driver, int((CUDA.findall(text) or ["13000"])[0]))
        return Rig(root=root, environ=environ)

    return build


def furnish(root: Path, libraries: Libraries, driver: str, cuda: int) -> None:
    """Add the list of modules, the distribution and the driver's library."""
    (root / "proc/modules").write_text("nvidia 1 0 - Live 0x0\nnvidia_uvm 1 0 - Live 0x0\n")
    (root / "sys/module/nvidia_uvm").mkdir()
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text('NAME="Ubuntu"\nVERSION_ID="22.04"\n')
    folder = root / "usr/lib/x86_64-linux-gnu"
    folder.mkdir(parents=True)
    source = f"int cuDriverGetVersion(int *out) {{ *out = {cuda}; return 0; }}"
    shutil.copy(libraries.get("libcuda.so.1", source), folder / f"libcuda.so.{driver}")
    (folder / "libcuda.so.1").symlink_to(f"libcuda.so.{driver}")
    (folder / "libcuda.so").symlink_to("libcuda.so.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one check gave."""

    report: Mapping[str, Any]
    code: int
    stdout: str
    seconds: float

    @property
    def verdict(self) -> str:
        return str(self.report["verdict"])

    @property
    def findings(self) -> list[Mapping[str, Any]]:
        return list(self.report["findings"])

    @property
    def errors(self) -> list[str]:
        """The causes of what fails the check, the root cause first."""
        return self.causes("error")

    def causes(self, *severities: str) -> list[str]:
        return [item["cause"] for item in self.findings if item["severity"] in severities]

    def value(self, path: str) -> Any:
        return self.report["facts"][path]["value"]

    def state(self, path: str) -> str:
        return str(self.report["facts"][path]["state"])


class Command:
    """The command line in a small environment, in an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
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
        """Run `python -m flashdoctor ARGS`, on a rig or with settings through on_machine.py."""
        changed = {**({"root": str(rig.root)} if rig else {}), **(settings or {})}
        start, ours = ["-m", "flashdoctor"], {"PYTHONPATH": str(TESTS.parent)}
        if changed:
            start, ours = [str(LAUNCHER), json.dumps(changed)], {}
        return subprocess.run(
            [sys.executable, "-W", "error", *start, *args],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=LONGEST_S,
            cwd=self.work,
            env={**self.environ, **ours, **(rig.environ if rig else {}), **(environ or {})},
        )

    def check(
        self, *args: str, target: Target | None = None, smoke: str = "off", **options: Any
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
        return Done(report=report, code=done.returncode, stdout=done.stdout, seconds=seconds)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)
