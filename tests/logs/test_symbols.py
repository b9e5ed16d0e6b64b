from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.symbols import library_owner, symbol_abi, symbol_owner

NEW_STRING = (
    "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
)


@pytest.mark.parametrize(
    ("symbol", "owner"),
    [
        (NEW_STRING, "torch"),
        ("_ZN3c105ErrorC2ENS_14Source", "torch"),
        ("_ZNK3c1011StorageImpl27throw_data_ptr_access_errorEv", "torch"),
        ("_Z16THPVariable_WrapN2at10TensorBaseE", "other"),
        ("THPVariableClass", "torch"),
        ("aoti_torch_device_type_cuda", "torch"),
        ("ncclCommRegister", "nccl"),
        ("__nvJitLinkCreate_12_8", "nvjitlink"),
        ("__nvJitLinkAddData_12_1", "nvjitlink"),
        ("cudaGetDriverEntryPointByVersion@libcudart.so.12", "cudart"),
        ("__cudaRegisterLinkedBinary_b12e", "cudart"),
        ("cuTensorMapEncodeTiled", "cuda-driver"),
        ("cublasLtGetVersion", "cublas"),
        ("cudnnGetVersion", "cudnn"),
        ("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7reserveEv", "libstdcxx"),
        ("GLIBCXX_3.4.32", "libstdcxx"),
        ("PyObject_GetOptionalAttr", "python"),
        ("_PyThreadState_UncheckedGet", "python"),
        ("my_own_function", "other"),
    ],
)  # fmt: skip
def test_who_must_define_a_symbol(symbol: str, owner: str) -> None:
    assert symbol_owner(symbol) == owner


@pytest.mark.parametrize(
    ("symbol", "abi"),
    [
        (NEW_STRING, "new"),
        ("_ZN3c105ErrorC2ENS_14SourceLocationESs", "old"),
        ("_ZN2at4_ops5zeros4callEN3c108ArrayRefINS2_6SymIntEEE", "none"),
        ("ncclCommRegister", "none"),
        ("_ZN3c105ErrorC2ESsNSt7__cxx1112basic_stringIcEE", "new"),
    ],
)
def test_which_string_a_symbol_takes(symbol: str, abi: str) -> None:
    assert symbol_abi(symbol) == abi


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/v/lib/python3.10/site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so",
         "flash-attn"),
        ("site-packages/flash_attn_3/_C.abi3.so", "flash-attn-3"),
        ("site-packages/vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so", "vllm-flash-attn"),
        ("/usr/lib/python3/dist-packages/vllm/_C.abi3.so", "vllm"),
        ("C:\\env\\site-packages\\xformers\\_C.pyd".replace("\\", "/"), "xformers"),
        ("site-packages/torch/lib/libtorch_cuda.so", "torch"),
        ("libc10_cuda.so", "torch"),
        ("site-packages/bitsandbytes/libbitsandbytes_cuda121.so", "bitsandbytes"),
        ("awq_ext.cpython-310-x86_64-linux-gnu.so", "awq"),
        ("exllamav2_ext.so", "exllama"),
        ("sgl_kernel/common_ops.abi3.so", "sgl-kernel"),
        ("/opt/libfoo.so", "other"),
    ],
)  # fmt: skip
def test_whose_a_library_is(path: str, owner: str) -> None:
    assert library_owner(path) == owner


@given(st.text(max_size=300))
def test_any_text_has_an_owner(text: str) -> None:
    assert symbol_owner(text)
    assert symbol_abi(text) in {"new", "old", "none"}
    assert library_owner(text)
