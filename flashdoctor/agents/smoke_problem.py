"""Agent part: one attention problem, its random inputs and what a float64 reference makes of them.

Tensors are laid out as flash-attn has them: (batch, length, heads, head_dim), or packed
(total length, heads, head_dim) where the sequences of a batch differ in length. The parts that
call an API transpose what they need.
"""

from __future__ import annotations

import math

DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
BOUNDS = {"bf16": 2e-2, "fp16": 5e-3, "fp32": 1e-3}
TF32_BOUND = 5e-3
BACKWARD = 4
"""A gradient may be that much further off than an output."""
PAGE = 256
"""Rows in a page of a cache: flash-attn 2 takes only multiples of 256."""

_OUTPUTS = ("out", "dq", "dk", "dv")
_SCORES = 1 << 23  # that many in float64 are 64 MiB; beyond, a random choice of heads is compared
_MASKED = -0.5  # a third of normal random numbers lies below
_GARBAGE = 50.0  # in a cache behind a sequence's end: finite, so it shows only where it is used


class Shape:
    """The sizes of a case, as whole numbers."""

    def __init__(self, sizes: dict) -> None:
        self.batch = int(sizes.get("batch", 1))
        self.q_len = int(sizes["q_len"])
        self.kv_len = int(sizes.get("kv_len") or self.q_len)
        self.heads = int(sizes["heads"])
        self.kv_heads = int(sizes.get("kv_heads") or self.heads)
        self.head_dim = int(sizes["head_dim"])


class Problem:
    """Inputs, how they divide into sequences, and what may see what.

    `split_q` and `split_k` give a tensor's sequences as (length, heads, head_dim). `last_row`
    says where the causal mask is aligned: at the last query and the last key, or at the first.
    """

    def __init__(self, bench: object, case: dict) -> None:
        self.bench = bench
        self.shape = Shape(case["shape"])
        self.dtype = case.get("dtype", "bf16")
        self.causal = bool(case.get("causal"))
        self.backward = case.get("direction") == "backward"
        self.mask = None
        self.last_row = True
        self.finish = _nothing
        self._generator = bench.generator(case["name"])

    def random(self, *sizes: int) -> object:
        """Return normal random numbers of this dtype."""
        torch = self.bench.torch
        numbers = torch.randn(*sizes, generator=self._generator, device=self.bench.device)
        return numbers.to(getattr(torch, DTYPES[self.dtype]))

    def integers(self, low: int, high: int, count: int) -> list:
        """Return `count` random whole numbers of low..high."""
        torch = self.bench.torch
        options = {"generator": self._generator, "device": self.bench.device}
        return torch.randint(low, high + 1, (count,), **options).tolist()

    def fill(self, q_sizes: tuple, k_sizes: tuple) -> None:
        """Make the inputs, and what a gradient starts from."""
        self.q, self.k, self.v = self.random(*q_sizes), self.random(*k_sizes), self.random(*k_sizes)
        self.grad = None
        if self.backward:
            self.grad = self.random(*q_sizes)
            for tensor in (self.q, self.k, self.v):
                tensor.requires_grad_(True)

    def run(self, call: object) -> dict:
        """Return the output, backward its gradients too; `call` takes q, k and v."""
        inputs = (self.q, self.k, self.v)
        out = call(*inputs)
        if not self.backward:
            return {"out": out}
        grads = gradients(self.bench.torch, out, inputs, self.grad)
        return dict(zip(_OUTPUTS, (out.detach(), *grads)))  # noqa: B905 - Python 3.8

    def bound(self, name: str) -> float:
        """Return how far off an output (`out`) or a gradient may be."""
        bound = BOUNDS[self.dtype]
        if self.dtype == "fp32" and self.bench.torch.get_float32_matmul_precision() != "highest":
            bound = TF32_BOUND
        return bound if name == "out" else BACKWARD * bound


def _nothing() -> None:
    pass


