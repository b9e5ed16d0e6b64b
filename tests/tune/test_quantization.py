from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.tune.fields import Fields
from flashdoctor.tune.quantization import read_quantization, scheme_of


def group(weights: dict[str, Any], inputs: dict[str, Any] | None = None) -> dict[str, Any]:
    one = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": one}}


@pytest.mark.parametrize(
    ("config", "scheme"),
    [
        ({"quant_method": "fp8"}, "fp8-w8a8"),
        ({"quant_method": "awq", "bits": 4}, "int4-w4a16"),
        ({"quant_method": "gptq", "bits": 8}, "int8-w8a16"),
        ({"quant_method": "mxfp4"}, "mxfp4-w4a16"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, None),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4-w4a4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8-w8a8"),
        (
            group({"num_bits": 8, "type": "float"}, {"num_bits": 8, "type": "float"}),
            "fp8-w8a8",
        ),
        (group({"num_bits": 8, "type": "int"}, {"num_bits": 8, "type": "int"}), "int8-w8a8"),
        (group({"num_bits": 4, "type": "int", "group_size": 128}), "int4-w4a16"),
        (group({"num_bits": 4, "type": "int"}, {"num_bits": 8, "type": "float"}), "int4-w4a8"),
        (
            group({"num_bits": 4, "type": "float", "group_size": 16}, {"num_bits": 4}),
            "nvfp4-w4a4",
        ),
        (group({"num_bits": 4, "type": "float", "group_size": 32}, {"num_bits": 4}), "mxfp4-w4a4"),
        ({"quant_method": "compressed-tensors", "config_groups": {}}, None),
    ],
)
def test_a_scheme_names_weights_and_activations(config: dict[str, Any], scheme: str | None) -> None:
    quantization = read_quantization(Fields({"quantization_config": config}))
    assert quantization is not None
    assert scheme_of(quantization) == scheme


_VALUE = st.none() | st.integers() | st.text(max_size=8) | st.booleans()


@given(st.dictionaries(st.text(max_size=8), _VALUE), st.dictionaries(st.text(max_size=8), _VALUE))
def test_any_group_can_be_read(weights: dict[str, Any], inputs: dict[str, Any]) -> None:
    quantization = read_quantization(Fields({"quantization_config": group(weights, inputs)}))
    if quantization is not None:
        scheme = scheme_of(quantization)
        assert scheme is None or "-w" in scheme
