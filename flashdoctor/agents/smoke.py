"""Agent: runs attention on the GPU, case by case, and says which kernels ran and how right it is.

Any case can hang or take the process down, so each is announced before it begins and its result
is emitted as soon as it ends. Options: `cases`, `seed` (else random; the `start` event has it),
`quick` (fewer repeats, no inference). The cases run in the order given.

Events: `start`, then `begin` and `result` for each case, then `end`. A process that must not go on
(the GPU's context is lost, or torch cannot take back what was activated) ends without an `end`;
its last result has `fatal`, or `last` after what a process can start only once. Where torch does
not import or CUDA does not start, `start` has `error` and `status`, and each result repeats them.

A result: `status` (ran, refused, wrong, error, missing, cpu), `kernels` (longest time first),
`profiler` ("ok", or why no kernel can be named), `relative_error` of the worst output and
`relative_errors` of each (null: not finite), `max_abs_error`, `heads_compared` [of, all], `ms`
(median of one call, backward with its forward), `peak_mib` (torch's, inputs included), `messages`
(errors, then refusals, then warnings), `can_use` and `refusals` (what SDPA's backends say), `got`
(what was imported, or activated), `inferred` (without a profiler: time and memory at N and 2N),
`spent_s` by phase.

A case: `name`, `api`, `backend`, `shape` {batch, q_len, kv_len, heads, kv_heads, head_dim}, `dtype`
(bf16, fp16, fp32), `causal`, `mask` (null, "bool", "float"), `direction` (forward, backward),
`features`. What there is:

    api         backend                                     features
    sdpa        default flash cudnn mem-efficient math      (GQA where kv_heads differs, decode
                fa3 fa4 (torch's flash backend replaced)     where q_len is 1)
    flex        default                                     (always compiled)
    flash-attn  default                                     varlen | kvcache, paged, split-kv
    fa3         default                                     varlen | kvcache, paged, split-kv
    fa4         default                                     varlen | kvcache, paged, split-kv
    vllm_flash_attn  fa2 fa3 fa4                            varlen | paged
    vllm        (vLLM's name of one, or none)
    transformers  default, an attn_implementation, org/name padding
    flashinfer  prefill decode
    xformers    memory_efficient_attention cutlass flash

Other parts add to it: `PREPARE` maps an api to a function that gives (problem, call), which are
then checked, profiled and timed here; `RUN` to one that does all of that and fills the result.
"""

from __future__ import annotations

import importlib
import time
import warnings

_MOST_MESSAGES = 20
_LONGEST_MESSAGE = 500
_REFUSALS = (RuntimeError, ValueError, NotImplementedError, AssertionError)
_FAULTS = (
    "CUDA error", "CUDA driver error", "out of memory", "cuDNN error", "cuDNN Frontend error",
    "CUDNN_STATUS", "CUBLAS_STATUS", "CUDNN_BACKEND", "device-side assert", "Triton Error",
    "INTERNAL ASSERT", "undefined symbol",
)  # fmt: skip
_LACKING = ("This flash attention build does not support", "was built with backward disabled")
_UNKNOWN_CALL = ("unexpected keyword argument", "required positional argument")
_COMPILERS = {"_dynamo", "_inductor", "triton", "cutlass"}
_CPU_LENGTH, _CPU_HEADS = 64, 4


def main(parts: object, options: dict, emit: object) -> None:
    """Run the cases; a torch that does not import, or CUDA that does not start, is their result."""
    parts.live.crash_quietly()
    watch = parts.smoke_measure.Stopwatch()
    bench, start = start_torch(parts, options, watch)
    emit(dict({"agent": "smoke", "event": "start"}, **start))
    for case in options.get("cases", ()):
        emit({"agent": "smoke", "event": "begin", "name": case["name"]})
        began = time.monotonic()
        if bench is None:
            result = {"status": start["status"], "messages": [start["error"]]}
        else:
            result = run_case(parts, bench, case)
        result = dict({"agent": "smoke", "event": "result", "name": case["name"]}, **result)
        emit(dict(result, seconds=round(time.monotonic() - began, 4)))
        if result.get("fatal") or result.get("last"):
            return
    watch.lap("cases")
    emit({"agent": "smoke", "event": "end", "cases_s": watch.seconds["cases"]})


