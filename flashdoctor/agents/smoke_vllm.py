"""Agent part: vLLM's bundled flash-attn, and a two-layer vLLM engine with dummy weights.

The engine runs in this process, so that the profiler sees its kernels. It says in its log which
attention backend it chose, and at the debug level why it passed over the others.
"""

from __future__ import annotations

import gc
import inspect
import logging
import math
import os
import re
import tempfile

_PAGES = {4: 128}
_PAGE = 16
_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CONFIGURE_LOGGING": "0",
    "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
}  # fmt: skip
# Before vLLM 0.13 the environment was the only way; now it is warned of.
_BEFORE_ARGUMENTS = (
    ("attention_backend", "backend", "VLLM_ATTENTION_BACKEND"),
    ("attention_config", "fa_version", "VLLM_FLASH_ATTN_VERSION"),
)
_GIB = 1 << 30
_KV_CACHE = _GIB // 4
_MOST_MEMORY = 4 * _GIB
_PART_OF_FREE = 0.8
_NEW_TOKENS = 4
_PROMPT = 200
_BACKEND_LINES = (
    re.compile(r"Using (?:AttentionBackendEnum\.)?(\S+) attention backend out of"),
    re.compile(r"Using (?:AttentionBackendEnum\.)?([A-Z0-9_]+) backend\."),
    re.compile(r"Using (\S+(?: Attention)?) backend(?: on V1 engine)?"),
)
_VERSION_LINE = re.compile(r"Using FlashAttention version (\d)")
_CANDIDATES = re.compile(r"out of potential backends: [\[(](.*)[\])]")
_REASONS = re.compile(r"Reasons?: \{(.*)\}", re.DOTALL)
_REASON = re.compile(r"([A-Z][A-Z0-9_]+): \[([^\]]*)\]")
_SELECTED = re.compile(
    r"Selected backend (?:AttentionBackendEnum\.)?(\w+) is not valid for .*?Reasons?: \[(.*)\]"
)
_WORTH_TELLING = re.compile(
    r"attention backend|backends? (?:is|are) not valid|using \S+(?: attention)? backend|"
    r"flash-?attention|\bFA version|FA[234]\b",
    re.IGNORECASE,
)


def prepare_bundled(parts: object, bench: object, case: dict, result: dict) -> tuple:
    """Return (problem, call) of `flash_attn_varlen_func` with `backend` fa2, fa3 or fa4.

    Packed sequences, or with the feature `paged` queries against a cache through a block table.
    """
    prepare_environment()
    vllm_flash_attn = bench.import_module("vllm" + ".vllm_flash_attn")
    version = int(case["backend"][-1])
    result["asked"] = result["got"] = {"fa_version": version}
    function = bench.attribute(vllm_flash_attn, "flash_attn_varlen_func")
    accepted = inspect.signature(function).parameters
    refuse_version(bench, vllm_flash_attn, version, accepted)
    layout = paged_layout if "paged" in (case.get("features") or ()) else packed_layout
    problem, pages, keywords = layout(parts, bench, case, version)
    if "seqused_k" not in accepted and "seqused_k" in keywords:
        keywords["cu_seqlens_k"] = offsets(parts, bench, problem.lengths)
    keywords.update(causal=problem.causal, fa_version=version)
    keywords = {key: value for key, value in keywords.items() if key in accepted}

    def call(q: object, k: object, v: object) -> object:
        keys, values = pages or (k, v)
        flat = q.reshape(-1, *q.shape[-2:])
        return parts.smoke_flash.output(function(flat, keys, values, **keywords)).reshape(q.shape)

    return problem, call


def refuse_version(bench: object, module: object, version: int, accepted: object) -> None:
    """Raise what vLLM itself says of a version that this GPU or this build does not have."""
    if "fa_version" not in accepted and version > 2:  # noqa: PLR2004 - flash-attn 2, as named
        raise bench.MissingError("this vLLM bundles flash-attn 2 alone")
    supported = getattr(module, "is_fa_version_supported", None)
    if supported is None or supported(version):
        return
    reason = getattr(module, "fa_version_unsupported_reason", lambda _version: None)(version)
    raise NotImplementedError(reason or "vLLM says that FA%d is not supported here" % version)


def packed_layout(parts: object, bench: object, case: dict, version: int) -> tuple:
    """Return a problem of packed sequences, no pages, and the keywords for it."""
    del version
    problem = parts.smoke_problem.packed(bench, case)
    ends, longest = offsets(parts, bench, problem.lengths), max(problem.lengths)
    keywords = {"max_seqlen_q": longest, "cu_seqlens_q": ends,
                "max_seqlen_k": longest, "cu_seqlens_k": ends}  # fmt: skip
    return problem, None, keywords


