from __future__ import annotations

import json

from flashdoctor.model.plan import SCHEMA, Build, Plan, Rejection, Resolution

PLAN = Plan(
    python="3.12",
    python_is_stated=True,
    platform="linux_x86_64",
    torch="2.8.0",
    torch_cuda="12.8",
    torch_index="cu128",
    torch_index_url="https://download.pytorch.org/whl/cu128",
    torch_is_default=True,
    builds=(
        Build(
            package="flash-attn",
            version="2.8.3",
            toolkit="12.8",
            has_toolkit=True,
            environment={"MAX_JOBS": "4"},
        ),
    ),
)


def test_the_contract_of_a_plan() -> None:
    found = Resolution(wants=("vllm",), machine=(("gpu", "H100"),), plan=PLAN, matrix_date="x")
    body = json.loads(json.dumps(found.to_json()))
    assert body["schema"] == SCHEMA == "flashdoctor/resolve/v1"
    assert (body["exit_code"], body["builds_from_source"]) == (0, True)
    for key in ("python", "torch", "torch_index", "flash_attn", "flash_attn_wheel", "vllm"):
        assert key in body["plan"]
    for key in ("transformers", "triton"):
        assert body["plan"][key] is None
    assert body["plan"]["builds"][0]["environment"] == {"MAX_JOBS": "4"}
    assert body["machine"] == {"gpu": "H100"}
    assert "emitted" not in body


def test_the_contract_without_a_plan() -> None:
    way = Rejection(candidate="vllm", reason="too new", helps="driver 580")
    found = Resolution(wants=("vllm",), machine=(), obstacles=(way,), rejected=(way,))
    body = found.to_json()
    assert (body["exit_code"], body["plan"], body["builds_from_source"]) == (1, None, False)
    assert body["obstacles"] == [{"candidate": "vllm", "reason": "too new", "helps": "driver 580"}]
    assert Rejection(candidate="a", reason="b").to_json() == {"candidate": "a", "reason": "b"}


def test_what_torch_will_call_itself() -> None:
    assert PLAN.torch_version == "2.8.0+cu128"
