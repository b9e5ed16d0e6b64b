"""What people write in front of a colon, and how that is read which follows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from flashdoctor.logs.items import (
    GLIBC,
    Item,
    bare_capability_items,
    compiler_items,
    cuda_items,
    cuda_reader,
    driver_items,
    gpu_items,
    memory_items,
    model_items,
    os_items,
    plain_reader,
    python_items,
    system_items,
    torch_items,
    value_reader,
)

_GPU_LABELS = (
    "gpu", "gpus", "gpu model", "gpu models", "gpu name", "gpu type", "gpu(s)", "graphics card",
    "video card", "graphics", "card", "nvidia gpu", "device", "device name", "hardware",
    "accelerator", "gpu info", "gpu model(s)", "gpu(s) used", "gpu device",
)  # fmt: skip
_DRIVER_LABELS = (
    "driver", "driver version", "nvidia driver", "nvidia driver version", "gpu driver",
    "gpu driver version", "nvidia drivers", "nvidia-driver", "cuda driver", "cuda driver version",
    "nvidia-smi driver", "host driver", "nvidia-smi driver version", "nvidia gpu driver",
)  # fmt: skip
_OS_LABELS = (
    "os", "os version", "operating system", "distro", "distribution", "platform", "system",
    "linux distribution", "os platform", "os platform and distribution", "linux",
    "host os", "os/distro", "container os", "os / platform",
)  # fmt: skip
_DRIVER_CUDA = ("nvidia-smi cuda version", "nvidia-smi reports cuda version", "nvidia-smi cuda",
                "cuda version (nvidia-smi)", "cuda (nvidia-smi)", "cuda version from nvidia-smi",
                "driver cuda version", "cuda driver api", "nvidia-smi shows cuda version",
                "max cuda version", "driver cuda", "cuda umd version")  # fmt: skip
_TORCH_CUDA = ("torch.version.cuda", "torch cuda", "torch cuda version", "torch cuda build",
               "pytorch cuda", "pytorch cuda version", "cuda (torch)", "cuda version (torch)",
               "cuda used by torch", "cuda used by pytorch", "torch build", "pytorch build",
               "torch built with cuda", "pytorch built with cuda", "torch compiled with cuda",
               "cuda (pytorch)", "cuda version (pytorch)", "torch's cuda")  # fmt: skip
_TOOLKIT = ("cuda toolkit", "cuda toolkit version", "nvcc", "nvcc version", "cuda (nvcc)",
            "cuda version (nvcc)", "system cuda", "system cuda version", "local cuda",
            "cuda compiler", "cuda toolkit (nvcc)", "nvcc --version")  # fmt: skip

LABELS: Mapping[str, Callable[[str], Iterator[Item]]] = {
    **dict.fromkeys(_GPU_LABELS, gpu_items),
    **dict.fromkeys(_DRIVER_LABELS, driver_items),
    **dict.fromkeys(_OS_LABELS, system_items),
    **dict.fromkeys(_DRIVER_CUDA, cuda_reader("driver.cuda")),
    **dict.fromkeys(_TORCH_CUDA, cuda_reader("torch.cuda")),
    **dict.fromkeys(_TOOLKIT, cuda_reader("toolkit.version")),
    **dict.fromkeys(("cuda", "cuda version", "cuda runtime",
                     "cuda/cudnn version", "cuda / cudnn", "cuda/cudnn"), cuda_items),
    **dict.fromkeys(("torch", "pytorch", "torch version", "pytorch version", "torch.__version__",
                     "pytorch / cuda", "torch / cuda"), torch_items),
    **dict.fromkeys(("python", "python version", "python ver", "python3"), python_items),
    **dict.fromkeys(("compute capability", "cuda compute capability", "compute cap", "sm",
                     "sm version", "cuda capability", "gpu compute capability", "gpu arch",
                     "cuda arch",
                     "gpu architecture", "compute_cap", "cc"), bare_capability_items),
    **dict.fromkeys(("gcc", "gcc version", "g++", "compiler", "c++ compiler", "gcc/g++"),
                    compiler_items),
    **dict.fromkeys(("glibc", "glibc version", "libc", "libc version"),
                    plain_reader("os.glibc", GLIBC)),
    **dict.fromkeys(("vram", "gpu memory", "gpu ram", "gpu vram"), memory_items),
    **dict.fromkeys(("model", "model name", "model id", "model path", "llm"), model_items),
    **dict.fromkeys(("architecture", "arch", "cpu architecture", "cpu arch", "machine"), os_items),
    **dict.fromkeys(("wsl", "wsl version"), lambda text: os_items(f"WSL{text[:1]}")),
    **dict.fromkeys(("number of gpus", "num gpus", "gpu count", "# gpus", "#gpus", "gpus count"),
                    value_reader("gpu.count")),
    **dict.fromkeys(("torch.cuda.is_available", "cuda available", "is cuda available"),
                    value_reader("live.cuda_available")),
    **dict.fromkeys(("cxx11 abi", "_glibcxx_use_cxx11_abi", "torch cxx11 abi", "cxx11abi"),
                    value_reader("torch.cxx11_abi")),
}  # fmt: skip
"""What may stand in front of a colon, in lower case, and how that is read which follows."""

SPEAKING = frozenset(
    {"environment", "env", "my environment", "my env", "setup", "my setup", "system info", "specs",
     "spec", "config", "configuration", "versions", "software", "tested on", "running on",
     "machine info", "hardware/software", "platform info", "stack", "environment info", "host",
     "server", "node", "instance", "vm", "workstation", "desktop", "laptop"}
)  # fmt: skip
"""Labels of lists that name everything themselves."""
