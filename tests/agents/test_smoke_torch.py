"""The agent against the real torch of this interpreter, in children of their own.

Without a GPU the calls run on the CPU: the functions of flash-attn are stood in for by slow ones,
right or wrong in a known way, and the reference has to tell which.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.target.process import Limits
from flashdoctor.target.run import exchange

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="this interpreter has no torch"
)

ROOT = Path(__file__).resolve().parents[2]
CASES = json.loads((ROOT / "tests/data/smoke/cases.json").read_text(encoding="utf-8"))
LONGEST_S = 300

STAND_IN = '''\
"""flash-attn's functions on the CPU, keys aligned with the last query."""
import torch
__version__ = "2.8.3"

def one(q, k, v, causal):
    q, k, v = (t.transpose(0, 1)[None] for t in (q, k, v))
    seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    seen = seen.tril(k.shape[2] - q.shape[2]) if causal else seen
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q, k, v, attn_mask=seen, enable_gqa=True)[0].transpose(0, 1)

def flash_attn_func(q, k, v, causal=False):
    return torch.stack([one(*x, causal) for x in zip(q, k, v)])

def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                           causal=False):
    n = cu_seqlens_q.diff().tolist()
    assert max(n) == max_seqlen_q
    return torch.cat([one(*x, causal) for x in zip(q.split(n), k.split(n), v.split(n))])

def flash_attn_with_kvcache(q, k_cache, v_cache, cache_seqlens, block_table=None, causal=False,
                            num_splits=0):
    if block_table is not None:
        k_cache, v_cache = (t[block_table.long()].flatten(1, 2) for t in (k_cache, v_cache))
    lengths = enumerate(cache_seqlens.tolist())
    return torch.stack([one(q[i], k_cache[i, :n], v_cache[i, :n], causal) for i, n in lengths])
