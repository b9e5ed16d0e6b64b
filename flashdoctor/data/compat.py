"""The shapes of the tables in matrices/compat: every row says where it was read."""

from __future__ import annotations

from collections.abc import Mapping

from flashdoctor.data.provenance import FACTS, META, sourced
from flashdoctor.data.shape import Field, Section, Shape, may, need

_DRIVER_CUDA = {
    "minor_compat": sourced(
        {
            "cuda_major": need("int"),
            "min_linux": need("version"),
            "min_windows": need("version"),
            "documented": need("text"),
            "range_upper_exclusive": may("int"),
        },
        "cuda_major",
    ),
    "toolkit": sourced(
        {
            "release": need("text"),
            "version": need("version"),
            "linux_driver": may("version"),
            "windows_driver": may("version"),
            "windows_bundled": may("bool"),
            "driver_branch": may("int"),
        },
        "version",
        "release",
    ),
    "driver_branch": sourced(
        {
            "branch": need("int"),
            "nvidia_smi_cuda_version": need("version"),
            "kind": may("text", "LTS", "PB", "NFB"),
            "end_of_life": may("month"),
        },
        "branch",
    ),
    "fact": FACTS,
}

_ABI = ("cxx11", "pre-cxx11")
_TORCH = {
    "release": sourced(
        {
            "version": need("version"),
            "minor": need("version"),
            "default_cuda": need("version"),
            "default_variant": need("cuda tag"),
            "cuda_variants": need("cuda tag", many=True),
            "requires_python": need("text"),
            "pythons_linux_x86_64": need("python tag", many=True),
            "pythons_windows": need("python tag", many=True),
            "platform_tags": need("text", many=True),
            "default_arch_list": need("target", many=True),
            "arch_list_has_ptx": need("bool"),
            "aarch64_arch_list": may("target", many=True),
            "linux_x86_64_tag": need("text"),
            "glibc_floor": need("version"),
            "cxx11_abi": need("text", *_ABI),
            "cxx11_abi_evidence": need("text"),
            "triton": may("text"),
            "cudnn": need("version"),
            "nccl": may("version"),
            "cuda_runtime_pin": need("version"),
            "git_version": need("text"),
            "windows_default_cuda": need("version", "none"),
            "aarch64_default_cuda": need("version", "none"),
        },
        "version",
    ),
    "variant": sourced(
        {
            "minor": need("version"),
            "cuda": need("version"),
            "tag": need("cuda tag"),
            "arch_list": may("capability", many=True),
            "ptx": may("capability"),
            "aarch64_arch_list": may("capability", many=True),
            "windows_arch_list": may("capability", many=True),
            "advertised": need("bool"),
            "min_driver_linux": need("version"),
            "cxx11_abi": need("text", *_ABI),
        },
        ("minor", "cuda"),
        ("minor", "tag"),
    ),
    "fact": FACTS,
}

