from __future__ import annotations

from pathlib import Path
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import by_path
from flashdoctor.probes.environment import PATHS, read_environment

ROOT = Path("/")


def test_it_states_every_fact_of_its_family() -> None:
    assert sorted(PATHS) == sorted(path for path in FACTS if path.startswith("env."))
    assert {fact.state for fact in read_environment(ROOT, {})} == {"absent"}


def test_values_are_kept_and_paths_split() -> None:
    facts = by_path(
        read_environment(
            ROOT,
            {
                "LD_LIBRARY_PATH": "/usr/local/cuda/lib64::/home/jo/lib",
                "VLLM_USE_V1": "0",
                "PYTORCH_ALLOC_CONF": "expandable_segments:True",
                "TORCH_CUDA_ARCH_LIST": "8.0;9.0+PTX",
            },
        )
    )
    assert facts["env.ld_library_path"].value == ["/usr/local/cuda/lib64", ".", "~/lib"]
    assert facts["env.vllm_use_v1"].value == "0"
    assert facts["env.torch_cuda_arch_list"].value == "8.0;9.0+PTX"
    alloc = facts["env.pytorch_cuda_alloc_conf"]
    assert (alloc.value, alloc.source) == ("expandable_segments:True", "PYTORCH_ALLOC_CONF")


@given(
    st.uuids(),
    st.sampled_from(["HF_TOKEN", "SECRET", "LD_LIBRARY_PATH", "VLLM_ATTENTION_BACKEND"]),
)
def test_no_secret_leaves_through_a_variable(uuid: UUID, name: str) -> None:
    environ = {name: f"/x:hf_{uuid.hex}Z", "PATH": str(uuid)}
    shown = repr(read_environment(ROOT, environ))
    assert uuid.hex not in shown
    assert str(uuid) not in shown
