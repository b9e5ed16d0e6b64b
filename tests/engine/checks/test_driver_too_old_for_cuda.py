from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.engine.checks.driver_too_old_for_cuda import judge
from flashdoctor.engine.view import MissingFactError, View

Look = Callable[..., View]


def test_a_build_that_this_driver_runs_is_offered(look: Look) -> None:
    facts = {"gpu.name": "A100", "driver.version": "535.161.07", "torch.version": "2.9.1+cu130"}
    judgement = judge(look(facts))
    assert judgement.values == {"advice.torch": "2.9.1", "advice.index": "cu128"}
    assert "580.65.06" in judgement.detail


def test_no_build_is_offered_where_none_fits_both_gpu_and_driver(look: Look) -> None:
    facts = {"gpu.name": "RTX 5090", "driver.version": "470.82.01", "torch.version": "2.8.0+cu128"}
    assert judge(look(facts)).values == {}


def test_the_words_of_cuda_count_where_no_version_is_known(look: Look) -> None:
    words = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."
    judgement = judge(look({"torch.version": "2.9.1+cu128", "live.error": words}))
    assert judgement.evidence[0] == "live.error"


def test_a_started_cuda_outweighs_a_low_number(look: Look) -> None:
    facts = {"driver.version": "470.82.01", "torch.version": "2.9.1+cu128"}
    works = {"live.status": "ok", "live.cuda_available": True}
    assert judge(look(facts)).outcome == "fail"
    assert judge(look({**facts, **works})).outcome == "pass"


@pytest.mark.parametrize(
    ("driver", "outcome"),
    [("535.161.07", "pass"), ("550.54.15", "pass"), ("560.35.05", "fail"), ("470.82.01", "fail")],
)
def test_a_compat_library_helps_data_centre_gpus_on_long_lived_branches(
    look: Look, driver: str, outcome: str
) -> None:
    facts = {
        "gpu.name": "H100",
        "driver.version": driver,
        "torch.version": "2.9.1+cu130",
        "driver.libcuda_origin": "compat",
        "driver.libcuda_version": "580.95.05",
    }
    assert judge(look(facts)).outcome == outcome


def test_windows_has_floors_of_its_own(look: Look) -> None:
    facts = {"driver.version": "528.32", "torch.version": "2.8.0+cu128"}
    assert judge(look(facts)).outcome == "pass"
    judgement = judge(look({**facts, "os.system": "Windows"}))
    assert "Windows driver 528.33" in judgement.detail


def test_the_numbers_of_a_jetson_s_driver_are_its_own(look: Look) -> None:
    facts = {"gpu.name": "NVIDIA Thor", "driver.version": "580.00", "torch.version": "2.9.1+cu130"}
    with pytest.raises(MissingFactError):
        judge(look(facts))
