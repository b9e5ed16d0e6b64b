from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flashdoctor.model.facts import known
from flashdoctor.target.collect import derived

WHEEL = "flash_attn-2.7.4.post1%2Bcu12torch2.6cxx11abiFALSE-cp311-cp311-linux_x86_64.whl"


def install_flash(site: Any, version: str = "2.7.4.post1", **info: str) -> None:
    site.install(
        "flash-attn", version,
        files={
            "flash_attn/__init__.py": "raise SystemExit",
            "flash_attn/flash_attn_interface.py": "",
            "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so": "",
        },
        info={
            "WHEEL": "Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n",
            **{name.replace("__", "."): text for name, text in info.items()},
        },
    )  # fmt: skip


def test_flash_attn_tells_its_wheel_by_address(site: Any) -> None:
    url = f'{{"url": "https://example.invalid/v2/{WHEEL}#sha256=0", "archive_info": {{}}}}'
    install_flash(site, direct_url__json=url)
    collected = site.look()
    found = site.index(collected)
    assert found["flash_attn.version"].value == "2.7.4.post1"
    assert found["flash_attn.wheel.file"].value == WHEEL
    assert found["flash_attn.wheel.platform"].value == "linux_x86_64"
    assert found["flash_attn.wheel.python"].value == found["flash_attn.wheel.abi"].value == "cp311"
    assert found["flash_attn.extension_present"].value is True
    extension = str(site.packages / "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so")
    assert collected.files["extensions"] == {"flash_attn": extension}
    assert found["flash_attn.extension"].value == extension
    assert found["flash_attn.leftover"].value is False


@pytest.mark.parametrize("text", ["", "[]", "{", '{"url": "git+https://example.invalid/x"}'])
def test_a_wheel_name_that_was_not_kept_is_unknown(site: Any, text: str) -> None:
    install_flash(site, direct_url__json=text)
    found = site.facts()
    assert found["flash_attn.wheel.file"].state == "unknown"
    assert found["flash_attn.wheel.python"].value == "cp311"


def test_a_local_version_tells_what_a_wheel_name_would(site: Any) -> None:
    install_flash(site, "2.8.3+cu128torch2.8cxx11abiTRUE")
    found = site.facts()
    assert found["flash_attn.wheel.cuda"].value == "12.8"
    assert found["flash_attn.wheel.torch"].value == "2.8"
    assert found["flash_attn.wheel.cxx11_abi"].value is True


def test_a_version_that_is_no_version_gives_nothing_more() -> None:
    assert list(derived({"flash_attn.version": known("flash_attn.version", "N/A", "s")})) == []
    assert list(derived({})) == []


def test_an_extension_that_was_not_compiled_is_seen(site: Any) -> None:
    site.install("flash-attn", "2.8.3", files={"flash_attn/__init__.py": ""})
    found = site.facts()
    assert found["flash_attn.extension_present"].value is False
    assert found["flash_attn.extension"].state == "absent"


@pytest.mark.parametrize(
    ("files", "fa4", "leftover"),
    [
        (("flash_attn/flash_attn_interface.py",), False, True),
        (("flash_attn/__pycache__/x.pyc",), False, True),
        (("flash_attn/cute/__init__.py",), True, False),
        (("flash_attn/cute/__init__.py", "flash_attn/flash_attn_interface.py"), True, True),
    ],
)
def test_a_folder_that_no_distribution_owns_is_a_leftover(
    site: Any, files: tuple[str, ...], fa4: bool, leftover: bool
) -> None:
    for file in files:
        site.write(file)
    if fa4:
        site.install("flash-attn-4", "4.0.0b15")
    found = site.facts()
    assert found["flash_attn.leftover"].value is leftover
    assert found["flash_attn.version"].state == "absent"
    assert (found["flash_attn_4.version"].value == "4.0.0b15") is fa4


def test_a_checkout_on_pythonpath_is_no_leftover(site: Any, tmp_path: Path) -> None:
    (tmp_path / "src/flash_attn").mkdir(parents=True)
    found = site.facts({"PYTHONPATH": str(tmp_path / "src")})
    assert found["flash_attn.leftover"].value is False


@pytest.mark.parametrize(
    ("files", "module", "extension"),
    [
        (("flash_attn_interface.py", "flash_attn_3/_C.abi3.so"),
         "flash_attn_interface", "flash_attn_3/_C.abi3.so"),
        (("flash_attn_3/__init__.py", "flash_attn_3/flash_attn_interface.py",
          "flash_attn_3/_C.abi3.so"), "flash_attn_3", "flash_attn_3/_C.abi3.so"),
        (("flash_attn_interface.py", "flash_attn_3_cuda.abi3.so"),
         "flash_attn_interface", "flash_attn_3_cuda.abi3.so"),
    ],
)  # fmt: skip
def test_flash_attn_3_is_told_by_module_and_extension(
    site: Any, files: tuple[str, ...], module: str, extension: str
) -> None:
    site.install("flash_attn_3", "3.0.0b1", files=dict.fromkeys(files, ""))
    collected = site.look()
    found = site.index(collected)
    assert found["flash_attn_3.version"].value == "3.0.0b1"
    assert found["flash_attn_3.module"].value == module
    assert collected.files["extensions"] == {"flash_attn_3": str(site.packages / extension)}
    assert found["flash_attn.version"].state == "absent"


