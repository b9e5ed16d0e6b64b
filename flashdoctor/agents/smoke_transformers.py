# ruff: noqa: PTH111, PTH118, PTH208 - os.path serves; the rest of pathlib is not needed
"""Agent part: transformers with two layers of random weights: what was asked, got, and what ran.

The model is built as a user builds it, with `attn_implementation` from the case's `backend`
(`default`: without one; `org/name`: a kernel of the hub, from the local cache alone). What its
attention modules put out is compared with the same weights in float32 and the eager
implementation. Nothing is downloaded. With the feature `padding` one row has padding.
Options: `model_dir` (that model's config.json, cut) and `trust_remote_code`.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import logging
import math
import os
import re
import tempfile

_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
_WITH_IMPLEMENTATIONS = (4, 36)
_DTYPE_RENAMED = (4, 56)
_PADDED = 5
_CPU_SIZES = {"batch": 1, "q_len": 64, "kv_len": 64}
# What two layers and their projections round comes on top of what attention rounds.
_SLACK = 2.0
# Mixtures of experts and state spaces round more: up to so much more is measured, not assumed.
_MOST_NOISE = 4.0


def run(parts: object, bench: object, case: dict, result: dict) -> None:
    """Build a model, run it, compare it; `result` keeps what was learned before an exception."""
    os.environ.update(_OFFLINE)
    backend = case.get("backend") or "default"
    result.update(asked={"attn_implementation": backend}, got={}, messages=[])
    if "/" in backend:
        find_hub_kernel(bench, backend)
    if bench.device == "cpu":
        case = dict(case, shape=dict(case["shape"], **_CPU_SIZES))
    heard = Listener("transformers", logging.WARNING)
    try:
        with heard, tempfile.TemporaryDirectory() as folder:
            Trial(parts, bench, case, result).attempt(folder)
    except ImportError as error:
        if "undefined symbol" in str(error):
            raise
        # transformers refuses an implementation so, when what it needs is not installed.
        result["status"] = "refused"
        result["messages"].append("%s: %s" % (type(error).__name__, error))
    finally:
        result["messages"] += heard.lines


class Listener(logging.Handler):
    """What a library logs, each line once; its own output stays as it is."""

    def __init__(self, name: str, level: int) -> None:
        logging.Handler.__init__(self, level)
        self._logger = logging.getLogger(name)
        self.lines = []  # type: list

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        line = record.getMessage()
        if line not in self.lines:
            self.lines.append(line)

    def __enter__(self) -> None:
        """Listen; what was said once to an earlier case is said again."""
        forget = getattr(getattr(logging.Logger, "warning_once", None), "cache_clear", None)
        if forget is not None:
            forget()
        self._logger.addHandler(self)

    def __exit__(self, *details: object) -> None:
        """Stop."""
        self._logger.removeHandler(self)


def find_hub_kernel(bench: object, name: str) -> None:
    """Raise MissingError unless a hub kernel's repository is in the local cache."""
    if importlib.util.find_spec("kernels") is None:
        raise bench.MissingError("the package kernels is not installed")
    if not hub_folders(name, os.environ):
        raise bench.MissingError("%s is not in the local cache" % name)


def hub_folders(name: str, environ: dict) -> list:
    """Return the folders of a hub kernel's repository in the caches of this machine.

    Its name may carry a version or a function: `org/name@v1:function`.
    """
    ending = "--" + re.split("[@:]", name)[0].replace("/", "--")
    cache = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    home = environ.get("HF_HOME") or os.path.join(cache, "huggingface")
    roots = [environ.get("KERNELS_CACHE"), environ.get("HF_HUB_CACHE"), os.path.join(home, "hub")]
    held = {root: listed(root) for root in roots if root}
    return [os.path.join(root, item) for root in held for item in held[root]
            if item.endswith(ending)]  # fmt: skip


