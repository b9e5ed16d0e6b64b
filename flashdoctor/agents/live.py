"""Agent: imports torch, starts CUDA, runs one kernel, then imports extensions one by one.

Any of that can hang or take the process down. So each step is announced before it begins and its
facts are emitted as soon as it ends: what was learned before a crash stays learned, and the name
of the step that died is known. Options: `facts` (false: import torch only, for a child that goes
on behind a crash), `smoke` (the smoke agent's options: where the kernel ran, its cases run before
the imports, so that torch starts once for both; each of its events comes as a `smoke` step's), and
`imports`, a list of {"module": name, "file": path or null}.
"""

from __future__ import annotations

import importlib
import re

_MAPPED = re.compile(
    r"lib(?:cuda|cudart|cublas|cublasLt|cudnn\w*|nccl|nvrtc|cusparse|cusparseLt|cusolver|cufft|"
    r"curand|nvJitLink|nvshmem\w*|cupti|torch\w*|c10\w*|stdc\+\+|gomp)(?:[-.][\w.-]*)?\.so[\w.]*$"
)
_SIZE = 64
_MAPS_FIELDS = 6
_CUDNN_9 = 90000


def main(parts: object, options: dict, emit: object) -> None:
    """Run the steps; a torch that does not import ends them."""
    crash_quietly()
    begin(emit, "torch")
    try:
        torch = importlib.import_module("torch")
    except BaseException as error:  # an extension may raise SystemExit
        emit_facts(emit, [known("live.status", "error"), known("live.error", words(error))])
        emit({"agent": "live", "step": "end"})
        return
    ran = report_torch(torch, emit) if options.get("facts", True) else False
    if ran and options.get("smoke") and not run_cases(parts, options["smoke"], emit):
        return  # this process must not go on
    for item in options.get("imports", ()):
        report_import(torch, item, emit)
    emit({"agent": "live", "step": "end"})


def crash_quietly() -> None:
    """Keep a crash from leaving a core file in the working directory, on Windows from a dialog.

    A dialog (of a crash, or of a DLL that is not found) waits for somebody to click it away.
    """
    try:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    except (ImportError, OSError, ValueError):
        pass
    try:
        import msvcrt

        msvcrt.SetErrorMode(msvcrt.SEM_FAILCRITICALERRORS | msvcrt.SEM_NOGPFAULTERRORBOX)
    except (ImportError, AttributeError):
        pass


def begin(emit: object, step: str) -> None:
    """Announce a step."""
    emit({"agent": "live", "step": "begin", "name": step})


def emit_facts(emit: object, facts: list) -> None:
    """Emit facts of a step that has ended."""
    emit({"agent": "live", "step": "facts", "facts": facts})


def known(path: str, value: object) -> dict:
    """Return a known fact."""
    return {"path": path, "state": "known", "value": value, "source": "import of torch"}


def unknown(path: str, reason: str) -> dict:
    """Return a fact that could not be established."""
    return {"path": path, "state": "unknown", "value": None, "source": "import of torch",
            "reason": reason}  # fmt: skip


def words(error: BaseException) -> str:
    """Return an exception as the last line of its traceback reads."""
    text = " ".join(str(error).split())
    return "%s: %s" % (type(error).__name__, text) if text else type(error).__name__


def attempt(path: str, step: object) -> dict:
    """Return what a step gives as a fact, unknown with its error where it raises."""
    try:
        value = step()
    except Exception as error:
        return unknown(path, words(error))
    return known(path, value) if value is not None else unknown(path, "torch does not say")