_EXCLUDED = Section(
    {"torch": may("version"), "python": may("version"), "cuda": may("version")}, single=True
)
_FLASH_ATTN = {
    "release": sourced(
        {
            "version": need("version"),
            "date": need("day or month"),
            "on_index": need("bool"),
            "requires_python": may("text"),
            "wheel_torch_minors": need("version", many=True),
            "wheel_torch_built_against": may("version", many=True),
            "wheel_cuda": need("cuda tag", many=True),
            "wheel_nvcc": may("version", many=True),
            "wheel_pythons": need("python tag", many=True),
            "wheel_abi": need("text", "TRUE", "FALSE", many=True),
            "wheel_platforms": may("text", many=True),
            "wheel_sass": may("target", many=True),
            "wheel_ptx": may("bool"),
            "wheel_glibc_ceiling": may("version"),
            "wheel_glibc_needed": may("version"),
            "build_runner": may("text"),
            "excluded": Field("table", required=False, many=True, of=_EXCLUDED),
            "min_cuda_to_build": need("version"),
            "runtime_gpu_check": need("text"),
            "min_torch_readme": need("version"),
        },
        "version",
    ),
    "actual_assets": sourced(
        {
            "version": need("version"),
            "torch_minors": need("version", many=True),
            "cuda": need("cuda tag", many=True),
            "extra": may("text", many=True),
        },
        "version",
    ),
    "torch_minor": sourced(
        {"torch": need("version"), "official_wheels": need("text"), "must_compile": need("bool")},
        "torch",
    ),
    "feature": sourced({"feature": need("text"), "since": need("version", "never")}, "feature"),
    "limit": sourced(
        {
            "variant": need("label"),
            "package": may("text"),
            "version": may("text"),
            "requires_python": may("text"),
            "requires": may("text", many=True),
            "min_cc": may("capability"),
            "cc_accepted": may("text", many=True),
            "dtypes": may("text", many=True),
            "head_dim_max_fwd": may("int"),
            "head_dim_max_bwd": may("int"),
            "head_dim_multiple": may("int"),
            "head_dim_fwd_sm90": may("text"),
            "head_dim_fwd_sm100": may("text"),
            "paged_block_multiple": may("int"),
            "min_cuda": may("version"),
            "recommended_cuda": may("version"),
            "max_cuda": may("text"),
            "different_v_head_dim": may("text"),
            "blackwell": may("text"),
            "ampere": may("text"),
            "backward": may("text"),
            "cuda13_extra": may("text"),
            "min_driver": may("text"),
            "min_driver_basis": may("text"),
            "compile": may("text"),
            "namespace_clash": may("text"),
        },
        "variant",
    ),
    "fact": FACTS,
}

_VLLM = {
    "release": sourced(
        {
            "version": need("version"),
            "minor": need("version"),
            "requires_python": need("text"),
            "torch": need("text"),
            "torchvision": may("text"),
            "xformers": may("text"),
            "transformers": need("text"),
            "compressed_tensors": may("text"),
            "flashinfer": may("text"),
            "cutlass_dsl": may("text"),
            "vllm_flash_attn": may("text"),
            "index_wheel_cuda": need("version"),
            "index_wheel_cudart_major": need("version"),
            "index_wheel_nvcc": may("version"),
            "index_wheel_cuda_evidence": need("text"),
            "release_pipeline_cuda": may("version", many=True),
            "min_driver_linux": need("version"),
            "wheel_tags": need("text", many=True),
            "glibc_floor_tag": need("version"),
            "sass_in_wheel": may("target", many=True),
            "cmake_supported_archs": may("capability", many=True),
            "min_compute_capability": need("capability"),
            "min_cc_evidence": need("text"),
            "bundled_fa2": need("bool"),
            "bundled_fa3": need("bool"),
            "bundled_fa4": need("bool"),
            "fa_bundle_note": may("text"),
        },
        "version",
        "minor",
    ),
    "torch_range": sourced(
        {"first": need("version"), "last": need("version"), "torch": need("version")}, "first"
    ),
    "fact": FACTS,
}

_TRANSFORMERS = {
    "release": sourced(
        {
            "version": need("version"),
            "minor": need("version"),
            "requires_python": need("text"),
            "torch": need("text"),
            "attn_implementation": need("text", many=True),
            "min_flash_attn_cuda": need("version"),
            "min_flash_attn_rocm": may("version"),
            "sdpa_min_torch": may("version", "torch minimum"),
            "flex_min_torch": may("version", "torch minimum"),
            "kernels_pin": may("text"),
            "paged_names": may("text", many=True),
            "fa3_detect": may("text"),
            "fa4_detect": may("text"),
            "hub_flash_kernels": may("text", many=True),
        },
        "version",
        "minor",
    ),
    "fact": FACTS,
}

