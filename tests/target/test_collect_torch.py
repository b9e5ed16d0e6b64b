from __future__ import annotations

from pathlib import Path
from typing import Any

PINS = (
    'nvidia-cublas-cu12==12.4.5.8; platform_system == "Linux"',
    'nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux"',
    'nvidia-nccl-cu12 (==2.21.5) ; platform_system == "Linux"',
    'nvidia-cufile-cu12==1.0; platform_machine == "no-such-machine"',
    'triton==3.2.0; platform_system == "Linux" and python_version < "3.99"',
    'opt-einsum>=3.3; extra == "opt-einsum"',
)
VERSION_PY = "__version__ = '{version}'\ncuda = {cuda}\nhip = None\n"


def install_torch(
    site: Any, version: str = "2.6.0+cu124", cuda: str | None = "12.4",
    *, pins: tuple[str, ...] = PINS, abi: str = "-D_GLIBCXX_USE_CXX11_ABI=0", dist: str = "2.6.0",
) -> None:  # fmt: skip
    site.install(
        "torch", dist, requires=pins, headers=["Requires-Python: >=3.9.0"],
        files={
            "torch/__init__.py": "raise SystemExit('torch must not be imported')",
            "torch/version.py": VERSION_PY.format(version=version, cuda=repr(cuda)),
            "torch/lib/libtorch.so": "",
            "torch/share/cmake/Torch/TorchConfig.cmake": f'set(TORCH_CXX_FLAGS "{abi}")',
        },
    )  # fmt: skip


def install_cuda(site: Any, nccl: str = "2.21.5") -> None:
    site.install("nvidia-cublas-cu12", "12.4.5.8")
    site.install("nvidia-cudnn-cu12", "9.1.0.70")
    site.install("nvidia-nccl-cu12", nccl)


def test_torch_is_read_from_its_own_files(site: Any) -> None:
    install_torch(site)
    install_cuda(site)
    collected = site.look()
    found = site.index(collected)
    assert found["torch.version"].value == "2.6.0+cu124"
    assert found["torch.version"].source == "torch/version.py"
    assert (found["torch.build"].value, found["torch.cuda"].value) == ("cuda", "12.4")
    assert found["torch.cxx11_abi"].value is False
    assert found["torch.triton_pin"].value == "==3.2.0"
    assert found["torch.cudnn_pin"].value == "==9.1.0.70"
    assert found["torch.python_requires"].value == ">=3.9.0"
    assert (found["torch.cudnn"].value, found["torch.nccl"].value) == ("9.1.0.70", "2.21.5")
    assert found["torch.cuda_majors"].value == ["12"]
    assert found["torch.pins_unmet"].value == []
    assert found["torch.installs"].value == 1
    assert collected.files["torch_lib"] == str(site.packages / "torch/lib")


def test_pins_that_are_not_met_are_listed(site: Any) -> None:
    install_torch(site)
    site.install("nvidia-cublas-cu12", "12.8.4.1")
    site.install("nvidia-nccl-cu12", "2.21.5")
    assert site.facts()["torch.pins_unmet"].value == [
        {"package": "nvidia-cublas-cu12", "required": "==12.4.5.8", "installed": "12.8.4.1"},
        {"package": "nvidia-cudnn-cu12", "required": "==9.1.0.70", "installed": None},
    ]


def write_nccl(site: Any, version: str) -> None:
    major, minor, patch = version.split(".")
    macros = f"#define NCCL_MAJOR {major}\n#define NCCL_MINOR {minor}\n#define NCCL_PATCH {patch}\n"
    site.write("nvidia/nccl/include/nccl.h", macros)


def test_of_two_packages_in_one_folder_the_files_on_disk_count(site: Any) -> None:
    install_torch(site)
    install_cuda(site)
    site.install("nvidia-nccl-cu13", "2.28.9")
    write_nccl(site, "2.21.5")
    healthy = site.facts()
    assert (healthy["torch.nccl"].value, healthy["torch.pins_unmet"].value) == ("2.21.5", [])
    write_nccl(site, "2.28.9")
    overwritten = site.facts()
    assert overwritten["torch.nccl"].value == "2.28.9"
    assert overwritten["torch.pins_unmet"].value == [
        {"package": "nvidia-nccl-cu12", "required": "==2.21.5", "installed": "2.28.9"}
    ]


def test_a_package_whose_library_has_gone_is_not_met(site: Any) -> None:
    install_torch(site)
    install_cuda(site)
    record = "nvidia/nccl/lib/libnccl.so.2,sha256=x,123\nnvidia/nccl/include/nccl.h,sha256=x,1\n"
    folder = "nvidia_nccl_cu12-2.21.5.dist-info"
    site.write(f"{folder}/RECORD", record + f"{folder}/RECORD,,\n")
    assert site.facts()["torch.pins_unmet"].value == [
        {"package": "nvidia-nccl-cu12", "required": "==2.21.5", "installed": None}
    ]
    site.write("nvidia/nccl/lib/libnccl.so.2")
    assert site.facts()["torch.pins_unmet"].value == []