def gradients(torch: object, out: object, inputs: object, grad: object) -> tuple:
    """Return the gradients of the inputs.

    torch.autograd.grad imports sympy at its first call, for seconds; the engine below does not.
    """
    try:
        run = torch.autograd.Variable._execution_engine.run_backward  # noqa: SLF001 - see above
        return run((out,), (grad,), False, False, tuple(inputs), True, accumulate_grad=False)
    except (AttributeError, TypeError):
        return torch.autograd.grad(out, inputs, grad)


def dense(bench: object, case: dict) -> Problem:
    """Return a problem whose sequences all have the same length."""
    problem = Problem(bench, case)
    shape = problem.shape
    problem.fill(
        (shape.batch, shape.q_len, shape.heads, shape.head_dim),
        (shape.batch, shape.kv_len, shape.kv_heads, shape.head_dim),
    )
    problem.split_q = problem.split_k = lambda tensor: tensor.unbind(0)
    if case.get("mask"):
        problem.mask = _mask(problem, case["mask"])
    return problem


def _mask(problem: Problem, kind: object) -> object:
    """Return a (q_len, kv_len) mask: true for what is seen, or what is added to the scores."""
    bench, shape = problem.bench, problem.shape
    seen = problem.random(shape.q_len, shape.kv_len) > _MASKED
    seen[:, 0] = True  # a row that sees nothing would be NaN
    if kind != "float":
        return seen
    zeros = bench.torch.zeros(seen.shape, dtype=problem.q.dtype, device=bench.device)
    return zeros.masked_fill(~seen, float("-inf"))


