from __future__ import annotations

from flashdoctor.model.plan import Rejection
from flashdoctor.resolve.reason import Reason, Refused, group

OLD = Reason("needs driver 580", "driver 580")


def test_releases_with_one_reason_become_one_line() -> None:
    items = [Refused("vllm", version, OLD) for version in ("0.33.0", "0.20.2", "0.9.2")]
    other = Refused("vllm", "0.8.5.post1", Reason("no wheel"))
    assert group([*items, other]) == (
        Rejection(candidate="vllm 0.9.2 to 0.33.0", reason=OLD.text, helps=OLD.helps),
        Rejection(candidate="vllm 0.8.5.post1", reason="no wheel"),
    )


def test_variants_are_listed_once() -> None:
    items = [
        Refused("torch", "2.9.0", OLD, "cu130"),
        Refused("torch", "2.12.0", OLD, "cu132"),
        Refused("torch", "2.12.0", OLD, "cu130"),
    ]
    assert [item.candidate for item in group(items)] == ["torch 2.9.0 to 2.12.0 (cu130, cu132)"]


def test_nothing_refused_is_nothing_to_say() -> None:
    assert group([]) == ()