'''

PRELUDE = """\
import importlib, json, sys, types, warnings
names = ("live", "smoke_measure", "smoke_problem", "smoke_sdpa", "smoke_flash", "smoke")
parts = types.SimpleNamespace(
    **{name: importlib.import_module("flashdoctor.agents." + name) for name in names})
warnings.simplefilter("ignore")
import torch, flash_attn
bench = parts.smoke_measure.Bench(torch, "cpu", {"seed": 3})
SMALL = {"batch": 3, "q_len": 48, "heads": 4, "kv_heads": 2, "head_dim": 32}
CACHE = {"batch": 3, "q_len": 1, "kv_len": 700, "heads": 4, "kv_heads": 2, "head_dim": 32}

def judge(features=(), shape=SMALL, **more):
    case = {"name": "x", "api": "flash-attn", "dtype": "bf16", "causal": True, "shape": shape,
            "features": list(features), **more}
    result = {"status": "ran"}
    problem, call = parts.smoke_flash.prepare(parts, bench, case, result)
    parts.smoke.note(parts, problem, problem.run(call), result)
    return result
"""

RIGHT = """\
print(json.dumps({
    "dense": judge(), "fp16": judge(dtype="fp16"), "fp32": judge(dtype="fp32"),
    "full": judge(causal=False), "varlen": judge(["varlen"]),
    "backward": judge(direction="backward"),
    "varlen backward": judge(["varlen"], direction="backward"),
    "cache": judge(["kvcache"], CACHE), "paged": judge(["kvcache", "paged"], CACHE),
    "split": judge(["kvcache", "split-kv"], CACHE),
    "tail": judge(["kvcache"], dict(CACHE, q_len=5)),
    "dynamo": "torch._dynamo" in sys.modules, "sympy": "sympy" in sys.modules,
}, allow_nan=False))
"""

WRONG = """\
real = dict(vars(flash_attn))
found = {}

def planted(name, function, features=(), shape=SMALL, **more):
    target = {"varlen": "flash_attn_varlen_func", "kvcache": "flash_attn_with_kvcache"}
    attribute = target.get((*features, "")[0], "flash_attn_func")
    setattr(flash_attn, attribute, function)
    found[name] = judge(features, shape, **more)
    setattr(flash_attn, attribute, real[attribute])

class OffGradient(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x.clone())
    backward = staticmethod(lambda ctx, grad: grad * 1.2)

def hole(q, k, v, causal):
    out = real["flash_attn_func"](q, k, v, causal).clone()
    out[-1, -1, -1, -1] = float("nan")
    return out

def short(q, k, v, cache_seqlens, **more):
    return real["flash_attn_with_kvcache"](q, k, v, cache_seqlens=cache_seqlens - 16, **more)

def long(q, k, v, cache_seqlens, **more):
    return real["flash_attn_with_kvcache"](q, k, v, cache_seqlens=cache_seqlens + 1, **more)

func = real["flash_attn_func"]
planted("not causal", lambda q, k, v, causal: func(q, k, v))
planted("scaled", lambda q, k, v, causal: func(q, k, v, causal) * 1.05)
planted("zeros", lambda q, k, v, causal: torch.zeros_like(q))
planted("another head", lambda q, k, v, causal: func(q, k.flip(2), v.flip(2), causal))
planted("hole", hole)
planted("gradient", lambda q, k, v, causal: func(q, OffGradient.apply(k), v, causal),
        direction="backward")
planted("misses keys", short, ["kvcache"], CACHE)
planted("reads on", long, ["kvcache"], CACHE)
parts.smoke_problem._SCORES = 1
planted("hole elsewhere", hole)
planted("scaled, one head compared", lambda q, k, v, causal: func(q, k, v, causal) * 1.05)
print(json.dumps(found, allow_nan=False))
"""

SDPA = """\
def run(**case):
    case = dict({"name": "x", "dtype": "fp32", "shape": dict(SMALL, kv_heads=4)}, **case)
    result = {"status": "ran"}
    problem, call = parts.smoke_sdpa.prepare_sdpa(parts, bench, case, result)
    parts.smoke.note(parts, problem, problem.run(call), result)
    return result
wide = dict(SMALL, kv_len=80, kv_heads=4)
print(json.dumps({
    "bool mask": run(mask="bool"), "plain mask": run(mask=True), "float mask": run(mask="float"),
    "causal": run(causal=True), "causal, more keys": run(causal=True, shape=wide),
    "gqa": run(shape=SMALL), "math": run(backend="math"),
    "float mask backward": run(mask="float", direction="backward", backend="math"),
    "drawn": [parts.smoke_problem.dense(bench, {"name": n, "shape": SMALL}).q.sum().item()
              for n in ("a", "b", "a")],
}, allow_nan=False))
"""


def run_in_torch(folder: Path, script: str) -> Mapping[str, Any]:
    """Run a script behind the prelude, with the stand-in for flash-attn, and read what it says."""
    (folder / "flash_attn.py").write_text(STAND_IN, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script], capture_output=True, check=False, cwd=folder,
        timeout=LONGEST_S, text=True,
        env={"PATH": os.defpath, "HOME": str(folder), "LC_ALL": "C.UTF-8",
             "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer


def test_right_functions_are_found_right(tmp_path: Path) -> None:
    results = dict(run_in_torch(tmp_path, RIGHT))
    assert (results.pop("dynamo"), results.pop("sympy")) == (False, False), "they take seconds"
    assert {result["status"] for result in results.values()} == {"ran"}
    assert set(results["backward"]["relative_errors"]) == {"out", "dq", "dk", "dv"}
    assert results["dense"]["heads_compared"] == [12, 12]
    assert results["fp32"]["relative_error"] < 1e-5 < results["fp16"]["relative_error"]
    assert results["fp16"]["relative_error"] < results["dense"]["relative_error"]
    assert results["paged"]["got"] == {"module": "flash_attn", "version": "2.8.3"}


def test_wrong_functions_are_found_wrong(tmp_path: Path) -> None:
    results = run_in_torch(tmp_path, WRONG)
    assert {name: result["status"] for name, result in results.items()} == dict.fromkeys(
        results, "wrong"
    )
    assert results["hole"]["relative_error"] is None
    assert results["hole"]["messages"] == ["out holds values that are not finite"]
    assert results["hole elsewhere"]["heads_compared"][0] < 12
    assert [text.partition(" ")[0] for text in results["gradient"]["messages"]] == ["dk"]
    assert results["scaled"]["relative_error"] == pytest.approx(0.05, rel=0.1)


def test_torch_s_own_attention_is_found_right(tmp_path: Path) -> None:
    results = dict(run_in_torch(tmp_path, SDPA))
    first, other, again = results.pop("drawn")
    assert first == again != other, "a case's inputs follow from the seed and its name"
    assert {result["status"] for result in results.values()} == {"ran"}
    assert max(result["relative_error"] for result in results.values()) < 1e-5


@pytest.fixture(scope="module")
def events() -> list[Mapping[str, Any]]:
    """Return what the agent says to all cases where torch has no GPU."""
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = exchange(
        sys.executable, "smoke", limits=Limits(timeout_s=LONGEST_S), environ=environ,
        options={"cases": CASES, "seed": 1},
    )  # fmt: skip
    assert (done.ended.reason, done.ended.status) == ("ended", 0)
    return list(done.reports)


def test_without_a_gpu_nothing_is_named(events: list[Mapping[str, Any]]) -> None:
    results = [event for event in events if event["event"] == "result"]
    assert [event["name"] for event in results] == [case["name"] for case in CASES]
    assert {event["status"] for event in results} == {"cpu"}
    assert [event["kernels"] for event in results if event["kernels"]] == []
    assert (events[0]["event"], events[0]["device"]) == ("start", "cpu")
    assert events[-1]["event"] == "end"


def test_the_math_runs_on_the_cpu(events: list[Mapping[str, Any]]) -> None:
    ran = {event["name"]: event for event in events if "relative_error" in event}
    sdpa = [case for case in CASES if case["api"] == "sdpa"]
    assert set(ran) == {case["name"] for case in sdpa if case["backend"] in {"default", "math"}}
    assert {event["name"]: event["messages"] for event in ran.values() if event["messages"]} == {}
    assert max(event["relative_error"] for event in ran.values()) < 2e-2