def listed(folder: str) -> list:
    """Return the names in a folder, none where there is no such folder."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


class Trial:
    """One case; `result` is filled step by step, so it holds what came before a failure."""

    def __init__(self, parts: object, bench: object, case: dict, result: dict) -> None:
        self._config = parts.smoke_config
        self._measure = parts.smoke_measure
        self._problem = parts.smoke_problem
        self._bench = bench
        self._case = case
        self._result = result
        self._library = bench.import_module("transformers")
        self._faults = []  # type: list
        self._trusted = bool(bench.options.get("trust_remote_code"))

    def attempt(self, folder: str) -> None:
        """Build the model, see what it says of itself, does and puts out."""
        bench, result = self._bench, self._result
        result["got"]["version"] = self._library.__version__
        config = self.build_config(folder)
        backend = result["asked"]["attn_implementation"]
        dtype = getattr(bench.torch, self._problem.DTYPES[self._case["dtype"]])
        model = self.build_model(config, backend, dtype)
        result["got"].update(describe(model, backend))
        inputs = build_inputs(bench, self._case, model)
        step = stepper(bench, self._case, model, inputs)
        if bench.device != "cpu":
            count = inputs["input_ids"].numel() * model.get_input_embeddings().weight.shape[1]
            self._measure.poison(bench, [(count, dtype)])
        outputs = observed(model, inputs, step)
        bench.synchronize()
        expected = self.reference(config, model, inputs, bench.torch.float32)
        if not self.check(outputs, expected) and expected:
            noise = self.reference(config, model, inputs, dtype)
            self.check(outputs, expected, noise)
        if bench.device == "cpu":
            result["status"] = "cpu" if result["status"] == "ran" else result["status"]
            return
        result["kernels"], result["profiler"] = self._measure.profile(bench, step)
        result["ms"], result["peak_mib"] = self._measure.time_and_peak(bench, step)

    def build_config(self, folder: str) -> object:
        """Return the config: a small Llama's, or that of `model_dir` cut to two layers."""
        source = self._bench.options.get("model_dir")
        if source:
            raw, self._result["got"]["cut"] = self._config.cut(self._config.read(source))
        else:
            name = self._problem.DTYPES[self._case["dtype"]]
            raw = self._config.llama(self._case["shape"], name)
        if source and self._trusted:
            self._config.copy_code(source, folder)
        self._config.write(folder, raw)
        return self._library.AutoConfig.from_pretrained(folder, trust_remote_code=self._trusted)

    def build_model(self, config: object, backend: str, dtype: object) -> object:
        """Return a model with random weights, in evaluation mode."""
        version = release(self._library.__version__)
        keywords = {"dtype" if version >= _DTYPE_RENAMED else "torch_dtype": dtype}
        if backend != "default" and version >= _WITH_IMPLEMENTATIONS:
            keywords["attn_implementation"] = backend
        with fresh_numbers(self._bench):
            model = self.from_config(copy.deepcopy(config), keywords)
        if version < _WITH_IMPLEMENTATIONS and backend not in ("default", "eager"):
            model = before_implementations(model, backend, dtype)
        return model.to(self._bench.device).eval()

    def from_config(self, config: object, keywords: dict) -> object:
        """Return a causal language model of a config, or its bare model where it is none."""
        kinds = (self._library.AutoModelForCausalLM, self._library.AutoModel)
        for kind in kinds:
            try:
                return kind.from_config(config, trust_remote_code=self._trusted, **keywords)
            except ValueError as error:
                if "Unrecognized configuration class" not in str(error) or kind is kinds[-1]:
                    raise
        return None

    def reference(self, config: object, model: object, inputs: dict, dtype: object) -> dict:
        """Return what eager puts out in a dtype with the same weights; nothing where it cannot."""
        try:
            plain = self.build_model(config, "eager", dtype)
            plain.load_state_dict(model.state_dict())
            self._result["got"].setdefault("reference", "eager in float32")
            return observed(plain, inputs, stepper(self._bench, self._case, plain, inputs))
        except Exception as error:
            why = "none: %s: %s" % (type(error).__name__, error)
            self._result["got"].setdefault("reference", why)
            return {}

    def check(self, outputs: dict, expected: dict, noise: object = None) -> bool:
        """Compare all outputs with the reference; without one they must at least be finite.

        `noise`, what eager makes of them in the model's own dtype, shows what that rounds. Returns
        whether they are right.
        """
        case, result = self._case, self._result
        backward = self._problem.BACKWARD if case.get("direction") == "backward" else 1
        bound = _SLACK * self._problem.BOUNDS[case["dtype"]] * backward
        errors = {name: deviation(out, expected.get(name)) for name, out in outputs.items()}
        result["messages"] = [text for text in result["messages"] if text not in self._faults]
        own = (noise or {}).items()
        rounded = {name: deviation(out, expected.get(name))[0] for name, out in own}
        wrong = self._faults = faults(errors, bound, rounded)
        result["status"] = "wrong" if wrong else "ran"
        result["messages"] += wrong
        finite = [pair for pair in errors.values() if all(map(math.isfinite, pair))]
        if expected and finite:
            result["relative_error"] = max(pair[0] for pair in finite)
            result["max_abs_error"] = max(pair[1] for pair in finite)
        return not wrong


