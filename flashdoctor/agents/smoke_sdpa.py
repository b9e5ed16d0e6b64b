"""Agent part: torch's own attention, SDPA with its backends and compiled flex_attention."""

from __future__ import annotations

import contextlib
import os
import re
import warnings

_NAMES = {
    "flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "mem-efficient": "EFFICIENT_ATTENTION",
    "math": "MATH",
}  # fmt: skip
_OLD_NAMES = {"flash": "enable_flash", "mem-efficient": "enable_mem_efficient",
              "math": "enable_math"}  # fmt: skip
_QUESTIONS = {"flash": "can_use_flash_attention", "cudnn": "can_use_cudnn_attention",
              "mem-efficient": "can_use_efficient_attention"}  # fmt: skip
_BLOCKS = {
    "flash": "Flash attention kernel not used because:",
    "cudnn": "cuDNN attention kernel not used because:",
    "mem-efficient": "Memory efficient kernel not used because:",
}
_WARNING = re.compile(r"^\[W[^\]\n]*\] Warning: (.*?)(?: \(function [^\n]*\))?$", re.MULTILINE)
_ACTIVATED = {"fa3": ("FA3", "flash_attn_interface"), "fa4": ("FA4", "flash_attn.cute.interface")}


def prepare_sdpa(parts: object, bench: object, case: dict, result: dict) -> tuple:
    """Return the problem, and the call on one backend or on what torch picks."""
    torch = bench.torch
    attend = bench.attribute(torch.nn.functional, "scaled_dot_product_attention")
    problem = parts.smoke_problem.dense(bench, case)
    problem.last_row = False  # torch aligns is_causal at the first query and the first key
    options = {"attn_mask": problem.mask, "is_causal": problem.causal}
    if problem.shape.heads != problem.shape.kv_heads:
        need_gqa(bench)
        options["enable_gqa"] = True
    backend = case.get("backend", "default")
    if bench.device != "cpu":
        ask(parts, bench, problem, backend, result)
    within = activated(bench, problem, backend, result)

    def call(q: object, k: object, v: object) -> object:
        with within():
            out = attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), **options)
        return out.transpose(1, 2)

    return problem, call


def need_gqa(bench: object) -> None:
    """Raise MissingError where SDPA does not take fewer key heads (torch before 2.5)."""
    text = bench.torch.nn.functional.scaled_dot_product_attention.__doc__ or ""
    if "enable_gqa" not in text:
        raise bench.MissingError("SDPA of torch %s has no enable_gqa" % bench.torch.__version__)


def activated(bench: object, problem: object, backend: str, result: dict) -> object:
    """Return the context that leaves SDPA one backend.

    For `fa3` and `fa4` torch's flash backend is replaced first, until `problem.finish`. Where
    torch cannot take that back, `result` says that nothing else may run in this process.
    """
    if backend not in _ACTIVATED:
        return only(bench, backend)
    name, module = _ACTIVATED[backend]
    from torch.nn import attention

    activate = bench.attribute(attention, "activate_flash_attention_impl")
    result["got"] = {"offered": list(bench.attribute(attention, "list_flash_attention_impls")())}
    bench.import_module(module)
    within = only(bench, "flash")
    activate(name)
    if hasattr(attention, "current_flash_attention_impl"):
        result["got"]["active"] = attention.current_flash_attention_impl()
    if hasattr(attention, "restore_flash_attention_impl"):
        problem.finish = attention.restore_flash_attention_impl
    else:
        result["fatal"] = True
    return within


def only(bench: object, backend: str) -> object:
    """Return a function that gives the context for one backend; for "default" it does nothing."""
    if backend == "default":
        return contextlib.nullcontext
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:
        return only_of_old(bench, backend)
    chosen = bench.attribute(SDPBackend, _NAMES[backend])
    return lambda: sdpa_kernel([chosen])


def only_of_old(bench: object, backend: str) -> object:
    """Return the same by what torch had before 2.3."""
    kernel = bench.attribute(bench.torch.backends.cuda, "sdp_kernel")
    if backend not in _OLD_NAMES:
        text = "SDPA of torch %s has no backend %s"
        raise bench.MissingError(text % (bench.torch.__version__, backend))
    flags = {flag: name == backend for name, flag in _OLD_NAMES.items()}
    return lambda: kernel(**flags)


def ask(parts: object, bench: object, problem: object, backend: str, result: dict) -> None:
    """Note which fused backends say that they take this, and the reasons of those that do not.

    torch gives its reasons as C++ warnings, which reach Python in some versions only.
    """
    cuda = bench.torch.backends.cuda
    if not hasattr(cuda, "SDPAParams"):
        return
    arguments = parameters(cuda, problem)
    for name, function in _QUESTIONS.items():
        if backend in ("default", name) and hasattr(cuda, function):
            said = []  # type: list
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with parts.smoke_measure.captured_stderr(said):
                    answer = bool(getattr(cuda, function)(arguments, True))
            result.setdefault("can_use", {})[name] = answer
            if not answer:
                reasons = [*(str(item.message) for item in caught), *warnings_in("".join(said))]
                result.setdefault("refusals", {})[name] = reasons


def refusal_lines(refusals: dict) -> list:
    """Return refusals as torch itself prints them where no backend is left: a headline for each."""
    return [line for name, texts in refusals.items() if texts for line in (_BLOCKS[name], *texts)]


def warnings_in(said: str) -> list:
    """Return the texts of C++ warnings: `[W1130 15:41:35 x.cpp:9] Warning: TEXT (function F)`."""
    return [" ".join(text.split()) for text in _WARNING.findall(said)]


def parameters(cuda: object, problem: object) -> object:
    """Return SDPAParams, which take enable_gqa since torch 2.5."""
    tensors = [tensor.transpose(1, 2) for tensor in (problem.q, problem.k, problem.v)]
    grouped = problem.shape.heads != problem.shape.kv_heads
    values = (*tensors, problem.mask, 0.0, problem.causal)
    try:
        return cuda.SDPAParams(*values, grouped)
    except TypeError:
        return cuda.SDPAParams(*values)


def prepare_flex(parts: object, bench: object, case: dict, result: dict) -> tuple:
    """Return the problem, and the call of compiled flex_attention."""
    del result
    # One kernel is compiled; a pool of processes for that would only have to be started.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    try:
        from torch.nn.attention import flex_attention as flex
    except ImportError as error:
        raise bench.MissingError(str(error)) from error
    problem = parts.smoke_problem.dense(bench, case)
    shape, options = problem.shape, {}
    if shape.heads != shape.kv_heads:
        options["enable_gqa"] = True
    if problem.causal:
        past = shape.kv_len - shape.q_len
        options["block_mask"] = flex.create_block_mask(
            lambda _batch, _head, row, column: row + past >= column,
            None, None, shape.q_len, shape.kv_len, device=bench.device,
        )  # fmt: skip
    # Its patterns, which are made ready at the first use, match nothing in here.
    settings = {"pattern_matcher": False}
    compiled = bench.torch.compile(flex.flex_attention, dynamic=False, options=settings)

    def call(q: object, k: object, v: object) -> object:
        tensors = [tensor.transpose(1, 2) for tensor in (q, k, v)]
        return compiled(*tensors, **options).transpose(1, 2)

    return problem, call


PREPARE = {"sdpa": prepare_sdpa, "flex": prepare_flex}