def start_torch(parts: object, options: dict, watch: object) -> tuple:
    """Return the bench, None where something does not start, and what the `start` event says."""
    words = parts.live.words
    start = {"torch": None, "device": None, "capability": None}
    try:
        torch = importlib.import_module("torch")
    except BaseException as error:  # an extension may raise SystemExit
        is_there = getattr(error, "name", None) != "torch"
        return None, dict(start, error=words(error), status="error" if is_there else "missing")
    watch.lap("import")
    start.update(torch=str(torch.__version__), device="cpu", import_s=watch.seconds["import"])
    device = "cpu"
    try:
        if torch.cuda.is_available():
            torch.zeros(1).cuda()
            torch.cuda.synchronize()
            device = "cuda"
            start["device"] = torch.cuda.get_device_name(0)
            start["capability"] = "%d.%d" % tuple(torch.cuda.get_device_capability(0))
    except BaseException as error:
        return None, dict(start, error=words(error), status="error")
    watch.lap("cuda")
    bench = parts.smoke_measure.Bench(torch, device, options)
    return bench, dict(start, cuda_s=watch.seconds["cuda"], seed=bench.seed)


def run_case(parts: object, bench: object, case: dict) -> dict:
    """Return a case's result: status, messages, and all that was measured before it failed."""
    result = {"status": "ran", "kernels": [], "profiler": bench.profiler}
    said = []  # type: list
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fill(parts, bench, case, result)
        except bench.MissingError as error:
            result["status"] = "missing"
            said.append(str(error))
        except (Exception, SystemExit) as error:
            result["status"] = status_of(error)
            said.append(parts.live.words(error))
            if is_lost(bench):
                result["fatal"] = True
    warned = warnings_of(caught)
    refusals = parts.smoke_sdpa.refusal_lines(result.get("refusals", {}))
    if refusals and any(refusals[0] in text for text in warned):
        refusals = []  # torch has said all of it
    result["messages"] = shortened([*said, *result.get("messages", ()), *refusals, *warned])
    return result


def fill(parts: object, bench: object, case: dict, result: dict) -> None:
    """Run a case into `result`."""
    runners, preparers = tables(parts, "RUN"), tables(parts, "PREPARE")
    if case["api"] in runners:
        runners[case["api"]](parts, bench, case, result)
    elif bench.device == "cpu":
        run_on_cpu(parts, bench, case, result)
    elif case["api"] in preparers:
        run_on_gpu(parts, bench, case, preparers[case["api"]], result)
    else:
        raise bench.MissingError("flashdoctor has no cases for %s" % case["api"])


def tables(parts: object, name: str) -> dict:
    """Return the functions of all parts by api."""
    found = {}  # type: dict
    for part in vars(parts).values():
        found.update(getattr(part, name, {}))
    return found