_RUN = Section(
    {
        "first": need("version"),
        "last": need("version"),
        "min_capability": need("capability", "none"),
    },
    single=True,
)
_MIN_CAPABILITY = {
    "class": may("text"),
    "min_capability": may("capability", "none", "CPU only"),
    "runs": Field("table", required=False, many=True, of=_RUN, filled=True),
}
_QUANTIZATION = {
    "package": sourced(
        {
            "name": need("label"),
            "last": need("version"),
            "last_month": may("month"),
            "state": need("text"),
            "requires_python": may("text"),
            "torch": may("text"),
            "transformers": may("text"),
            "compressed_tensors": may("text"),
            "pythons_with_wheels": may("python tag", many=True),
            "wheels": may("text"),
            "gpu": may("text"),
            "replacement": may("text"),
        },
        "name",
    ),
    "vllm_method": sourced(
        {"method": need("text"), "in_0_33_0": need("bool"), **_MIN_CAPABILITY}, "method"
    ),
    "vllm_scheme": sourced({"scheme": need("text"), **_MIN_CAPABILITY}, "scheme"),
    "vllm_kernel": sourced({"kernel": need("text"), **_MIN_CAPABILITY}, "kernel"),
    "fact": FACTS,
}

_GPUS = {
    "arch": sourced(
        {
            "cc": need("capability"),
            "sm": need("target"),
            "name": need("text"),
            "max_smem_per_block_optin_kb": may("int"),
            "smem_per_sm_kb": may("int"),
            "first_cuda": may("version"),
            "last_cuda": may("version"),
            "last_driver_branch": may("int"),
            "bf16_tensor": may("bool"),
            "fp8_tensor": may("bool"),
            "fp4_tensor": may("bool"),
            "flash_attn2": may("bool"),
            "flash_attn3": may("bool"),
        },
        "cc",
        "sm",
    ),
    "gpu": sourced(
        {
            "name": need("text"),
            "aliases": may("text", many=True),
            "compute_capability": need("capability"),
            "architecture": need("text"),
            "segment": need(
                "text", "datacenter", "workstation", "consumer", "laptop", "integrated", "jetson"
            ),
            "memory_gib": need("number"),
            "memory_bandwidth_gb_s": may("number"),
            "memory_type": need("text"),
            "sm_count": may("int"),
            "tensor_tflops_bf16_dense": may("number"),
            "tensor_tflops_fp16_dense": may("number"),
            "tflops_basis": may("text"),
            "bf16_supported": need("bool"),
            "fp8_supported": need("bool"),
            "max_smem_per_block_optin_kb": need("int"),
            "first_cuda": need("version"),
            "min_driver_branch": may("int"),
            "min_driver_basis": may("text"),
            "last_driver_branch": may("int"),
            "first_driver_listed": may("version"),
        },
        "name",
    ),
}

_DISTRIBUTIONS = sourced(
    {"name": need("text"), "release": need("version"), "glibc": need("version")},
    ("name", "release"),
)

_NGC_PYTORCH = sourced(
    {
        "release": need("version"),
        "torch": need("version"),
        "cuda": may("version"),
        "python": may("version"),
        "distribution": may("text"),
    },
    "release",
)

COMPAT_SHAPES: Mapping[str, Shape] = {
    "driver_cuda": Shape({"meta": META, **_DRIVER_CUDA}),
    "torch": Shape({"meta": META, **_TORCH}),
    "flash_attn": Shape({"meta": META, **_FLASH_ATTN}),
    "vllm": Shape({"meta": META, **_VLLM}),
    "transformers": Shape({"meta": META, **_TRANSFORMERS}),
    "quantization": Shape({"meta": META, **_QUANTIZATION}),
    "gpus": Shape({"meta": META, **_GPUS}),
    "wsl": Shape({"meta": META, "fact": FACTS}),
    "distributions": Shape({"meta": META, "distribution": _DISTRIBUTIONS}),
    "containers": Shape({"meta": META, "ngc_pytorch": _NGC_PYTORCH}),
}
"""By file name without its ending."""
