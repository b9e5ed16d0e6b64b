"""Every fact that flashdoctor knows how to hold: path, kind and meaning.

The kind decides how a value is typed, compared and redacted. A path that is not listed here is a
mistake wherever it turns up: in a rule, behind --assume, in a probe.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal[
    "version",  # compared by release numbers, then post release
    "capability",  # a compute capability, `9.0`
    "bool",
    "int",
    "float",
    "word",  # one of a few fixed words
    "text",  # free text: scrubbed before it is kept
    "path",  # a file name: home folders and user names are cut out
    "versions",  # list of versions
    "capabilities",  # list of compute capabilities
    "targets",  # list of `sm_90`, `compute_90`
    "texts",
    "paths",
    "records",  # list of objects with allow-listed keys
]


class FactSpec(NamedTuple):
    """What stands under one path. `keys` lists what an object of a `records` fact may hold."""

    path: str
    kind: Kind
    meaning: str
    keys: tuple[str, ...] = ()


_PACKAGES = (
    "triton", "xformers", "flashinfer", "flashinfer_cubin", "transformers", "kernels", "accelerate",
    "bitsandbytes", "autoawq", "auto_gptq", "gptqmodel", "exllamav2", "llmcompressor",
    "compressed_tensors", "optimum", "numpy", "pynvml", "nvidia_ml_py", "sgl_kernel",
    "vllm_flash_attn", "torchvision", "torchaudio", "peft", "ninja", "packaging", "psutil",
    "wheel", "setuptools", "nvidia_cutlass_dsl", "ray",
)  # fmt: skip

_EXTENSIONS = {
    "flash_attn": "flash-attn's extension flash_attn_2_cuda",
    "flash_attn_3": "FlashAttention-3's extension",
    "vllm": "vLLM's extension vllm._C",
    "vllm.fa2": "vLLM's bundled FlashAttention-2",
    "vllm.fa3": "vLLM's bundled FlashAttention-3",
    "xformers": "xformers' extension _C",
}

GPU_KEYS = (
    "index", "name", "compute_capability", "memory_total_mib", "memory_used_mib", "mig_enabled",
    "mig_instances", "ecc_enabled", "pcie_generation", "pcie_generation_max", "pcie_width",
    "pcie_width_max", "throttle_reasons", "driver_model", "visible", "fabric_state",
    "min_driver_branch", "last_driver_branch", "segment", "compute_mode",
)  # fmt: skip

SMOKE_KEYS = (
    "name", "api", "backend", "expected_family", "family", "proven", "as_expected", "status", "ms",
    "seconds", "gain", "kernel", "max_abs_error", "causes", "reason", "fix", "components",
    "replaced_by",
)  # fmt: skip


def _extension_specs(path: str, what: str) -> tuple[FactSpec, ...]:
    return (
        FactSpec(f"{path}.extension", "path", f"file of {what}"),
        FactSpec(f"{path}.extension_machine", "word", f"ELF machine of {what}: x86_64, aarch64"),
        FactSpec(f"{path}.extension_glibc", "version", f"highest GLIBC symbol that {what} needs"),
        FactSpec(
            f"{path}.extension_glibcxx", "version", f"highest GLIBCXX symbol that {what} needs"
        ),
        FactSpec(f"{path}.extension_needed", "texts", f"DT_NEEDED libraries of {what}"),
        FactSpec(f"{path}.extension_python", "word", f"Python tag in the file name of {what}"),
        FactSpec(
            f"{path}.missing_symbols",
            "texts",
            f"symbols that {what} needs from torch and this torch does not export",
        ),
        FactSpec(f"{path}.sass", "targets", f"machine code inside {what}"),
        FactSpec(f"{path}.ptx", "targets", f"PTX inside {what}"),
    )


_SPECS: tuple[FactSpec, ...] = (
    # The machine.
    FactSpec("os.system", "word", "Linux, Windows or Darwin"),
    FactSpec("os.distribution", "text", "distribution and release, `Ubuntu 22.04`"),
    FactSpec("os.kernel", "text", "kernel release"),
    FactSpec("os.platform", "word", "wheel platform: linux_x86_64, linux_aarch64, win_amd64, ..."),
    FactSpec("os.glibc", "version", "glibc of this system"),
    FactSpec("os.glibcxx", "version", "highest GLIBCXX symbol of the system's libstdc++"),
    FactSpec("os.compiler", "text", "host compiler on PATH, `gcc 12.2.0`"),
    FactSpec("os.compiler_version", "version", "version of the host compiler"),
    FactSpec("os.cpu_count", "int", "usable CPU cores"),
    FactSpec("os.memory_mib", "int", "physical memory"),
    FactSpec("os.cgroup_memory_mib", "int", "memory limit of the cgroup"),
    FactSpec("os.shm_mib", "int", "size of /dev/shm"),
    FactSpec("os.jetson", "bool", "a Jetson or other Tegra board"),
    FactSpec("os.rocm", "bool", "an AMD GPU with the ROCm driver"),
    FactSpec("wsl.version", "int", "0 outside WSL, else 1 or 2"),
    FactSpec("wsl.dxg", "bool", "/dev/dxg is there"),
    FactSpec("wsl.library_path", "bool", "/usr/lib/wsl/lib holds libcuda.so.1"),
    FactSpec("wsl.dxgdmal", "bool", "libnvdxgdmal.so.1 is on a library path"),
    FactSpec("wsl.linux_driver_packages", "texts", "Linux driver packages installed inside WSL"),
    FactSpec("container.kind", "word", "docker, podman, kubernetes, lxc, containerd, other"),
    FactSpec("container.visible_devices", "text", "NVIDIA_VISIBLE_DEVICES"),
    FactSpec("container.driver_capabilities", "text", "NVIDIA_DRIVER_CAPABILITIES"),
    FactSpec("container.require_cuda", "text", "NVIDIA_REQUIRE_CUDA"),
    FactSpec("container.require_disabled", "bool", "NVIDIA_DISABLE_REQUIRE is set"),
    # GPUs.
    FactSpec("gpu.count", "int", "GPUs that the driver reports"),
    FactSpec("gpu.visible_count", "int", "GPUs that CUDA_VISIBLE_DEVICES leaves"),
    FactSpec("gpu.name", "text", "name of the first visible GPU"),
    FactSpec("gpu.compute_capability", "capability", "of the first visible GPU"),
    FactSpec("gpu.compute_capabilities", "capabilities", "of every visible GPU"),
    FactSpec("gpu.memory_mib", "int", "total memory of the first visible GPU"),
    FactSpec("gpu.memory_used_mib", "int", "memory in use on the first visible GPU"),
    FactSpec("gpu.segment", "word", "datacenter, workstation, consumer, laptop, ..."),
    FactSpec("gpu.min_driver_branch", "int", "first driver branch that drives it"),
    FactSpec("gpu.last_driver_branch", "int", "last driver branch that drives it"),
    FactSpec("gpu.mig_enabled", "bool", "MIG is on for the first visible GPU"),
    FactSpec("gpu.devices", "records", "every GPU", GPU_KEYS),
    FactSpec("gpu.processes", "records", "who holds GPU memory", ("gpu", "name", "used_mib")),
    FactSpec("gpu.pci_count", "int", "NVIDIA display devices on the PCI bus"),
    FactSpec("gpu.nvswitch", "bool", "an NVSwitch machine, which needs the fabric manager"),
    FactSpec("gpu.visible_devices", "text", "CUDA_VISIBLE_DEVICES"),
    FactSpec("gpu.visible_invalid", "texts", "its entries that name no device"),
    # Driver.
    FactSpec("nvml.status", "word", "ok, or the failure: library-not-found, driver-not-loaded, "
             "version-mismatch, no-permission, gpu-lost, timeout, unknown-error"),
    FactSpec("nvml.error", "text", "NVML's own words"),
    FactSpec("nvml.library_version", "version", "driver version that libnvidia-ml belongs to"),
    FactSpec("driver.version", "version", "driver version; on WSL the Windows driver's"),
    FactSpec("driver.branch", "int", "driver branch: the number before the first dot"),
    FactSpec("driver.cuda", "version", "highest CUDA that the driver supports"),
    FactSpec("driver.module_version", "version", "kernel module that is loaded"),
    FactSpec("driver.module_loaded", "bool", "the nvidia kernel module is loaded"),
    FactSpec("driver.module_flavor", "word", "open or proprietary"),
    FactSpec("driver.claimed_by", "text", "kernel driver that holds the GPU: nvidia, nouveau, ..."),
    FactSpec("driver.uvm_loaded", "bool", "nvidia_uvm is loaded"),
    FactSpec("driver.uvm_node", "bool", "/dev/nvidia-uvm is there"),
    FactSpec("driver.device_nodes", "int", "/dev/nvidiaN nodes"),
    FactSpec("driver.nodes_denied", "texts", "device nodes that this user may not open"),
    FactSpec("driver.libcuda_path", "path", "the libcuda.so.1 that the loader takes"),
    FactSpec("driver.libcuda_origin", "word", "driver, compat, stub, wsl or other"),
    FactSpec("driver.libcuda_version", "version", "driver version in that file's name"),
    FactSpec("driver.libcuda_cuda", "version", "CUDA that this libcuda reports"),
    FactSpec("driver.libcuda_link", "bool", "an unversioned libcuda.so stands beside it"),
    FactSpec("driver.libcuda_candidates", "paths", "every libcuda.so.1 on the search path"),
    FactSpec("driver.fabric_manager", "word", "running or stopped"),
    FactSpec("driver.fabric_manager_version", "version", "version of nvidia-fabricmanager"),
    # CUDA toolkit.
    FactSpec("toolkit.version", "version", "nvcc that a build would take"),
    FactSpec("toolkit.path", "path", "its folder"),
    FactSpec("toolkit.home", "path", "CUDA_HOME, else CUDA_PATH"),
    FactSpec("toolkit.home_problem", "text", "what is wrong with CUDA_HOME"),
    FactSpec("toolkit.installs", "records", "every toolkit found", ("path", "version", "via")),
    FactSpec("env.ld_library_path", "paths", "LD_LIBRARY_PATH"),
    FactSpec("env.vllm_attention_backend", "text", "VLLM_ATTENTION_BACKEND"),
    FactSpec("env.vllm_flash_attn_version", "text", "VLLM_FLASH_ATTN_VERSION"),
    FactSpec("env.vllm_use_v1", "text", "VLLM_USE_V1"),
    FactSpec("env.vllm_wsl2_enable_pin_memory", "text", "VLLM_WSL2_ENABLE_PIN_MEMORY"),
    FactSpec("env.vllm_use_v2_model_runner", "text", "VLLM_USE_V2_MODEL_RUNNER"),
    FactSpec("env.pytorch_cuda_alloc_conf", "text", "PYTORCH_CUDA_ALLOC_CONF"),
    FactSpec("env.cuda_device_order", "text", "CUDA_DEVICE_ORDER"),
    FactSpec("env.torch_cuda_arch_list", "text", "TORCH_CUDA_ARCH_LIST"),
    # The target Python.
    FactSpec("python.version", "version", "version of the target interpreter"),
    FactSpec("python.implementation", "word", "cpython, pypy, ..."),
    FactSpec("python.tag", "word", "wheel tag of the interpreter, `cp310`, `cp313t`"),
    FactSpec("python.executable", "path", "the interpreter"),
    FactSpec("python.environment", "word", "venv, conda or system"),
    FactSpec("python.user_site", "bool", "the user site folder is on sys.path"),
    FactSpec("python.user_site_packages", "texts", "watched packages that come from the user site"),
    FactSpec("python.pythonpath", "paths", "PYTHONPATH"),
    FactSpec("python.shadowed", "texts", "watched packages hidden by a folder of the same name"),
    FactSpec("python.headers", "bool", "Python.h of this interpreter is there"),
    FactSpec("python.pip", "bool", "pip is installed"),
    FactSpec("python.status", "word", "ok, not-found, too-old, timeout, crashed, silent"),
    FactSpec("python.error", "text", "why the interpreter gave no report"),
    # torch.
    FactSpec("torch.version", "version", "torch.__version__ as torch/version.py has it"),
    FactSpec("torch.minor", "word", "its X.Y"),
    FactSpec("torch.build", "word", "cuda, cpu, rocm, xpu"),
    FactSpec("torch.cuda", "version", "CUDA that torch was built with"),
    FactSpec("torch.cxx11_abi", "bool", "built with the new C++11 ABI"),
    FactSpec("torch.arch_list", "targets", "SASS and PTX targets in the wheel"),
    FactSpec("torch.glibc_floor", "version", "glibc that the wheel needs"),
    FactSpec("torch.min_driver", "version", "lowest driver for its CUDA major on this system"),
    FactSpec("torch.python_requires", "text", "Requires-Python of the release"),
    FactSpec("torch.triton_pin", "text", "triton that this torch requires"),
    FactSpec("torch.cudnn", "version", "cuDNN package installed beside torch"),
    FactSpec("torch.cudnn_pin", "text", "cuDNN that this torch requires"),
    FactSpec("torch.nccl", "version", "NCCL package installed beside torch"),
    FactSpec("torch.pins_unmet", "records", "nvidia-* packages that differ from torch's pins",
             ("package", "required", "installed")),
    FactSpec("torch.cuda_majors", "texts", "CUDA majors of the nvidia-* packages that torch needs"),
    FactSpec("torch.library_missing", "texts", "libraries of torch that are not on disk"),
    FactSpec("torch.installs", "int", "torch distributions on sys.path"),
    # A live import, in a child.
    FactSpec("live.status", "word", "ok, error, crashed, timeout, not-run"),
    FactSpec("live.error", "text", "what the import of torch, or CUDA's start, said"),
    FactSpec("live.cuda_available", "bool", "torch.cuda.is_available() in the child"),
    FactSpec("live.device_count", "int", "torch.cuda.device_count() in the child"),
    FactSpec("live.capability", "capability", "torch.cuda.get_device_capability(0)"),
    FactSpec("live.arch_list", "targets", "torch.cuda.get_arch_list()"),
    FactSpec("live.torch_version", "version", "torch.__version__ as imported"),
    FactSpec("live.cudnn", "version", "cuDNN as loaded"),
    FactSpec("live.libraries", "paths", "CUDA libraries as mapped into the process"),
    FactSpec("live.kernel_ran", "bool", "a small CUDA kernel of torch ran and was right"),
    FactSpec("live.kernel_error", "text", "what that kernel's launch said"),
    FactSpec("live.imports", "records", "extensions imported after torch",
             ("module", "status", "error")),
    # Attention that really ran, in a child.
    FactSpec("smoke.status", "word", "ok, inferred, cpu, error, not-run"),
    FactSpec("smoke.error", "text", "why no kernel could be named"),
    FactSpec("smoke.proven", "texts", "families of kernels that a kernel's name proves"),
    FactSpec("smoke.faults", "texts", "cases that did not end as they should"),
    FactSpec("smoke.cases", "records", "every case that was run", SMOKE_KEYS),
    # flash-attn.
    FactSpec("flash_attn.version", "version", "version of the distribution flash-attn"),
    FactSpec("flash_attn.wheel.file", "text", "wheel file name"),
    FactSpec("flash_attn.wheel.cuda", "version", "CUDA in the wheel's name: 12, 12.3"),
    FactSpec("flash_attn.wheel.torch", "word", "torch X.Y in the wheel's name"),
    FactSpec("flash_attn.wheel.cxx11_abi", "bool", "C++11 ABI in the wheel's name"),
    FactSpec("flash_attn.wheel.python", "word", "Python tag, `cp310`"),
    FactSpec("flash_attn.wheel.abi", "word", "ABI tag, `cp310`"),
    FactSpec("flash_attn.wheel.platform", "word", "platform tag, `linux_x86_64`"),
    FactSpec("flash_attn.wheel.glibc", "version", "glibc of the machine that built the wheel"),
    FactSpec("flash_attn.abi_by_symbols", "bool", "C++11 ABI that its symbols ask for"),
    FactSpec("flash_attn.extension_present", "bool", "flash_attn_2_cuda is on disk"),
    FactSpec("flash_attn.leftover", "bool", "a flash_attn folder that no distribution owns"),
    FactSpec("flash_attn.accepts_blackwell", "bool", "its run-time check takes major >= 8"),
    FactSpec("flash_attn_3.version", "version", "version of the distribution flash-attn-3"),
    FactSpec("flash_attn_3.module", "word", "import name: flash_attn_interface or flash_attn_3"),
    FactSpec("flash_attn_4.version", "version", "version of the distribution flash-attn-4"),
    FactSpec("flash_attn_4.replaced", "texts", "its modules that are gone or of another length"),
    # vLLM.
    FactSpec("vllm.version", "version", "version of vLLM"),
    FactSpec("vllm.torch_pin", "text", "torch that this vLLM requires"),
    FactSpec("vllm.transformers_pin", "text", "transformers that this vLLM requires"),
    FactSpec("vllm.flashinfer_pin", "text", "flashinfer that this vLLM requires"),
    FactSpec("vllm.python_requires", "text", "Requires-Python of the release"),
    FactSpec("vllm.cuda", "version", "CUDA that its wheel was built with"),
    FactSpec("vllm.min_driver", "version", "lowest driver for its CUDA major on this system"),
    FactSpec("vllm.min_capability", "capability", "lowest compute capability in its wheel"),
    FactSpec("vllm.glibc_floor", "version", "glibc of its wheel tag"),
    FactSpec("vllm.bundled", "texts", "attention kernels on disk: fa2, fa3, fa4, flashmla"),
    FactSpec("transformers.min_flash_attn", "version", "flash-attn that transformers asks for"),
    FactSpec("transformers.torch_pin", "text", "torch that this transformers requires"),
    FactSpec("transformers.kernels_pin", "text", "kernels that this transformers requires"),
    FactSpec("bitsandbytes.cuda_binaries", "texts", "CUDA builds that bitsandbytes carries"),
    # Launch commands and what an engine said about itself, both out of pasted text.
    FactSpec("launch.command", "text", "the launch command, without its values that are secret"),
    FactSpec("launch.program", "word", "vllm, sglang, tgi, python, torchrun, ..."),
    FactSpec("launch.flags", "records", "flags of the launch command", ("name", "value")),
    FactSpec("launch.environment", "records", "variables set for it", ("name", "value")),
    FactSpec("launch.image", "text", "container image that is started or built upon"),
    FactSpec("launch.gpus", "text", "GPUs that docker run hands in; absent: no such flag"),
    FactSpec("launch.runtimes", "texts", "runtimes that docker knows"),
    FactSpec("launch.default_runtime", "word", "runtime that docker takes by default"),
    FactSpec("launch.tensor_parallel_size", "int", "--tensor-parallel-size"),
    FactSpec("launch.gpu_memory_utilization", "float", "--gpu-memory-utilization"),
    FactSpec("launch.max_model_len", "int", "--max-model-len"),
    FactSpec("launch.quantization", "word", "--quantization"),
    FactSpec("launch.dtype", "word", "--dtype, or torch_dtype of a script"),
    FactSpec("launch.kv_cache_dtype", "word", "--kv-cache-dtype"),
    FactSpec("launch.attention_backend", "word", "--attention-backend"),
    FactSpec("launch.attn_implementation", "word", "attn_implementation of transformers"),
    FactSpec("model.name", "text", "model that was launched or loaded"),
    FactSpec("model.type", "word", "model_type or architecture"),
    # What the files of a model say: config.json, safetensors headers, custom code.
    FactSpec("model.architecture", "word", "class of the model in its config.json"),
    FactSpec("model.dtype", "word", "dtype that its config.json states"),
    FactSpec("model.heads", "int", "attention heads"),
    FactSpec("model.kv_heads", "int", "KV heads"),
    FactSpec("model.head_dim", "int", "width of a head that attention kernels see"),
    FactSpec("model.max_positions", "int", "longest context that its config.json allows, tokens"),
    FactSpec("model.quantization", "word", "quant_method of its config.json, by vLLM's name"),
    FactSpec("model.quantization_scheme", "word", "weights and activations of it: fp8-w8a8, ..."),
    FactSpec("model.quantization_bits", "int", "bits of a weight by its config.json"),
    FactSpec("model.quantization_group", "int", "weights that share a scale by its config.json"),
    FactSpec("model.weights_gib", "float", "weights on all GPUs together, GiB"),
    FactSpec("model.weights_exact", "bool", "read from safetensors headers, not worked out"),
    FactSpec("model.packing", "word", "what its tensors look like: awq, gptq, compressed-tensors, "
             "fp8, bitsandbytes, modelopt, mxfp4, none"),
    FactSpec("model.packing_bits", "int", "bits of a weight by the shapes of its tensors"),
    FactSpec("model.packing_group", "int", "weights that share a scale by those shapes"),
    FactSpec("model.shards_missing", "texts", "safetensors files that the index names and that are "
             "not there"),
    FactSpec("model.shards_damaged", "texts", "safetensors files that are cut off or unreadable"),
    FactSpec("model.tensors_missing", "texts", "tensors that the index names and no file holds"),
    FactSpec("model.tensors_repeated", "texts", "tensors that stand twice or share bytes"),
    FactSpec("model.tokenizer", "bool", "a tokenizer stands beside the weights"),
    FactSpec("model.custom_code", "bool", "it asks for code of its own (trust_remote_code)"),
    FactSpec("model.code_without_flash", "texts", "its own files that compute attention by hand"),
    FactSpec("engine.name", "word", "vllm, sglang, transformers"),
    FactSpec("engine.attention_backend", "word", "attention backend that the engine chose"),
    FactSpec("engine.fa_version", "int", "FlashAttention version that the engine chose"),
    FactSpec("engine.kv_tokens", "int", "KV cache size in tokens"),
    FactSpec("engine.kv_gib", "float", "memory for the KV cache, GiB"),
    FactSpec("engine.kv_blocks", "int", "KV cache size in GPU blocks"),
    FactSpec("engine.weights_gib", "float", "memory of the loaded weights, GiB"),
    FactSpec("engine.activation_gib", "float", "peak of the activations as it profiled it, GiB"),
    FactSpec("engine.graphs_gib", "float", "memory of the captured CUDA graphs, GiB"),
    FactSpec("engine.max_model_len", "int", "longest request that the engine takes, tokens"),
    FactSpec("engine.max_concurrency", "float", "full-length requests that the KV cache holds"),
    FactSpec("engine.dtype", "word", "dtype that the engine runs in"),
    FactSpec("engine.kv_cache_dtype", "word", "dtype of the KV cache"),
    FactSpec("engine.quantization", "word", "quantization that the engine runs"),
    FactSpec("engine.tensor_parallel_size", "int", "GPUs that share one model"),
    FactSpec("engine.gpu_memory_utilization", "float", "fraction of GPU memory that it may use"),
    FactSpec("engine.enforce_eager", "bool", "CUDA graphs and torch.compile are off"),
    FactSpec("engine.ready", "bool", "the engine said that it serves"),
    # The state of a log at the line where a signature was met.
    FactSpec("log.phase", "word", "what the program was doing: import, build, load, profile, "
             "graph-capture, serve"),
    FactSpec("log.packages", "texts", "packages in the frames of the last traceback, last first"),
    FactSpec("log.exception", "word", "class of the last exception"),
    FactSpec("log.symbol", "text", "C++ symbol that is missing"),
    FactSpec("log.symbol_owner", "word", "who defines it: torch, cudart, nvjitlink, cublas, cudnn, "
             "nccl, cuda-driver, libstdcxx, python, other"),
    FactSpec("log.symbol_abi", "word", "std::string that it takes: new, old, none"),
    FactSpec("log.library", "path", "file that could not be loaded"),
    FactSpec("log.library_owner", "word", "whose file that is: flash-attn, flash-attn-3, vllm, "
             "vllm-flash-attn, xformers, torch, bitsandbytes, awq, exllama, sgl-kernel, other"),
    FactSpec("log.missing_library", "text", "library that it needs and does not find"),
    FactSpec("log.kernel_owner", "word", "whose CUDA kernel failed, by the path in the message"),
    FactSpec("log.capability_required", "capability", "compute capability that is asked for"),
    FactSpec("log.capability_found", "capability", "compute capability that the message names"),
    FactSpec("log.cuda_required", "version", "CUDA version that is asked for"),
    FactSpec("log.cuda_found", "version", "CUDA version that the message names"),
    FactSpec("log.version_required", "text", "package version that is asked for"),
    FactSpec("log.version_found", "version", "package version that the message names"),
    FactSpec("log.version_floor", "version", "lowest package version that is asked for"),
    FactSpec("log.version_ceiling", "version", "first package version that is refused"),
    FactSpec("log.package", "word", "package that the message names"),
    FactSpec("log.head_dim", "int", "head dimension that the message names"),
    FactSpec("log.dtype", "word", "dtype that the message names"),
    FactSpec("log.flag", "text", "flag that the message names"),
    FactSpec("log.backend", "word", "attention backend that the message names"),
    FactSpec("log.backend_refused", "word", "attention backend that the engine said it cannot use"),
    FactSpec("log.method", "word", "quantization method that the message names"),
    FactSpec("log.tokens_wanted", "int", "tokens that were asked for"),
    FactSpec("log.tokens_possible", "int", "tokens that fit"),
    FactSpec("log.memory_wanted_gib", "float", "memory that was asked for, GiB"),
    FactSpec("log.memory_free_gib", "float", "memory that is free, GiB"),
    FactSpec("log.memory_total_gib", "float", "memory of the device, GiB"),
    FactSpec("log.memory_own_gib", "float", "memory that the failed process held itself, GiB"),
    FactSpec("log.memory_others_gib", "float", "memory that another process held, GiB"),
    FactSpec("log.engine", "word", "serving engine that the text last named: vllm, sglang, tgi, "
             "lmdeploy"),
    FactSpec("log.heads", "int", "attention heads"),
    FactSpec("log.name", "text", "other name that the message gives: a model class, a variable"),
    FactSpec("policy.file", "path", "policy that this run was judged by"),
    FactSpec("policy.profile", "text", "profile of the policy that was chosen"),
    FactSpec("policy.expect", "texts", "versions and kernels that the policy expects"),
    FactSpec("policy.ignored", "texts", "rules that the policy ignores, until when and why"),
    FactSpec("policy.expired", "texts", "ignores of the policy whose last day is over"),
    *(FactSpec(f"{name}.version", "version", f"version of {name}") for name in _PACKAGES),
    *(spec for path, what in _EXTENSIONS.items() for spec in _extension_specs(path, what)),
)  # fmt: skip

FACTS: Mapping[str, FactSpec] = {spec.path: spec for spec in _SPECS}

SHORT_NAMES: Mapping[str, str] = {
    "gpu": "gpu.name",
    "gpu_count": "gpu.count",
    "gpu_memory_gib": "gpu.memory_mib",
    "compute_capability": "gpu.compute_capability",
    "driver": "driver.version",
    "cuda_toolkit": "toolkit.version",
    "torch": "torch.version",
    "torch_cuda": "torch.cuda",
    "cxx11_abi": "torch.cxx11_abi",
    "python": "python.version",
    "flash_attn": "flash_attn.version",
    "vllm": "vllm.version",
    "transformers": "transformers.version",
    "triton": "triton.version",
    "glibc": "os.glibc",
    "os": "os.distribution",
    "wsl": "wsl.version",
    "container": "container.kind",
    "platform": "os.platform",
}


def nearest(path: str) -> str:
    """Return the known path or short name most like `path`, or an empty text."""
    import difflib  # noqa: PLC0415 - only for a mistyped name

    close = difflib.get_close_matches(path, [*SHORT_NAMES, *FACTS], n=1)
    return close[0] if close else ""