def paged_layout(parts: object, bench: object, case: dict, version: int) -> tuple:
    """Return a problem with a cache, the cache in shuffled pages, and the keywords for it."""
    problem = parts.smoke_problem.cached(bench, case)
    k, v, table = parts.smoke_flash.paged(problem, _PAGES.get(version, _PAGE))
    shape = problem.shape
    return (
        problem,
        (k, v),
        {
            "max_seqlen_q": shape.q_len,
            "cu_seqlens_q": offsets(parts, bench, [shape.q_len] * shape.batch),
            "max_seqlen_k": max(problem.lengths),
            "seqused_k": parts.smoke_flash.integers(bench, problem.lengths),
            "block_table": table,
        },
    )


def offsets(parts: object, bench: object, lengths: list) -> object:
    """Return the int32 offsets at which packed sequences begin and end."""
    ends = [sum(lengths[:number]) for number in range(len(lengths) + 1)]
    return parts.smoke_flash.integers(bench, ends)


def run_engine(parts: object, bench: object, case: dict, result: dict) -> None:
    """Start an engine, let it prefill and decode; no other can be started in this process.

    `backend` asks for an attention backend by vLLM's name; `kv_cache_dtype` and `fa_version` are
    passed on where the case has them.
    """
    asked = {key: case.get(key) for key in ("backend", "kv_cache_dtype", "fa_version")}
    result["asked"] = {key: value for key, value in asked.items() if value}
    result["got"] = {}
    prepare_environment()
    if bench.device == "cpu":
        result.update(status="cpu", messages=["no GPU: vLLM's engine was not started"])
        return
    bench.import_module("vllm")
    result["last"] = True
    listener = parts.smoke_transformers.Listener("vllm", logging.DEBUG)
    try:
        with overheard(listener), tempfile.TemporaryDirectory() as folder:
            start_and_run(parts, bench, case, folder, result)
    except Exception as error:
        result["got"].update(parse_choice(str(error).splitlines()))
        raise
    finally:
        result["got"] = {**parse_choice(listener.lines), **result["got"]}
        told = [line for line in listener.lines if _WORTH_TELLING.search(line)]
        result["messages"] = [*result.get("messages", ()), *told]


def prepare_environment() -> None:
    """Set what vLLM reads from the environment when it is imported."""
    os.environ.update(_ENVIRONMENT)
    os.environ.pop("VLLM_LOGGING_CONFIG_PATH", None)


class overheard:  # noqa: N801 - used as a function in a with statement
    """Let a listener hear all that vLLM logs, without a line of it on standard error."""

    def __init__(self, listener: object) -> None:
        self._listener = listener
        self._logger = logging.getLogger("vllm")

    def __enter__(self) -> None:
        """Listen."""
        self._before = self._logger.level, self._logger.propagate
        self._logger.setLevel(logging.DEBUG)
        self._logger.propagate = False
        self._logger.addHandler(self._listener)

    def __exit__(self, *details: object) -> None:
        """Leave the logger as it was."""
        self._logger.removeHandler(self._listener)
        self._logger.setLevel(self._before[0])
        self._logger.propagate = self._before[1]


def start_and_run(parts: object, bench: object, case: dict, folder: str, result: dict) -> None:
    """Start the engine, let it generate once for warming up and once under the profiler."""
    import vllm

    result["got"]["version"] = getattr(vllm, "__version__", None)
    write_model(parts, bench, case, folder, result)
    bench.torch.cuda.empty_cache()
    bench.torch.cuda.reset_peak_memory_stats()
    llm = vllm.LLM(**engine_arguments(vllm, bench, case, folder))
    result["got"].update(attention_layers())
    sampling = vllm.SamplingParams(
        max_tokens=_NEW_TOKENS, temperature=0.0, ignore_eos=True, detokenize=False, logprobs=1
    )
    prompts = random_prompts(bench, case)
    outputs = []  # type: list

    def call() -> None:
        outputs[:] = llm.generate(prompts, sampling, use_tqdm=False)

    call()
    result["kernels"], result["profiler"] = parts.smoke_measure.profile(bench, call)
    peak = bench.torch.cuda.max_memory_allocated() / (1 << 20)
    wrong = faults(outputs)
    result.update(peak_mib=round(peak, 1), messages=wrong, status="wrong" if wrong else "ran")


def write_model(parts: object, bench: object, case: dict, folder: str, result: dict) -> None:
    """Write the config of a small Llama, or that of `model_dir` cut to two layers."""
    config, options = parts.smoke_config, bench.options
    if options.get("model_dir"):
        raw, result["got"]["cut"] = config.cut(config.read(options["model_dir"]))
        if options.get("trust_remote_code"):
            config.copy_code(options["model_dir"], folder)
    else:
        raw = config.llama(case["shape"], parts.smoke_problem.DTYPES[case["dtype"]])
    config.write(folder, raw)


