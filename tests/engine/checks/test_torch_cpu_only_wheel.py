from __future__ import annotations

from collections.abc import Callable

from flashdoctor.engine.checks.torch_cpu_only_wheel import judge
from flashdoctor.engine.view import View

Look = Callable[..., View]


def test_the_same_release_with_cuda_is_offered(look: Look) -> None:
    facts = {"torch.version": "2.6.0+cpu", "gpu.name": "A100", "driver.version": "550.54.15"}
    assert judge(look(facts)).values == {"advice.torch": "2.6.0", "advice.index": "cu124"}


def test_on_aarch64_an_index_that_has_the_release_with_cuda_is_offered(look: Look) -> None:
    facts = {"torch.version": "2.8.0", "os.platform": "linux_aarch64", "gpu.name": "GH200"}
    judgement = judge(look({**facts, "driver.version": "580.95.05"}))
    assert judgement.values == {"advice.torch": "2.8.0", "advice.index": "cu129"}
    assert judge(look({**facts, "driver.version": "470.82.01"})).values == {}


def test_a_build_for_other_gpus_is_as_bad_beside_an_nvidia_gpu(look: Look) -> None:
    facts = {"torch.version": "2.9.1+xpu"}
    assert judge(look(facts)).outcome == "pass"
    assert "xpu" in judge(look({**facts, "gpu.name": "RTX 4090"})).detail


def test_macos_has_no_other_build(look: Look) -> None:
    facts = {"torch.version": "2.9.1", "torch.build": "cpu", "os.system": "Darwin"}
    assert judge(look(facts)).outcome == "pass"
