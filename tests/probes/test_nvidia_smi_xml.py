from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.probes.gpu_answer import Answer
from flashdoctor.probes.nvidia_smi_xml import parse_xml
from flashdoctor.probes.visible_devices import Seen

Recorded = Callable[[str], str]


def need(answer: Answer | None) -> Answer:
    assert answer is not None
    return answer


def order(answer: Answer) -> tuple[Seen, ...]:
    assert answer.visible is not None
    assert not answer.visible.unresolved
    return answer.visible.order


def test_recorded_xml(recorded: Recorded) -> None:
    answer = need(parse_xml(recorded("h200x2.xml"), {}, {0: "9.0", 1: "9.0"}))
    assert (answer.status, answer.driver, answer.cuda) == ("ok", "580.159.04", "13.0")
    assert answer.count == 2
    assert answer.devices[1] == {
        "index": 1,
        "name": "NVIDIA H200",
        "compute_capability": "9.0",
        "memory_total_mib": 143771,
        "memory_used_mib": 0,
        "mig_enabled": False,
        "ecc_enabled": True,
        "pcie_generation": 5,
        "pcie_generation_max": 5,
        "pcie_width": 16,
        "pcie_width_max": 16,
        "throttle_reasons": ["idle"],
        "fabric_state": "completed",
        "processes": [],
    }
    assert order(answer) == (Seen(0), Seen(1))


def test_uuids_of_the_xml_are_used_and_not_kept(recorded: Recorded) -> None:
    answer = need(parse_xml(recorded("h200x2.xml"), {"CUDA_VISIBLE_DEVICES": "GPU-00000002"}))
    assert order(answer) == (Seen(1),)
    assert "00000002" not in repr(answer)


_MIG_XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
  <kmd_version>610.57.04</kmd_version>
  <cuda_umd_version>13.3</cuda_umd_version>
  <attached_gpus>1</attached_gpus>
  <gpu id="00000000:00:09.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <mig_mode><current_mig>Enabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
    <mig_devices>
      <mig_device><index>0</index><gpu_instance_id>1</gpu_instance_id>
        <compute_instance_id>0</compute_instance_id>
        <fb_memory_usage><total>40448 MiB</total><used>298 MiB</used></fb_memory_usage>
      </mig_device>
      <mig_device><index>1</index><gpu_instance_id>2</gpu_instance_id>
        <compute_instance_id>0</compute_instance_id>
        <fb_memory_usage><total>20096 MiB</total><used>12 MiB</used></fb_memory_usage>
      </mig_device>
    </mig_devices>
    <driver_model><current_dm>N/A</current_dm></driver_model>
    <uuid>GPU-0000abcd-0000</uuid>
    <fb_memory_usage><total>81559 MiB</total><used>N/A</used></fb_memory_usage>
    <ecc_mode><current_ecc>N/A</current_ecc></ecc_mode>
    <clocks_throttle_reasons>
      <clocks_throttle_reason_sw_power_cap>Active</clocks_throttle_reason_sw_power_cap>
      <clocks_throttle_reason_hw_slowdown>Active
        <clocks_throttle_reason_hw_thermal_slowdown>Active</clocks_throttle_reason_hw_thermal_slowdown>
      </clocks_throttle_reason_hw_slowdown>
    </clocks_throttle_reasons>
    <fabric><state>In Progress</state><status>N/A</status></fabric>
    <processes>
      <process_info><pid>7</pid><type>C</type><process_name>/home/me/bin/python3 x.py</process_name>
        <used_memory>280 MiB</used_memory></process_info>
      <process_info><pid>8</pid><type>C</type><process_name>[N/A]</process_name>
        <used_memory>N/A</used_memory></process_info>
    </processes>
  </gpu>
</nvidia_smi_log>
"""


def test_xml_of_a_newer_driver_with_mig() -> None:
    answer = need(parse_xml(_MIG_XML, {}))
    assert (answer.driver, answer.cuda) == ("610.57.04", "13.3")
    assert answer.devices == (
        {
            "index": 0,
            "name": "NVIDIA H100 80GB HBM3",
            "memory_total_mib": 81559,
            "mig_enabled": True,
            "mig_instances": 2,
            "mig_memory": [(40448, 298), (20096, 12)],
            "throttle_reasons": ["power-cap", "hw-slowdown", "hw-thermal"],
            "fabric_state": "in-progress",
            "processes": [
                {"name": "python3", "used_mib": 280},
                {"name": None, "used_mib": None},
            ],
        },
    )
    assert order(answer) == (Seen(0, 0),)


def test_mig_devices_whose_uuids_the_xml_leaves_out() -> None:
    by_uuid = need(parse_xml(_MIG_XML, {"CUDA_VISIBLE_DEVICES": "MIG-0123abcd"}))
    assert by_uuid.visible is not None
    assert by_uuid.visible.unresolved
    by_place = {"CUDA_VISIBLE_DEVICES": "MIG-GPU-0000abcd-0000/2/0"}
    assert order(need(parse_xml(_MIG_XML, by_place))) == (Seen(0, 1),)


def test_a_lost_gpu_in_the_xml_has_no_name(recorded: Recorded) -> None:
    text = recorded("h200x2.xml").replace(
        "<product_name>NVIDIA H200<", "<product_name>GPU is lost<", 1
    )
    answer = need(parse_xml(text, {}))
    assert (answer.status, answer.error) == ("gpu-lost", "GPU is lost")
    assert "name" not in answer.devices[0]
    assert answer.devices[1]["name"] == "NVIDIA H200"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<nvidia_smi_log><gpu>",
        "<html><body>no</body></html>",
        '<!DOCTYPE x [<!ENTITY a "aaaa">]><nvidia_smi_log>&a;</nvidia_smi_log>',
        "<nvidia_smi_log>&undefined;</nvidia_smi_log>",
        "<nvidia_smi_log>" + " " * 2**22 + "</nvidia_smi_log>",
    ],
)
def test_what_is_not_nvidia_smis_xml(text: str) -> None:
    assert parse_xml(text, {}) is None


@given(st.text(), st.integers(0, 24000), st.integers(0, 400))
def test_damaged_xml_never_raises(recorded: Recorded, junk: str, place: int, length: int) -> None:
    text = recorded("h200x2.xml")
    answer = parse_xml(text[:place] + junk + text[place + length :], {})
    assert answer is None or (answer.count or 0) <= 2 + junk.count("<gpu")