@pytest.mark.parametrize(
    ("on_disk", "replaced"),
    [
        ({"interface.py": "new", "mask.py": "mask"}, None),
        ({"interface.py": "older", "mask.py": "mask"}, ["flash_attn/cute/interface.py"]),
        ({"interface.py": "new"}, ["flash_attn/cute/mask.py"]),
    ],
)
def test_flash_attn_4_tells_which_of_its_files_are_not_its_own(
    site: Any, on_disk: dict[str, str], replaced: list[str] | None
) -> None:
    record = (
        "flash_attn/cute/interface.py,sha256=x,3\n"
        "flash_attn/cute/mask.py,sha256=x,4\n"
        "flash_attn/cute/py.typed,sha256=x,9\n"
        "flash_attn_4-4.0.0b15.dist-info/RECORD,,\n"
    )
    files = {f"flash_attn/cute/{name}": text for name, text in on_disk.items()}
    site.install("flash-attn-4", "4.0.0b15", files=files, info={"RECORD": record})
    assert site.facts()["flash_attn_4.replaced"].value == replaced


def test_a_checkout_of_flash_attn_3_has_no_version_and_is_not_absent(site: Any) -> None:
    site.write("flash_attn_interface.py", "")
    found = site.facts()
    assert found["flash_attn_3.module"].value == "flash_attn_interface"
    assert found["flash_attn_3.version"].state == "unknown"


def test_vllm_tells_its_pins_and_what_it_carries(site: Any) -> None:
    names = ("_C.abi3.so", "vllm_flash_attn/_vllm_fa2_C.abi3.so",
             "vllm_flash_attn/_vllm_fa3_C.abi3.so", "vllm_flash_attn/cute/__init__.py",
             "_flashmla_C.abi3.so", "__init__.py")  # fmt: skip
    site.install(
        "vllm", "0.20.2+cu129", headers=["Requires-Python: <3.15,>=3.10"],
        requires=["torchaudio==2.11.0", "torch==2.11.0", "transformers!=5.0.*, >=4.56.0",
                  'flashinfer-python==0.6.8; extra == "flashinfer"'],
        files={f"vllm/{name}": "" for name in names},
    )  # fmt: skip
    collected = site.look()
    found = site.index(collected)
    assert found["vllm.version"].value == "0.20.2+cu129"
    assert found["vllm.torch_pin"].value == "==2.11.0"
    assert found["vllm.transformers_pin"].value == "!=5.0.*,>=4.56.0"
    assert found["vllm.flashinfer_pin"].value == "==0.6.8"
    assert found["vllm.python_requires"].value == "<3.15,>=3.10"
    assert found["vllm.bundled"].value == ["fa2", "fa3", "fa4", "flashmla"]
    folder = site.packages / "vllm"
    assert collected.files["extensions"] == {
        "vllm": str(folder / names[0]),
        "vllm.fa2": str(folder / names[1]),
        "vllm.fa3": str(folder / names[2]),
    }


def test_a_newer_vllm_extension_is_found_under_its_other_name(site: Any) -> None:
    files = dict.fromkeys(("vllm/__init__.py", "vllm/_C_stable_libtorch.abi3.so"), "")
    site.install("vllm", "0.33.0", files=files)
    assert site.look().files["extensions"] == {
        "vllm": str(site.packages / "vllm/_C_stable_libtorch.abi3.so")
    }


def test_frameworks_tell_what_their_extras_ask_for(site: Any) -> None:
    site.install(
        "transformers", "5.17.0",
        requires=['torch>=2.5; extra == "torch"', 'kernels<0.17,>=0.16.0; extra == "kernels"'],
    )  # fmt: skip
    site.install("bitsandbytes", "0.45.0", files={
        f"bitsandbytes/{name}": "" for name in (
            "__init__.py", "libbitsandbytes_cuda121.so", "libbitsandbytes_cuda118_nocublaslt.so",
            "libbitsandbytes_cuda121_nocublaslt.so", "libbitsandbytes_cpu.so")
    })  # fmt: skip
    site.install("xformers", "0.0.35", files={"xformers/__init__.py": "", "xformers/_C.so": ""})
    collected = site.look()
    found = site.index(collected)
    assert found["transformers.torch_pin"].value == ">=2.5"
    assert found["transformers.kernels_pin"].value == "<0.17,>=0.16.0"
    assert found["bitsandbytes.cuda_binaries"].value == ["11.8", "12.1"]
    assert collected.files["extensions"]["xformers"] == str(site.packages / "xformers/_C.so")


def test_other_names_of_a_package_count(site: Any) -> None:
    site.install("pytorch-triton", "3.3.0")
    site.install("flashinfer-python", "0.6.13")
    found = site.facts()
    assert found["triton.version"].value == "3.3.0"
    assert found["flashinfer.version"].value == "0.6.13"


def test_an_editable_install_is_found_through_its_pth_file_and_its_finder(
    site: Any, tmp_path: Path
) -> None:
    plain, mapped = tmp_path / "plain", tmp_path / "mapped" / "vllm"
    for folder in (plain / "xformers", mapped):
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder / "_C.abi3.so").touch()
    site.install("xformers", "0.0.31.dev0")
    site.write("__editable__.xformers.pth", f"{plain}\n")
    site.install("vllm", "0.11.0.dev1")
    site.write("__editable___vllm_finder.py", FINDER.format(path=str(mapped / "__init__.py")))
    site.write(
        "__editable__.vllm.pth", "import __editable___vllm_finder; __editable___vllm_finder.go()\n"
    )
    assert site.look().files["extensions"] == {
        "xformers": str(plain / "xformers/_C.abi3.so"),
        "vllm": str(mapped / "_C.abi3.so"),
    }


FINDER = """\
import sys
from importlib.util import spec_from_file_location

class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname == "vllm":
            return spec_from_file_location(fullname, {path!r})

def go():
    sys.meta_path.append(_EditableFinder)
"""
