from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.lines import read_lines
from flashdoctor.logs.matcher import make_index
from flashdoctor.logs.parser import Parser
from flashdoctor.logs.parsers.nvidia_smi_xml import PARSER
from flashdoctor.logs.scan import scan
from flashdoctor.model.log import Line
from flashdoctor.probes.nvidia_smi_xml import parse_xml

Stated = Callable[[Parser, str], dict[str, Any]]

DATA = Path(__file__).parents[2] / "data"
H200 = (DATA / "nvidia_smi" / "h200x2.xml").read_text(encoding="utf-8")
MIG = (DATA / "pastes" / "nvidia_smi_x_mig_h100.xml").read_text(encoding="utf-8")
SETTLED = {"nvml.status", "driver.version", "driver.cuda", "gpu.name", "gpu.mig_enabled"}
"""Facts that a cut cannot change; a number of GPUs or of MiB it can leave out."""


def facts_of(text: str) -> dict[str, Any]:
    """Read a text as a paste is read: decoded, cleaned, long lines in pieces."""
    reading = scan(read_lines([text.encode()]), index=make_index(()), parsers=[PARSER])
    assert reading.crashed == ()
    return {fact.path: fact.value for fact in reading.snapshot}


@pytest.mark.parametrize("text", [H200, MIG])
def test_it_agrees_with_the_probe(text: str) -> None:
    answer, read = parse_xml(text, {}), facts_of(text)
    assert answer is not None
    assert list(map(shared, read["gpu.devices"])) == list(map(shared, answer.devices))
    assert (read["driver.version"], read["driver.cuda"]) == (answer.driver, answer.cuda)
    assert read["gpu.count"] == answer.count


def shared(device: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what only one of the two reads."""
    own = {"mig_memory", "processes", "throttle_reasons", "compute_mode"}
    return {key: value for key, value in device.items() if key not in own}


@pytest.mark.parametrize("text", [H200, MIG])
@pytest.mark.parametrize("between", ["", " ", "\n", "\n\n"])
def test_line_breaks_do_not_matter(text: str, between: str) -> None:
    body = text[text.index("<nvidia_smi_log>") :]
    assert facts_of(between.join(line.strip() for line in body.splitlines())) == facts_of(text)


@given(st.integers(0, len(MIG)))
def test_a_paste_cut_anywhere_says_nothing_else(end: int) -> None:
    whole, part = facts_of(MIG), facts_of(MIG[:end])
    assert {path: part[path] for path in SETTLED & part.keys()}.items() <= whole.items()
    assert part.get("gpu.count", 0) <= whole["gpu.count"]


def test_a_fragment_from_the_middle(stated: Stated) -> None:
    text = MIG[MIG.index('<gpu id="00000000:43') :]
    read = stated(PARSER, text)
    assert (read["gpu.name"], read["gpu.count"]) == ("NVIDIA H100 80GB HBM3", 1)
    assert read["gpu.devices"][0]["compute_mode"] == "default"


def test_a_gpu_that_answers_with_an_error(stated: Stated) -> None:
    text = '<gpu id="00000000:1B:00.0"><product_name>GPU is lost</product_name></gpu>'
    read = stated(PARSER, text)
    assert (read["nvml.status"], read["nvml.error"]) == ("gpu-lost", "GPU is lost")
    assert "gpu.name" not in read


def test_the_next_report_is_another_one(stated: Stated) -> None:
    assert stated(PARSER, H200 + H200)["gpu.count"] == 2


def test_prose_ends_a_report_that_was_cut(stated: Stated) -> None:
    cut = MIG[: MIG.index("<fb_memory_usage>")]
    text = f"{cut}\n" + "and then the training died\n" * 9 + "<total>7 MiB</total>\n"
    assert "gpu.memory_mib" not in stated(PARSER, text)


def test_entities_are_not_expanded(stated: Stated) -> None:
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">\n' for n in range(1, 30))
    text = (
        '<?xml version="1.0"?>\n<!DOCTYPE nvidia_smi_log [\n<!ENTITY a0 "lol">\n'
        f'{laughs}<!ENTITY f SYSTEM "file:///etc/passwd">\n]>\n<nvidia_smi_log>\n'
        "<driver_version>&a29;</driver_version>\n<cuda_version>&f;</cuda_version>\n"
        '<gpu id="0"><product_name>&f;</product_name></gpu>\n</nvidia_smi_log>\n'
    )
    read = stated(PARSER, text)
    assert read["gpu.name"] == "&f;"
    assert not {"driver.version", "driver.cuda"} & read.keys()


def test_what_is_kept_is_bounded() -> None:
    feed = PARSER.start()
    list(feed.feed(Line(1, "<nvidia_smi_log>")))
    for number in range(2, 3000):
        list(
            feed.feed(Line(number, f'<a><b><gpu id="{number}"><mig_device><index>{number}</index>'))
        )
    found = {item.fact.path: item.fact.value for item in feed.end()}
    assert found["gpu.count"] == 72
    assert len(json.dumps(found)) < 9000