def engine_arguments(vllm: object, bench: object, case: dict, folder: str) -> dict:
    """Return the arguments of `LLM` that this version knows: small, eager, nothing cached."""
    length = _PROMPT + _NEW_TOKENS + 52
    arguments = {
        "model": folder, "load_format": "dummy", "skip_tokenizer_init": True, "seed": 0,
        "enforce_eager": True, "max_model_len": length, "max_num_seqs": 4,
        "max_num_batched_tokens": 4 * length, "enable_prefix_caching": False,
        "gpu_memory_utilization": share_of_memory(bench), "kv_cache_memory_bytes": _KV_CACHE,
        "dtype": {"bf16": "bfloat16", "fp16": "float16"}.get(case.get("dtype"), "auto"),
        "trust_remote_code": bool(bench.options.get("trust_remote_code")),
        "attention_backend": case.get("backend") or None,
        "kv_cache_dtype": case.get("kv_cache_dtype"),
    }  # fmt: skip
    if case.get("fa_version"):
        arguments["attention_config"] = {"flash_attn_version": int(case["fa_version"])}
    known = inspect.signature(vllm.EngineArgs).parameters
    for argument, key, variable in _BEFORE_ARGUMENTS:
        if argument not in known and case.get(key):
            os.environ[variable] = str(case[key])
    return {key: value for key, value in arguments.items() if key in known and value is not None}


def share_of_memory(bench: object) -> float:
    """Return `gpu_memory_utilization` for 4 GiB, or less where less is free."""
    free, total = bench.torch.cuda.mem_get_info()
    return round(min(_MOST_MEMORY, _PART_OF_FREE * free) / total, 4)


def random_prompts(bench: object, case: dict) -> list:
    """Return prompts of several lengths as token numbers."""
    lengths = [_PROMPT, _PROMPT // 2 + 3, _PROMPT // 4 + 1]
    options = {"generator": bench.generator(case["name"]), "device": bench.device}
    return [
        {"prompt_token_ids": bench.torch.randint(3, 1000, (length,), **options).tolist()}
        for length in lengths
    ]


def faults(outputs: list) -> list:
    """Return what is wrong with generated tokens: too few, or probabilities that are no numbers."""
    found = []
    for output in outputs:
        sequence = output.outputs[0]
        if len(sequence.token_ids) != _NEW_TOKENS:
            found.append("%d tokens instead of %d" % (len(sequence.token_ids), _NEW_TOKENS))
        likely = sequence.cumulative_logprob
        if likely is not None and not math.isfinite(likely):
            found.append("the probabilities of the tokens are not finite")
    return found or ([] if outputs else ["the engine returned nothing"])


def attention_layers() -> dict:
    """Return the classes that stand behind the engine's attention layers, and the FA version.

    The layers are searched among all objects: the way to them differs with every version.
    """
    gc.unfreeze()  # vLLM hides from the collector what lives as long as the engine
    got = {}  # type: dict
    for item in gc.get_objects():
        kind = type(item)
        if kind.__name__ != "Attention" or not kind.__module__.startswith("vllm."):
            continue
        implementation = getattr(item, "impl", None)
        got["implementation"] = type(implementation).__name__
        version = getattr(implementation, "vllm_flash_attn_version", None)
        if version is not None:
            got["fa_version"] = version
    return got


def parse_choice(lines: list) -> dict:
    """Return backend, fa_version, candidates and rejections that vLLM's log states."""
    got = {}  # type: dict
    for line in lines:
        version = _VERSION_LINE.search(line)
        if version:
            got["fa_version"] = int(version.group(1))
            continue
        chosen = next((m for m in (row.search(line) for row in _BACKEND_LINES) if m), None)
        if chosen and "backend" not in got:
            got["backend"] = chosen.group(1)
        candidates = _CANDIDATES.search(line)
        if candidates:
            got["candidates"] = re.findall(r"[A-Z][A-Z0-9_]+", candidates.group(1))
        rejected = parse_rejections(line)
        if rejected:
            got["rejections"] = {**got.get("rejections", {}), **rejected}
    return got


def parse_rejections(line: str) -> dict:
    """Return {backend: [reasons]} of a line like `... Reasons: {FLASHINFER: [ImportError]}`."""
    selected = _SELECTED.search(line)
    if selected:
        return {selected.group(1): re.findall("'([^']*)'", selected.group(2))}
    reasons = _REASONS.search(line)
    found = _REASON.findall(reasons.group(1)) if reasons else ()
    return {name: inside.split(", ") for name, inside in found}


PREPARE = {"vllm_flash_attn": prepare_bundled}
RUN = {"vllm": run_engine}