def report_torch(torch: object, emit: object) -> bool:
    """Report version and devices, start CUDA, run the kernel, list the libraries.

    Return whether the kernel ran.
    """
    emit_facts(emit, [attempt("live.torch_version", lambda: str(torch.__version__))])
    begin(emit, "cuda")
    available = attempt("live.cuda_available", lambda: bool(torch.cuda.is_available()))
    facts = [available, attempt("live.device_count", lambda: int(torch.cuda.device_count()))]
    error = start_error(torch)
    facts.append(known("live.status", "error" if error else "ok"))
    if error:
        facts.append(known("live.error", error))
    emit_facts(emit, facts)
    ran = bool(available["value"]) and not error and report_device(torch, emit)
    emit_facts(emit, [attempt("live.libraries", mapped_libraries)])
    return ran


def start_error(torch: object) -> str | None:
    """Return what CUDA's start says; None where it starts or this torch is built without CUDA."""
    try:
        if torch.version.cuda is None:
            return None
        torch.cuda.init()
    except BaseException as error:
        return words(error)
    return None


def report_device(torch: object, emit: object) -> bool:
    """Report the first device, cuDNN and whether a kernel of torch runs on it; return that."""
    cuda = torch.cuda
    emit_facts(emit, [
        attempt("live.capability", lambda: "%d.%d" % tuple(cuda.get_device_capability(0))),
        attempt("live.arch_list", lambda: list(cuda.get_arch_list())),
        attempt("live.cudnn", lambda: cudnn_text(torch.backends.cudnn.version())),
    ])  # fmt: skip
    begin(emit, "kernel")
    try:
        wrong = kernel_is_wrong(torch)
        said = "its result differs from the CPU's" if wrong else None
    except BaseException as error:
        said = words(error)
    facts = [known("live.kernel_error", said)] if said else []
    emit_facts(emit, [known("live.kernel_ran", not said), *facts])
    return not said


def run_cases(parts: object, options: dict, emit: object) -> bool:
    """Run the smoke agent in here; return whether the process may go on behind it."""
    begin(emit, "smoke")
    kinds = []  # type: list

    def pass_on(event: dict) -> None:
        kinds.append(event["event"])
        emit({"agent": "live", "step": "smoke", "event": event})

    parts.smoke.main(parts, options, pass_on)
    return kinds[-1] == "end"


def kernel_is_wrong(torch: object) -> bool:
    """Run an addition and a product on the GPU; small whole numbers are exact even in TF32."""
    left = (torch.arange(_SIZE * _SIZE, dtype=torch.float32) % 7).reshape(_SIZE, _SIZE)
    wanted = (left + 1) @ left
    on_gpu = left.to("cuda")
    result = (on_gpu + 1) @ on_gpu
    torch.cuda.synchronize()
    return not bool(torch.equal(result.cpu(), wanted))


def cudnn_text(number: int | None) -> str | None:
    """Return `9.10.2` for 91002 and `8.9.2` for 8902, as cudnn.h counts before and since 9."""
    if not number:
        return None
    unit = 10000 if number >= _CUDNN_9 else 1000
    return "%d.%d.%d" % (number // unit, number % unit // 100, number % 100)


def mapped_libraries() -> list:
    """Return the CUDA and C++ libraries that are mapped into this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - pathlib would be loaded before torch is
        return parse_maps(file.read())


def parse_maps(text: str) -> list:
    """Return the paths of interest in a /proc/PID/maps text, sorted."""
    fields = [line.split(None, _MAPS_FIELDS - 1) for line in text.splitlines()]
    paths = {field[-1].strip() for field in fields if len(field) == _MAPS_FIELDS}
    return sorted(path for path in paths if _MAPPED.search(path.rpartition("/")[2]))


def report_import(torch: object, item: dict, emit: object) -> None:
    """Import one module, or load one extension file without the package around it."""
    begin(emit, item["module"])
    try:
        if item.get("file"):
            torch.ops.load_library(item["file"])
        else:
            importlib.import_module(item["module"])
    except BaseException as error:
        record = {"module": item["module"], "status": "error", "error": words(error)}
    else:
        record = {"module": item["module"], "status": "ok"}
    emit({"agent": "live", "step": "import", "record": record})
