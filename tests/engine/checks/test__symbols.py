from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.engine.checks._symbols import readable, summary


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN3c105ErrorC2ENS_14SourceLocationESs", "c10::Error::Error"),
        ("_ZN3c105ErrorD1Ev", "c10::Error::~Error"),
        ("_ZNK3c106SymInt6sym_neERKS0_", "c10::SymInt::sym_ne"),
        ("_ZN3c104cuda9SetDeviceEa", "c10::cuda::SetDevice"),
        ("PyInit_flash", "PyInit_flash"),
        ("_ZTVN3c1021AutogradMetaInterfaceE", "_ZTVN3c1021AutogradMetaInterfaceE"),
    ],
)
def test_a_mangled_name_is_read(symbol: str, name: str) -> None:
    assert readable(symbol) == name


def test_the_summary_tells_the_two_strings_apart() -> None:
    old = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
    new = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
    assert summary([old]) == "c10::Error::Error with the old std::string"
    assert summary([new, old]) == "c10::Error::Error with the new std::string and 1 more"
    assert summary(["_ZN3c104cuda9SetDeviceEa"] * 3) == "c10::cuda::SetDevice and 2 more"


@given(st.text(min_size=1))
def test_any_text_is_read_without_failing(text: str) -> None:
    assert readable("_ZN" + text)
    assert readable(text)
