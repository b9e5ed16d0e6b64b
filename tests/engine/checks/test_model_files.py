from __future__ import annotations

import pytest

from flashdoctor.data.tables import load_tables
from flashdoctor.engine.checks import model_heads_not_divisible, model_quantization_disagrees
from flashdoctor.engine.checks._quantization import KERNELS, MARLIN, lowest_capability
from flashdoctor.engine.view import MissingFactError, View
from flashdoctor.model import snapshot as snapshots
from flashdoctor.model.facts import absent, known
from flashdoctor.model.versions import Capability


def view(**facts: object) -> View:
    listed = [
        absent(path, "test") if value is None else known(path, value, "test")
        for path, value in ((name.replace("__", "."), value) for name, value in facts.items())
    ]
    return View(snapshots.of(listed), load_tables())


@pytest.mark.parametrize(
    ("methods", "version", "floor"),
    [
        (("awq",), "0.8.5", Capability(7, 5)),
        (MARLIN["awq"], "0.8.5", Capability(8, 0)),
        (MARLIN["awq"], "0.20.2", Capability(7, 5)),
        (KERNELS["gptq"], "0.25.1", Capability(6, 0)),
        (("fp8",), "0.4.2", Capability(8, 9)),
        (("fp8",), "0.12.0", Capability(8, 0)),
        (MARLIN["awq"], "0.33.0", None),  # one method stands for both kernels by then
        (("squeezellm",), "0.25.1", None),
        (("no-such-method",), "0.25.1", None),
        (("fp8",), "nonsense", None),
    ],
)
def test_the_floor_of_a_method(
    methods: tuple[str, ...], version: str, floor: Capability | None
) -> None:
    assert lowest_capability(view(), methods, version) == floor


def test_the_divisors_are_named() -> None:
    judged = model_heads_not_divisible.judge(view(model__heads=28, launch__tensor_parallel_size=8))
    assert judged.values == {"advice.sizes": "1, 2, 4, 7, 14, 28"}
    assert judged.detail == "28 heads do not divide by 8."


def test_nothing_to_compare_is_a_skip() -> None:
    with pytest.raises(MissingFactError):
        model_quantization_disagrees.judge(view(model__packing=None, model__quantization="awq"))


def test_what_differs_is_said_with_both_values() -> None:
    judged = model_quantization_disagrees.judge(
        view(
            model__packing="gptq",
            model__packing_bits=8,
            model__packing_group=128,
            model__quantization="gptq",
            model__quantization_bits=4,
            model__quantization_group=128,
        )
    )
    assert judged.detail == "It says bits 4, the shapes of the tensors say 8."
