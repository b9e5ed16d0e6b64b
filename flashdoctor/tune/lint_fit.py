"""Whether a model fits with the flags of a launch: asked of the memory model. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from flashdoctor.errors import UsageError
from flashdoctor.model.lint import LintFinding
from flashdoctor.model.llm import Model
from flashdoctor.model.regex import regex
from flashdoctor.model.versions import capability
from flashdoctor.tune.kinds import UNFIT
from flashdoctor.tune.lint_findings import Context, make
from flashdoctor.tune.lint_names import is_placeholder
from flashdoctor.tune.lint_values import text_value
from flashdoctor.tune.memory import cuda_total, plan
from flashdoctor.tune.memory_types import GIB, Change, Gpu, MemoryPlan, Settings
from flashdoctor.tune.pins import Pin, settings_of
from flashdoctor.tune.words import Word

_AUTO = frozenset({"auto", "-1"})
_COMPILATION = "compilation-config"
_MODE = regex(r"cudagraph_mode\W{1,6}([A-Za-z_]+)")


def fit_findings(context: Context, model: Model) -> Iterator[LintFinding]:
    """Yield that vLLM will not start for want of memory, with what it would print.

    Nothing where the GPU is not known, or where the flags are too wrong to ask.
    """
    gpu = _gpu(context)
    settings = _settings(context)
    if gpu is None or settings is None:
        return
    result = plan(model, gpu, settings, context.version, tables=context.tables)
    length = text_value(context.parsed.last("max-model-len"))
    shrinks = length in _AUTO and result.longest_model_len > 0
    divides = model.heads % settings.tensor_parallel_size == 0  # else FD652 says so
    if not result.fits and not shrinks and divides:
        yield _unfit(context, model, gpu, result)


def _gpu(context: Context) -> Gpu | None:
    mib = context.facts.value("gpu.memory_mib")
    if not isinstance(mib, int):
        return None
    stated = context.facts.value("gpu.compute_capability")
    return Gpu(
        name=context.facts.value("gpu.name"),
        total_bytes=cuda_total(mib, tables=context.tables),
        capability=capability(stated) if isinstance(stated, str) else None,
    )


def _settings(context: Context) -> Settings | None:
    """Return what the launch sets; None where a value could not be read, found elsewhere."""
    pins = {}
    for given in context.parsed.given:
        values = given.values
        if given.flag is None or given.key or any(map(is_placeholder, values)):
            continue
        name = given.flag.name
        pins[name] = Pin(f"--{name}", name, " ".join(values) if values else None, given.negative)
    try:
        fields = settings_of(pins)
    except UsageError:
        return None
    mode = _graph_mode(context)
    if mode is not None:
        fields["cudagraph_mode"] = mode
    environment = tuple((one.name, str(one.value)) for one in context.command.environment)
    return Settings(**fields, environment=environment)


def _graph_mode(context: Context) -> str | None:
    """Return what --compilation-config says of CUDA graphs, as JSON or by a dotted key."""
    given = [one for one in context.parsed.given if one.flag and one.flag.name == _COMPILATION]
    texts = [" ".join((one.key, *one.values)) for one in given]
    match = _MODE.search(" ".join(texts))
    return match[1].upper() if match else None


def _unfit(context: Context, model: Model, gpu: Gpu, result: MemoryPlan) -> LintFinding:
    change = next((one for one in result.changes if not one.changes_output), None)
    flag = change.flag if change else "--model"
    given = context.parsed.last(flag.lstrip("-"))
    place = given.written if given else Word(model.name, context.command.line)
    return make(
        UNFIT,
        place,
        f"{model.name} does not fit on {gpu.name or 'this GPU'} with these flags"
        if result.loads
        else f"vLLM refuses {model.name} with these flags before it reads the weights",
        flag=flag,
        replacement=_written(change),
        advice=" ".join(_advice(change) for change in result.changes[:3]),
        detail=f"{_sizes(result) if result.loads else ''}vLLM prints: {result.refusal}",
    )


def _sizes(result: MemoryPlan) -> str:
    return (
        f"Of {result.budget_bytes / GIB:.2f} GiB the weights take"
        f" {result.weights_bytes / GIB:.2f} and {result.kv_bytes / GIB:.2f} are left for the KV"
        " cache. "
    )


def _written(change: Change | None) -> str | None:
    return f"{change.flag} {change.value}".rstrip() if change else None


def _advice(change: Change) -> str:
    why = change.why[:1].upper() + change.why[1:].rstrip(".")
    return f"{_written(change)}: {why}."