def release(version: str) -> tuple:
    """Return (4, 36) of `4.36.2`."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


@contextlib.contextmanager
def fresh_numbers(bench: object) -> object:
    """Let weights be made on the device, from the seed.

    A model that was refused must not leave its dtype as torch's default, as it did in 4.36.
    """
    torch = bench.torch
    torch.manual_seed(bench.seed)
    before = torch.get_default_dtype()
    device = torch.device(bench.device)
    try:
        with device if hasattr(device, "__enter__") else contextlib.nullcontext():
            yield
    finally:
        torch.set_default_dtype(before)


def before_implementations(model: object, backend: str, dtype: object) -> object:
    """Return the model as transformers before 4.36 takes it: one switch, and only at loading."""
    if backend != "flash_attention_2":
        raise ValueError("this transformers has no attn_implementation, so no %s" % backend)
    return type(model).from_pretrained(
        None, config=model.config, state_dict=model.state_dict(), torch_dtype=dtype,
        use_flash_attention_2=True,
    )  # fmt: skip


def describe(model: object, backend: str) -> dict:
    """Return what the model says of itself after loading, and of what classes its attention is."""
    config = model.config
    before = "flash_attention_2" if getattr(config, "_flash_attn_2_enabled", False) else "eager"
    got = getattr(config, "_attn_implementation", before)
    classes = {}  # type: dict
    for _, module in attention_modules(model):
        name = type(module).__name__
        classes[name] = classes.get(name, 0) + 1
    return {
        "attn_implementation": got,
        "as_asked": backend == "default" or is_same(backend, got),
        "modules": classes,
        "model_type": getattr(config, "model_type", None),
    }


def is_same(asked: str, got: object) -> bool:
    """Whether a config holds what was asked for; each of its parts, where it names several.

    Some releases write a hub kernel's name with `_` for `/`.
    """
    if isinstance(got, dict):
        return all(is_same(asked, part) for part in got.values())
    return got == asked or got == asked.replace("/", "_")


def attention_modules(model: object) -> list:
    """Return (name, module) of the innermost modules that are named for attention."""
    named = [
        (name, module)
        for name, module in model.named_modules()
        if "attention" in type(module).__name__.lower()
    ]
    inner = [
        (name, module)
        for name, module in named
        if not any(other.startswith(name + ".") for other, _ in named)
    ]
    return inner or [("the model", model)]


def build_inputs(bench: object, case: dict, model: object) -> dict:
    """Return random tokens, with padding at the end of one row where the case has that feature."""
    torch, shape = bench.torch, case["shape"]
    tokens = torch.randint(
        3, vocabulary(model), (shape["batch"], shape["q_len"]),
        generator=bench.generator(case["name"]), device=bench.device,
    )  # fmt: skip
    inputs = {"input_ids": tokens}
    if "padding" in (case.get("features") or ()):
        inputs["attention_mask"] = torch.ones_like(tokens)
        inputs["attention_mask"][0, -(shape["q_len"] // _PADDED) :] = 0
    return inputs


def vocabulary(model: object) -> int:
    """Return the number of tokens that the model has an embedding for."""
    return int(model.get_input_embeddings().weight.shape[0])


def stepper(bench: object, case: dict, model: object, inputs: dict) -> object:
    """Return a function that runs the model once, with gradients where the case asks for them."""

    def forward() -> None:
        with bench.torch.no_grad():
            model(**inputs)

    def backward() -> None:
        model.zero_grad(set_to_none=True)
        model(**inputs)[0].float().pow(2).mean().backward()

    return backward if case.get("direction") == "backward" else forward


def observed(model: object, inputs: dict, step: object) -> dict:
    """Return by name what the attention modules put out in a step, and their weights' gradients."""
    found = {}  # type: dict
    modules = attention_modules(model)

    def keep(name: str) -> object:
        def hook(_module: object, _arguments: object, output: object) -> None:
            tensor = output if hasattr(output, "detach") else output[0]
            found[name] = unpadded(tensor.detach(), inputs.get("attention_mask"))

        return hook

    hooks = [module.register_forward_hook(keep(name)) for name, module in modules]
    try:
        step()
    finally:
        for hook in hooks:
            hook.remove()
    for name, module in modules:
        for weight, tensor in module.named_parameters():
            if tensor.grad is not None:
                found["gradient of %s.%s" % (name, weight)] = tensor.grad.detach()
    return found


def unpadded(output: object, mask: object) -> object:
    """Return the rows of real tokens; what stands at padded ones is nobody's promise."""
    if mask is None or output.shape[:2] != mask.shape:
        return output
    return output[mask.bool()]


def deviation(output: object, expected: object) -> tuple:
    """Return (relative error, largest difference), NaN where the output is not finite."""
    if not bool(output.isfinite().all()):
        return math.nan, math.nan
    if expected is None:
        return 0.0, 0.0
    if expected.numel() != output.numel():
        return math.inf, math.inf
    difference = output.double() - expected.double().reshape(output.shape)
    size, off = float(expected.double().norm()), float(difference.norm())
    return off / size if size else math.inf if off else 0.0, float(difference.abs().max())


def faults(errors: dict, least: float, rounded: dict) -> list:
    """Return what is wrong, in words; `rounded` widens the bound as far as rounding explains."""
    found = []
    for name, (relative, _) in errors.items():
        noise = rounded.get(name, 0.0)
        bound = least if math.isnan(noise) else max(least, min(2 * noise, _MOST_NOISE * least))
        if math.isnan(relative):
            found.append("%s holds values that are not finite" % name)
        elif relative > bound:
            text = "%s is off by a relative error of %.3g, more than %g"
            found.append(text % (name, relative, bound))
    return found


RUN = {"transformers": run}