def packed(bench: object, case: dict) -> Problem:
    """Return a problem of sequences of several lengths, packed one behind the other.

    `lengths` are theirs, the first the whole one; queries and keys have the same.
    """
    problem = Problem(bench, case)
    shape = problem.shape
    rest = problem.integers(max(shape.q_len // 2, 1), shape.q_len, shape.batch - 1)
    lengths = problem.lengths = [shape.q_len, *rest]
    total = sum(lengths)
    problem.fill((total, shape.heads, shape.head_dim), (total, shape.kv_heads, shape.head_dim))
    problem.split_q = problem.split_k = lambda tensor: tensor.split(lengths)
    return problem


def cached(bench: object, case: dict) -> Problem:
    """Return a problem whose keys stand in a cache that is not full; `lengths` says how far.

    Its `k` and `v` are whole pages long: (batch, pages * PAGE, heads, head_dim).
    """
    problem = Problem(bench, case)
    shape = problem.shape
    rest = problem.integers(max(shape.kv_len // 2, shape.q_len), shape.kv_len, shape.batch - 1)
    lengths = problem.lengths = [shape.kv_len, *rest]
    capacity = -(-shape.kv_len // PAGE) * PAGE
    problem.fill(
        (shape.batch, shape.q_len, shape.heads, shape.head_dim),
        (shape.batch, capacity, shape.kv_heads, shape.head_dim),
    )
    for number, length in enumerate(lengths):
        problem.k[number, length:] = problem.v[number, length:] = _GARBAGE
    problem.split_q = lambda tensor: tensor.unbind(0)
    problem.split_k = lambda tensor: [tensor[i, :length] for i, length in enumerate(lengths)]
    return problem


class Comparison:
    """How far outputs are from the reference.

    `relative` has a number for each output, None where that is not finite. `heads` are the query
    heads that were compared, of how many.
    """

    def __init__(self, relative: dict, max_abs: float, heads: tuple) -> None:
        self.relative = {name: finite(value) for name, value in relative.items()}
        self.max_abs = finite(max_abs)
        self.heads = heads

    def faults(self, problem: Problem) -> list:
        """Return what is wrong, in words."""
        found = []
        for name, value in self.relative.items():
            if value is None:
                found.append("%s holds values that are not finite" % name)
            elif value > problem.bound(name):
                text = "%s is off by a relative error of %.3g, more than %g"
                found.append(text % (name, value, problem.bound(name)))
        return found


def finite(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return value if math.isfinite(value) else None


def compare(problem: Problem, outputs: dict) -> Comparison:
    """Hold all outputs against finiteness, and those of some or all heads against float64."""
    torch = problem.bench.torch
    sums = {name: [0.0, 0.0] for name in outputs}
    worst = torch.zeros((), dtype=torch.float64, device=problem.bench.device)
    compared = 0
    for index, heads in _sample(problem):
        compared += len(heads) * (problem.shape.heads // problem.shape.kv_heads)
        truth = _reference(problem, index, heads)
        for name, wanted in truth.items():
            got = _heads_of(problem, name, outputs[name], index, heads)
            difference = got.double() - wanted
            sums[name][0] += difference.square().sum()
            sums[name][1] += wanted.square().sum()
            worst = torch.maximum(worst, difference.abs().max())
    relative = {
        name: float((off / norm).sqrt()) if bool(torch.isfinite(outputs[name]).all()) else math.nan
        for name, (off, norm) in sums.items()
    }
    return Comparison(relative, float(worst), (compared, _count(problem)))


def _count(problem: Problem) -> int:
    return problem.shape.batch * problem.shape.heads


def _sample(problem: Problem) -> list:
    """Return (sequence, key heads) to compare: all where they are few, else a random choice."""
    shape = problem.shape
    each = shape.q_len * shape.kv_len * (shape.heads // shape.kv_heads)
    left = max(_SCORES // each, 1)
    chosen = []
    offset = problem.integers(0, shape.batch * shape.kv_heads - 1, 1)[0]
    for step in range(shape.batch):
        heads = min(left, shape.kv_heads)
        first = offset % shape.kv_heads
        picked = sorted((first + number) % shape.kv_heads for number in range(heads))
        chosen.append(((offset // shape.kv_heads + step) % shape.batch, picked))
        left -= heads
        if not left:
            break
    return chosen


def _heads_of(problem: Problem, name: str, tensor: object, index: int, heads: list) -> object:
    """Return a sequence's chosen heads as (key head, query head of it, length, head_dim)."""
    of_keys = name in ("k", "v", "dk", "dv")
    split = problem.split_k if of_keys else problem.split_q
    part = split(tensor)[index]
    grouped = part.reshape(part.shape[0], problem.shape.kv_heads, -1, part.shape[-1])
    return grouped[:, heads].permute(1, 2, 0, 3)


def _reference(problem: Problem, index: int, heads: list) -> dict:
    """Return the same outputs in float64, with `heads` as `_heads_of` gives them."""
    torch = problem.bench.torch
    with torch.enable_grad():
        inputs = [
            _heads_of(problem, name, tensor.detach(), index, heads).double()
            for name, tensor in (("q", problem.q), ("k", problem.k), ("v", problem.v))
        ]
        if not problem.backward:
            return {"out": _attend(problem, *inputs)}
        for tensor in inputs:
            tensor.requires_grad_(True)
        out = _attend(problem, *inputs)
        grad = _heads_of(problem, "grad", problem.grad, index, heads).double()
        grads = gradients(torch, out, inputs, grad)
    return dict(zip(_OUTPUTS, (out.detach(), *grads)))  # noqa: B905 - Python 3.8


def _attend(problem: Problem, q: object, k: object, v: object) -> object:
    torch = problem.bench.torch
    scores = (q @ k.transpose(-1, -2)) * problem.shape.head_dim**-0.5
    if problem.causal:
        past = k.shape[-2] - q.shape[-2] if problem.last_row else 0
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(past)
        scores = scores.masked_fill(~seen, float("-inf"))
    if problem.mask is not None and problem.mask.dtype == torch.bool:
        scores = scores.masked_fill(~problem.mask, float("-inf"))
    elif problem.mask is not None:
        scores = scores + problem.mask
    return torch.softmax(scores, -1) @ v