def run_on_cpu(parts: object, bench: object, case: dict, result: dict) -> None:
    """Prove the code path without a GPU where torch has one, on a small part of the shape."""
    result["status"] = "cpu"
    if case["api"] != "sdpa" or case.get("backend", "default") not in ("default", "math"):
        return
    shape = parts.smoke_problem.Shape(case["shape"])
    group = max(shape.heads // shape.kv_heads, 1)
    heads = max(min(shape.heads, _CPU_HEADS) // group, 1) * group
    small = {
        "batch": 1, "heads": heads, "kv_heads": heads // group, "head_dim": shape.head_dim,
        "q_len": min(shape.q_len, _CPU_LENGTH), "kv_len": min(shape.kv_len, _CPU_LENGTH),
    }  # fmt: skip
    problem, call = parts.smoke_sdpa.prepare_sdpa(parts, bench, dict(case, shape=small), result)
    note(parts, problem, problem.run(call), result)
    if result["status"] == "wrong":
        result["status"] = "cpu"


def run_on_gpu(parts: object, bench: object, case: dict, prepare: object, result: dict) -> None:
    """Check, profile and time what `prepare` gives."""
    measure = parts.smoke_measure
    watch = measure.Stopwatch()
    problem, call = prepare(parts, bench, case, result)
    bench.synchronize()
    watch.lap("prepare")
    try:
        measure.poison(bench, poisoned(problem))
        watch.lap("poison")
        outputs = problem.run(call)
        bench.synchronize()
        watch.lap("first")
        note(parts, problem, outputs, result)
        del outputs
        watch.lap("check")
        kernels, profiler = measure.profile(bench, lambda: problem.run(call))
        result.update(kernels=kernels, profiler=profiler)
        watch.lap("profile")
        result["ms"], result["peak_mib"] = measure.time_and_peak(bench, lambda: problem.run(call))
        watch.lap("time")
    finally:
        problem.finish()
        result["spent_s"] = watch.seconds
    if profiler != "ok" and not bench.quick and problem.shape.q_len > 1:
        result["inferred"] = infer(parts, bench, case, prepare)


def poisoned(problem: object) -> list:
    """Return (count, dtype) of the tensors that a run makes."""
    sizes = [(problem.q.numel(), problem.q.dtype)]
    if problem.backward:
        sizes += [(problem.k.numel(), problem.k.dtype)] * 2
    return sizes


def note(parts: object, problem: object, outputs: dict, result: dict) -> None:
    """Compare with the reference; note how far off the worst output is, and what is wrong."""
    compared = parts.smoke_problem.compare(problem, outputs)
    faults = compared.faults(problem)
    numbers = [value for value in compared.relative.values() if value is not None]
    result["relative_error"] = max(numbers) if len(numbers) == len(outputs) else None
    result["relative_errors"] = compared.relative
    result["max_abs_error"] = compared.max_abs
    result["heads_compared"] = list(compared.heads)
    if faults:
        result["status"] = "wrong"
        result["messages"] = faults


def infer(parts: object, bench: object, case: dict, prepare: object) -> dict:
    """Return what time and memory at two lengths suggest."""

    def make(length: int) -> tuple:
        shape = dict(case["shape"], batch=1, q_len=length, kv_len=length)
        problem, call = prepare(parts, bench, dict(case, shape=shape), {})
        return lambda: problem.run(call), problem.finish

    return parts.smoke_measure.infer(bench, make)


def status_of(error: BaseException) -> str:
    """Tell a refusal, which leaves all as it was, from what broke, and from what is not built in.

    flash-attn 2 and 3 can be built without backward, varlen, pages and more.
    """
    text = str(error)
    makers = set(type(error).__module__.split("."))
    is_fault = any(fault in text for fault in _FAULTS) or makers & _COMPILERS
    if isinstance(error, TypeError) and any(words in text for words in _UNKNOWN_CALL):
        return "missing"
    if any(words in text for words in _LACKING):
        return "missing"
    return "refused" if isinstance(error, _REFUSALS) and not is_fault else "error"


def is_lost(bench: object) -> bool:
    """Whether the GPU takes nothing more from this process."""
    try:
        bench.synchronize()
    except Exception:
        return True
    return False


def warnings_of(caught: list) -> list:
    """Return the texts of warnings that are meant for users, each once."""
    ignored = (DeprecationWarning, PendingDeprecationWarning, ResourceWarning, ImportWarning)
    texts = [str(item.message) for item in caught if not issubclass(item.category, ignored)]
    return list(dict.fromkeys(texts))


def shortened(texts: list) -> list:
    """Return the first texts, none too long."""
    stripped = [text.strip()[:_LONGEST_MESSAGE] for text in texts]
    return [text for text in stripped if text][:_MOST_MESSAGES]
