from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.model.catalog import FACTS
from flashdoctor.model.facts import Fact, absent, known, unknown
from flashdoctor.model.redaction import redact, redact_snapshot
from flashdoctor.model.snapshot import Conflict, Snapshot, from_json, of

PATHS = st.sampled_from(sorted(FACTS))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


def secret_of(uuid: UUID) -> str:
    return f"hf_{uuid.hex}X"


def value_of(path: str, text: str) -> Any:
    """Return a value of that path's shape that holds `text` wherever it can."""
    spec = FACTS[path]
    if spec.kind == "records":
        return [{**dict.fromkeys(spec.keys, text), "extra": text, "deep": {"name": text}}]
    return [text] if spec.kind.endswith("s") else text


@given(PATHS, st.uuids(), st.sampled_from(["{}", "1.0+{}", "/x/{}/y", "failed: {} (x)", "9.0 {}"]))
def test_a_planted_secret_survives_in_no_fact(path: str, uuid: UUID, pattern: str) -> None:
    token = secret_of(uuid)
    for planted in (token, str(uuid)):
        text = pattern.format(planted)
        facts = [
            known(path, value_of(path, text), f"read from {text}"),
            unknown(path, f"cannot read {text}", text),
            absent(path, text, text),
        ]
        assert planted not in repr([redact(fact) for fact in facts])


@pytest.mark.parametrize(
    "version",
    [
        "2.7.4.post1", "2.6.0+cu124", "0.5.3.dev12+gabc123", "2.8.0a0+34c6371d24.nv25.08",
        "580.159.04", "12.8", "9.1.0.70", "8.9.2.26", "10.3.5.147", "3.4.30", "2.36", "13",
        "v2.8.3", "0.11.1rc3.dev42+g1b2c3d4e5.d20251010.cu129", "3.0.0b1", "2.5.1-1",
        "2.9.0.dev20250901+cu130", "535.161.07", "3.0.0rc1",
    ],
)  # fmt: skip
def test_versions_of_the_field_stay(version: str) -> None:
    fact = known("torch.version", version, "torch/version.py")
    assert redact(fact) == fact


@pytest.mark.parametrize(
    "value", ["unknown", "", "jo@host", "2.0; rm", "a" * 200, 2, 2.6, None, ["2.6"], "10.0.0.1:80"]
)
def test_what_is_no_version_becomes_unknown(value: Any) -> None:
    fact = redact(Fact(path="torch.version", state="known", value=value, source="x"))
    assert (fact.state, fact.value) == ("unknown", None)
    assert fact.reason == "redacted: not a version value"


@pytest.mark.parametrize(
    ("path", "good", "bad"),
    [
        ("gpu.compute_capability", "9.0", "9"),
        ("gpu.compute_capabilities", ["9.0", "12.0"], ["9.0", "x"]),
        ("torch.arch_list", ["sm_90a", "compute_120"], ["sm_90", "sm90"]),
        ("torch.cxx11_abi", False, "false"),
        ("gpu.count", 8, True),
        ("gpu.count", 0, "8"),
        ("os.platform", "manylinux_2_24_x86_64.manylinux_2_28_x86_64", "two words"),
        ("torch.minor", "2.6", "10.0.0.1"),
        ("os.distribution", "Debian GNU/Linux 12", 12),
        ("driver.libcuda_path", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", 1),
        ("driver.nodes_denied", ["/dev/nvidia0"], "/dev/nvidia0"),
        ("gpu.devices", [{"index": 0, "name": "NVIDIA L4"}], {"index": 0}),
    ],
)
def test_a_value_must_fit_its_kind(path: str, good: Any, bad: Any) -> None:
    fact = known(path, good, "x")
    assert redact(fact) == fact
    assert redact(known(path, bad, "x")).state == "unknown"


def test_texts_of_versions_keep_four_numbers_but_no_secret() -> None:
    for path, text in (
        ("torch.cudnn_pin", "9.1.0.70"),
        ("torch.cudnn_pin", "==9.1.0.70"),
        ("os.kernel", "5.15.167.4"),
        ("torch.python_requires", ">=3.9,<3.14"),
    ):
        fact = known(path, text, "x")
        assert redact(fact) == fact
    assert redact(known("live.error", "peer 9.1.0.70", "x")).value == "peer <ip>"


def test_records_keep_allow_listed_keys_and_scrubbed_values() -> None:
    records = [
        {
            "path": "/home/jo/cuda",
            "version": "12.4",
            "via": "CUDA_HOME of jo@example.org",
            "note": "dropped",
        }
    ]
    fact = redact(known("toolkit.installs", records, "PATH"))
    assert fact.value == [{"path": "~/cuda", "version": "12.4", "via": "CUDA_HOME of <email>"}]
    pins = [{"package": "nvidia-cudnn-cu12", "required": "9.1.0.70", "installed": "8.9.2.26"}]
    assert redact(known("torch.pins_unmet", pins, "x")).value == pins


def test_a_snapshot_loses_what_the_catalog_does_not_list() -> None:
    stray, held = known("user.name", "jo", "x"), known("gpu.name", "NVIDIA L4", "/root/x")
    other = known("gpu.name", "/home/jo", "x")
    pairs = (Conflict(kept=held, dropped=other), Conflict(kept=stray, dropped=stray))
    clean = redact_snapshot(Snapshot({"user.name": stray, "gpu.name": held}, pairs))
    assert [fact.to_json() for fact in clean] == [
        {"value": "NVIDIA L4", "state": "known", "source": "~/x"}
    ]
    assert [pair.dropped.value for pair in clean.conflicts] == ["~"]
    assert "jo" not in json.dumps(clean.to_json())


def test_a_fact_outside_the_catalog_is_unknown() -> None:
    assert redact(known("user.name", "jo", "x")).state == "unknown"


@given(st.lists(st.tuples(PATHS, JSON, st.text(max_size=20)), max_size=6))
def test_redacting_twice_changes_nothing_and_never_fails(
    rows: list[tuple[str, Any, str]],
) -> None:
    facts = [Fact(path=path, state="known", value=value, source=text) for path, value, text in rows]
    once = redact_snapshot(of(facts))
    assert repr(redact_snapshot(once)) == repr(once)
    assert from_json(json.loads(json.dumps(once.to_json()))) == once
