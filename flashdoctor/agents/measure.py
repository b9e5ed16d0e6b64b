"""Agent: starts a vLLM engine with given settings and runs a stated workload.

Options: `model`, a folder; `settings`, keywords of `vllm.LLM`; `workload`: {"requests",
"prompt_tokens", "output_tokens"}; `prompts`, texts to take in turn, else random tokens; `seed`;
`log`, a file that gets all that is printed. With random tokens the model needs no tokenizer, and
without weights in its folder they are random too: the time is the same.

Events: `begin`, `ready` with the seconds of the start, `result`, or `failed` with the error's words
and whether memory ran out. The engine runs as a server would run it, in a process of its own.
"""

from __future__ import annotations

import importlib
import json
import logging.config
import os
import pathlib
import random
import time

_ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "TOKENIZERS_PARALLELISM": "false",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
}  # fmt: skip
_OUT_OF_MEMORY = (
    "out of memory", "OutOfMemory", "No available memory", "is larger than the",
    "KV cache is needed", "less than desired GPU memory utilization",
)  # fmt: skip
_PROFILER = ".v1.worker.gpu_worker"  # in vllm
_WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")
_LOWEST_TOKEN, _HIGHEST_TOKEN = 10, 20000
_LONGEST_WORDS = 2000


def main(parts: object, options: dict, emit: object) -> None:
    """Start the engine, run the workload once to warm up and once for the clock."""
    del parts
    write_to(options.get("log"))
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    emit({"agent": "measure", "event": "begin"})
    began = time.monotonic()
    try:
        engine = start(options)
        emit(event("ready", seconds=time.monotonic() - began))
        emit(event("result", **run(engine, options)))
    except BaseException as error:  # an engine may raise SystemExit
        emit(event("failed", error=words(error), out_of_memory=ran_out(error)))


def event(name: str, **values: object) -> dict:
    """Return a report."""
    return dict({"agent": "measure", "event": name}, **values)


def write_to(log: str) -> None:
    """Let standard error, and what is printed, go to a file as well as its children's."""
    if log:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)


def start(options: dict) -> object:
    """Return a vllm.LLM."""
    vllm = importlib.import_module("vllm")
    tell_of_memory(options.get("log"))
    settings = dict(options.get("settings") or {})
    if not options.get("prompts"):
        settings.setdefault("skip_tokenizer_init", True)
    if not has_weights(options["model"]):
        settings.setdefault("load_format", "dummy")
    return vllm.LLM(model=options["model"], **settings)


def tell_of_memory(log: str) -> None:
    """Let vLLM log what it profiled: its worker says so in debug lines, and little else there.

    The settings are vLLM's own with that one logger added, here for a forked engine and in a file
    for one that starts anew. A user's own settings stay.
    """
    if not log or "VLLM_LOGGING_CONFIG_PATH" in os.environ:
        return
    try:
        ours = importlib.import_module(".logger", "vllm").DEFAULT_LOGGING_CONFIG
        config = json.loads(json.dumps(ours))
        for handler in config["handlers"].values():
            handler["level"] = "DEBUG"
        config["loggers"]["vllm" + _PROFILER] = {"level": "DEBUG"}
        path = pathlib.Path(log).with_name("logging.json")
        path.write_text(json.dumps(config), encoding="utf-8")
        logging.config.dictConfig(config)
        os.environ["VLLM_LOGGING_CONFIG_PATH"] = str(path)
    except Exception as error:
        os.write(2, ("flashdoctor: no debug lines: %r\n" % error).encode())


def has_weights(folder: str) -> bool:
    """Whether there is a file of weights in a folder; a name that is no folder has them."""
    try:
        return any(path.suffix in _WEIGHTS for path in pathlib.Path(folder).iterdir())
    except OSError:
        return True


def run(engine: object, options: dict) -> dict:
    """Return tokens a second over the whole workload, and the times of one request alone."""
    workload = options["workload"]
    dice = random.Random(options.get("seed", 0))  # noqa: S311 - a workload, no secret
    prompts = make_prompts(options, workload["requests"], dice)
    output = workload["output_tokens"]
    generate(engine, prompts[:8], min(output, 32))
    first = [generate(engine, make_prompts(options, 1, dice), 1)[0] for _ in range(3)]
    alone, count = generate(engine, make_prompts(options, 1, dice), output)
    seconds, made = generate(engine, prompts, output)
    read = sum(len(item["prompt_token_ids"]) for item in prompts if isinstance(item, dict))
    ttft = sorted(first)[1]
    return {
        "seconds": round(seconds, 3),
        "output_tokens": made,
        "prompt_tokens": read or None,
        "output_tokens_per_s": round(made / seconds, 1),
        "ttft_ms": round(1000 * ttft, 2),
        "tpot_ms": round(1000 * (alone - ttft) / max(count - 1, 1), 3),
    }


def make_prompts(options: dict, count: int, dice: object) -> list:
    """Return prompts: the given texts in turn, or random tokens of the workload's length."""
    given = options.get("prompts")
    if given:
        return [given[number % len(given)] for number in range(count)]
    length = options["workload"]["prompt_tokens"]
    return [
        {"prompt_token_ids": [dice.randrange(_LOWEST_TOKEN, _HIGHEST_TOKEN) for _ in range(length)]}
        for _ in range(count)
    ]


def generate(engine: object, prompts: list, tokens: int) -> tuple:
    """Return the seconds that it took and the tokens that came."""
    vllm = importlib.import_module("vllm")
    wanted = vllm.SamplingParams(max_tokens=tokens, ignore_eos=True, temperature=0.0,
                                 detokenize=False)  # fmt: skip
    began = time.monotonic()
    answers = engine.generate(prompts, wanted, use_tqdm=False)
    seconds = time.monotonic() - began
    return seconds, sum(len(answer.outputs[0].token_ids) for answer in answers)


def ran_out(error: BaseException) -> bool:
    """Whether an error, or what it was raised from, speaks of memory."""
    while error is not None:
        if any(part in "%s: %s" % (type(error).__name__, error) for part in _OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def words(error: BaseException) -> str:
    """Return an error's type and words."""
    return ("%s: %s" % (type(error).__name__, error))[:_LONGEST_WORDS]
