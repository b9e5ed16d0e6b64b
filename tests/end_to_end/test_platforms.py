"""Systems other than a Linux server: WSL, Windows, macOS, Jetson, AMD."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

UBUNTU = {"etc/os-release": 'NAME="Ubuntu"\nVERSION_ID="22.04"\n', "proc/modules": ""}
WSL = {**UBUNTU, "proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2\n"}
WSL_LIBRARIES = "usr/lib/wsl/lib"
CUDA = "int cuDriverGetVersion(int *out) { *out = 12060; return 0; }"


@pytest.fixture
def lay(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Return a function that writes the files of a machine below a root folder."""

    def write(files: Mapping[str, str]) -> Path:
        root = tmp_path / "root"
        root.mkdir()
        for name, text in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return root

    return write


PACKAGE = "Package: libnvidia-compute-535\nStatus: install ok installed\nVersion: 535.1\n\n"


@pytest.fixture
def wsl(lay: Any, libraries: Any, nvml_stub: Any) -> Callable[..., dict[str, Any]]:
    """Return a function that makes the options of a check inside WSL 2, with an RTX 4090.

    `dxg`: Windows hands its GPU over; `first`: the folder in which the loader finds libcuda first.
    """

    def build(
        *, dxg: bool = True, packages: str = "", first: str = WSL_LIBRARIES
    ) -> dict[str, Any]:
        device = {"dev/dxg": ""} if dxg else {}
        root = lay({**WSL, **device, "var/lib/dpkg/status": packages})
        for name in {first, WSL_LIBRARIES}:
            (root / name).mkdir(parents=True)
            shutil.copy(libraries.get("libcuda.so.1", source=CUDA), root / name)
        environ = nvml_stub("rtx4090") if dxg else {}
        search = f"{environ.get('LD_LIBRARY_PATH', '')}:/{first}:/{WSL_LIBRARIES}"
        return {"settings": {"root": str(root)}, "environ": {**environ, "LD_LIBRARY_PATH": search}}

    return build


def test_a_healthy_wsl(command: Any, target: Any, wsl: Any) -> None:
    target.torch(capability=(8, 9))
    done = command.check(target=target, smoke="auto", **wsl())
    assert (done.verdict, done.code) == ("pass", 0)
    assert done.value("wsl.version") == 2
    assert done.value("driver.libcuda_origin") == "wsl"
    assert done.value("live.kernel_ran") is True


def test_a_wsl_without_the_gpu_of_windows(command: Any, target: Any, wsl: Any) -> None:
    target.torch()
    done = command.check(target=target, **wsl(dxg=False))
    assert (done.code, done.errors) == (1, ["wsl-gpu-not-exposed"])


def test_a_linux_driver_inside_wsl(command: Any, target: Any, wsl: Any) -> None:
    target.torch()
    options = wsl(packages=PACKAGE, first="usr/lib/x86_64-linux-gnu")
    done = command.check(target=target, **options)
    assert (done.code, done.errors) == (1, ["wsl-linux-driver-installed"])
    assert done.value("driver.libcuda_origin") == "driver"


def test_a_linux_driver_that_the_loader_passes_over(command: Any, target: Any, wsl: Any) -> None:
    target.torch()
    done = command.check(target=target, **wsl(packages=PACKAGE))
    assert (done.verdict, done.code) == ("warn", 0)
    assert done.causes("warning") == ["wsl-linux-driver-installed"]


def test_a_wsl_whose_loader_finds_no_libcuda(command: Any, target: Any, wsl: Any) -> None:
    target.torch(capability=(8, 9))
    options = wsl()
    folder = Path(options["settings"]["root"]) / WSL_LIBRARIES
    (folder / "libcuda.so.1").unlink()
    done = command.check(target=target, smoke="off", **options)
    assert (done.code, done.errors) == (1, ["libcuda-missing"])


FOREIGN = {
    "Jetson": ({"etc/nv_tegra_release": "# R36 (release)\n"}, "jetson-outside-matrix"),
    "AMD": ({"dev/kfd": "", "sys/module/amdgpu/version": ""}, "rocm-outside-matrix"),
}


@pytest.mark.parametrize(("files", "cause"), FOREIGN.values(), ids=FOREIGN.keys())
def test_a_machine_outside_the_matrices_is_named_and_not_judged(
    command: Any, target: Any, lay: Any, files: Mapping[str, str], cause: str
) -> None:
    target.torch()
    root = lay({**UBUNTU, **files})
    done = command.check(target=target, smoke="auto", settings={"root": str(root)})
    assert (done.verdict, done.code, done.errors) == ("undetermined", 3, [])
    assert done.causes("warning") == [cause]


@pytest.mark.parametrize("smoke", ["off", "on"])
@pytest.mark.parametrize(
    ("system", "name", "code", "cause"),
    [
        ("win32", "Windows", 1, "nvidia-kernel-module-not-loaded"),
        ("darwin", "Darwin", 3, "macos-outside-matrix"),
    ],
)
def test_another_system_says_what_it_cannot_see(
    command: Any,
    target: Any,
    lay: Any,
    *,
    smoke: str,
    system: str,
    name: str,
    code: int,
    cause: str,
) -> None:
    target.torch(change={"is_available(self): return True": "is_available(self): return False"})
    settings = {"system": system, "root": str(lay({}))}
    done = command.check(target=target, smoke=smoke, settings=settings)
    assert (done.value("os.system"), done.value("python.status")) == (name, "ok")
    assert cause in done.causes("error", "warning")
    if smoke == "off":
        assert done.code == code
    assert done.code in {1, 3}
    assert done.state("gpu.compute_capability") == "unknown"
    assert done.value("torch.version") == "2.7.1+cu126"


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_another_system_takes_a_snapshot(command: Any, target: Any, lay: Any, system: str) -> None:
    settings = {"system": system, "root": str(lay({}))}
    words = ("--python", str(target.python), "--smoke", "off")
    taken = command.run("snapshot", *words, settings=settings)
    assert (taken.returncode, taken.stderr) == (0, "")
    assert json.loads(taken.stdout)["facts"]["python.environment"]["value"] == "venv"
    shown = command.run("check", *words, settings=settings)
    assert shown.stderr == ""
    assert shown.returncode in {1, 3}
    judged = command.run("check", "--snapshot", "-", stdin=taken.stdout)
    assert judged.returncode == shown.returncode