def test_both_cuda_majors_of_cutlass_are_healthy(site: Any) -> None:
    install_torch(site)
    install_cuda(site)
    site.install("nvidia-cutlass-dsl", "4.5.2")
    site.install("nvidia-cutlass-dsl-libs-cu12", "4.5.2")
    site.install("nvidia-cutlass-dsl-libs-cu13", "4.5.2")
    found = site.facts()
    assert found["torch.pins_unmet"].value == []
    assert found["torch.cuda_majors"].value == ["12"]
    assert found["nvidia_cutlass_dsl.version"].value == "4.5.2"


def test_pins_behind_the_cuda_toolkit_metapackage_are_followed(site: Any) -> None:
    pins = (
        'cuda-toolkit[cublas,cudart]==13.0.2; platform_system == "Linux"',
        'nvidia-cudnn-cu13==9.19.0.56; platform_system == "Linux"',
    )
    install_torch(site, "2.11.0+cu130", "13.0", pins=pins, dist="2.11.0", abi="")
    site.install(
        "cuda-toolkit", "13.0.2",
        requires=[
            "nvidia-cublas==13.1.0.3.*; (sys_platform == 'linux') and extra == 'cublas'",
            "nvidia-cuda-runtime==13.0.96.*; sys_platform == 'linux' and extra == 'cudart'",
            "nvidia-cufft==12.0.0.61.*; sys_platform == 'linux' and extra == 'cufft'",
        ],
    )  # fmt: skip
    site.install("nvidia-cublas", "13.1.0.3")
    site.install("nvidia-cuda-runtime", "13.1.5")
    site.install("nvidia-cudnn-cu13", "9.19.0.56")
    found = site.facts()
    assert found["torch.cuda_majors"].value == ["13"]
    assert found["torch.pins_unmet"].value == [
        {"package": "nvidia-cuda-runtime", "required": "==13.0.96.*", "installed": "13.1.5"}
    ]
    assert found["torch.cxx11_abi"].state == "unknown"
    assert "does not state it" in found["torch.cxx11_abi"].reason


def test_a_torch_without_pins_has_none_unmet(site: Any) -> None:
    install_torch(site, "2.5.1", "12.4", pins=("filelock",), dist="2.5.1")
    (site.root / "conda-meta").mkdir()
    found = site.facts()
    assert found["torch.pins_unmet"].value == []
    assert found["torch.cuda_majors"].state == "absent"
    assert found["torch.version"].value == "2.5.1"


def test_a_torch_without_metadata_is_still_read(site: Any) -> None:
    site.write("torch/__init__.py")
    site.write("torch/version.py", VERSION_PY.format(version="2.4.0", cuda="'12.1'"))
    found = site.facts()
    assert found["torch.version"].value == "2.4.0"
    assert found["torch.installs"].value == 0
    assert found["torch.cxx11_abi"].reason == "the file is missing"
    assert found["torch.pins_unmet"].state == "absent"


def test_a_cpu_torch_has_no_cuda(site: Any) -> None:
    install_torch(site, "2.8.0+cpu", None, pins=(), dist="2.8.0+cpu", abi="")
    found = site.facts()
    assert (found["torch.build"].value, found["torch.cuda"].state) == ("cpu", "absent")


def test_what_is_left_of_a_torch_is_no_torch(site: Any) -> None:
    site.write("torch/lib/libc10.so")
    assert site.facts()["torch.version"].state == "absent"
    site.install("torch", "2.6.0")
    found = site.facts()
    assert found["torch.version"].state == "absent"
    assert "its folder is not" in found["torch.version"].reason
    site.write("torch/__init__.py")
    broken = site.facts()
    assert broken["torch.version"].state == "unknown"
    assert "version.py is missing" in broken["torch.version"].reason


def test_two_torch_distributions_are_counted(site: Any) -> None:
    install_torch(site)
    site.install("torch", "2.5.0")
    assert site.facts()["torch.installs"].value == 2


def test_metadata_that_cannot_be_read_is_unknown_and_the_rest_stays(site: Any) -> None:
    install_torch(site, pins=("nvidia-cublas-cu12==1; no_such_variable == 'x'",))
    found = site.facts()
    assert found["torch.pins_unmet"].state == "unknown"
    assert "no_such_variable" in found["torch.pins_unmet"].reason
    assert found["torch.version"].value == "2.6.0+cu124"


def test_a_folder_on_pythonpath_that_hides_a_package_is_named(site: Any, tmp_path: Path) -> None:
    install_torch(site)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").touch()
    found = site.facts({"PYTHONPATH": str(tmp_path)})
    assert found["python.shadowed"].value == ["torch"]
