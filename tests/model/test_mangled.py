from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.mangled import Mangled, belongs_to_torch, cxx11_abi, parse_mangled

NEW = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD = "_ZN3c105ErrorC2ENS_14SourceLocationESs"


@pytest.mark.parametrize(
    "name",
    [
        NEW,
        OLD,
        "_ZNK3c105Error4whatEv",
        "_ZTIN3c105ErrorE",
        "_ZTVN5torch8autograd12AutogradMetaE",
        "_ZN3c10lsERSoNS_10DeviceTypeE",
        "_ZN6caffe28TypeMeta13typeMetaDatasEv",
        "_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE",
        "_ZThn16_N5torch8autograd4NodeD1Ev",
        "_ZN8pybind116detail11type_casterIN2at6TensorEvE4loadENS_6handleEb",
        "THPGeneratorClass",
        "aoti_torch_get_data_ptr",
        "torch_call_dispatcher",
    ],
)
def test_symbols_that_torch_must_define(name: str) -> None:
    assert belongs_to_torch(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "_Z",
        "printf",
        "PyList_New",
        "cudaLaunchKernel",
        "_ZNSt6vectorIN2at6TensorESaIS1_EE9push_backERKS1_",
        "_ZNSaIN2at6TensorEE8allocateEm",
        "_Z7mha_fwdN2at6TensorE",
        "_ZeqRKN2at6TensorES2_",
        "_ZN4vllm4copyEN2at6TensorE",
        "_ZN8pybind114cast5printEi",
        "_ZN5atlas3runEv",
        "_ZNSs6appendEPKcm",
    ],
)
def test_symbols_that_are_not_torchs_business(name: str) -> None:
    assert not belongs_to_torch(name)


def test_a_name_comes_apart_at_its_lengths() -> None:
    assert parse_mangled("_ZN2at3addERKNS_6TensorELi12ES0_") == Mangled(
        ("at", "add", "Tensor"), "N..ERKN_.E__"
    )


@pytest.mark.parametrize(
    ("names", "abi"),
    [
        ([NEW], True),
        ([OLD], False),
        (["_ZNK3c106Device3strB5cxx11Ev"], True),
        (["_ZN3c106detail14torchCheckFailEPKcS2_jRKSs", "THPVariableClass"], False),
        (["_ZN3c1019UndefinedTensorImpl10_singletonE"], None),
        (["_ZN2at8SshTokenEv", "_ZN3c1011CrossSsRateEv"], None),
        ([], None),
    ],
)
def test_the_string_decides_the_abi(names: list[str], abi: bool | None) -> None:
    assert cxx11_abi(names) is abi


def test_symbols_of_both_abis_decide_nothing() -> None:
    with pytest.raises(ValueError, match="both"):
        cxx11_abi([NEW, OLD])


@given(st.text(alphabet="_ZNSsTLEIt0123456789at.", max_size=60))
def test_any_text_comes_apart(tail: str) -> None:
    parsed = parse_mangled("_Z" + tail)
    assert sum(map(len, parsed.identifiers)) + len(parsed.rest) <= len(tail) + len(
        parsed.identifiers
    )
    assert belongs_to_torch("_Z" + tail) in {True, False}


def test_the_first_identifier_is_what_a_demangler_says() -> None:
    if not shutil.which("c++filt"):
        pytest.skip("needs c++filt")
    names = [NEW, OLD, "_ZNK3c105Error4whatEv", "_ZN2at4_ops5copy_4callERNS_6TensorERKS2_b"]
    done = subprocess.run(
        ["c++filt", *names], capture_output=True, text=True, check=True, timeout=20
    )
    scopes = [line.split("::")[0] for line in done.stdout.splitlines()]
    assert [parse_mangled(name).identifiers[0] for name in names] == scopes
