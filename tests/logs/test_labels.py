from __future__ import annotations

from flashdoctor.logs.labels import LABELS, SPEAKING
from flashdoctor.model.catalog import FACTS


def test_labels_are_written_as_they_are_compared() -> None:
    for label in (*LABELS, *SPEAKING):
        assert label == " ".join(label.lower().split())


def test_a_label_is_of_one_kind() -> None:
    assert SPEAKING.isdisjoint(LABELS)


def test_every_reader_takes_a_value_of_its_kind() -> None:
    values = ("RTX 4090", "550.54", "Ubuntu 22.04", "12.4", "2.4.0+cu121", "3.10", "8.9", "13",
              "2.31", "24 GB", "x/y7", "x86_64", "2", "True")  # fmt: skip
    for label, reader in LABELS.items():
        found = [item for value in values for item in reader(value)]
        assert found, label
        assert all(path in FACTS for path, _, _ in found)
