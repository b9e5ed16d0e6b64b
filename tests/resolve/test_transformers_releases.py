from __future__ import annotations

from collections.abc import Callable

import pytest

from flashdoctor.resolve.machine import Machine
from flashdoctor.resolve.torch_builds import torch_builds
from flashdoctor.resolve.transformers_releases import choose_transformers
from flashdoctor.resolve.vllm_releases import vllm_releases
from flashdoctor.resolve.wants import Want

ReadMachine = Callable[..., Machine]
WANT = Want("transformers")


@pytest.mark.parametrize(
    ("vllm", "want", "expected"),
    [
        (None, WANT, "5.24.0"),
        (None, Want("transformers", "<5"), "4.57.6"),
        (None, Want("transformers", "==3.0"), None),
        (None, Want("transformers", "==4.57.1"), "4.57.1"),  # by the row of 4.57.6
        (None, Want("transformers", "==4.57.99"), None),  # after the last of 4.57
        ("==0.33.0", None, "5.20.2"),  # <5.21.0
        ("==0.11.2", None, "4.57.6"),  # <5
        ("==0.10.2", None, "4.55.4"),  # >=4.55.2, no upper end: the series it was written for
        ("==0.10.2", WANT, "4.57.6"),  # breaks with 5
        ("==0.9.2", WANT, "4.53.3"),  # breaks with 4.54
    ],
)
def test_the_release_beside_a_vllm(
    machine: ReadMachine, vllm: str | None, want: Want | None, expected: str | None
) -> None:
    here = machine("gpu=H100", "driver=580")
    release = vllm_releases(here, Want("vllm", vllm))[0][0] if vllm else None
    torch = torch_builds(here)[0][0]
    assert choose_transformers(here, torch, release, None, want)[0] == expected


def test_python_torch_and_flash_attn_are_limits(machine: ReadMachine) -> None:
    here = machine("gpu=H100", "driver=580", "python=3.10")
    builds = torch_builds(here)[0]
    version, refused = choose_transformers(here, builds[0], None, "2.1.0", WANT)
    assert version == "5.3.0"
    reasons = {item.reason.text for item in refused}
    assert reasons == {"takes Python >=3.11.0", "asks for flash-attn 2.3.3"}
    version, refused = choose_transformers(here, builds[-1], None, None, WANT)
    assert (builds[-1].minor, version) == ("2.0", "4.51.3")
    assert any("the plan has 2.0" in item.reason.text for item in refused)
