from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashdoctor
from flashdoctor.probes import nvml as nvml_module
from flashdoctor.probes import nvml_child
from flashdoctor.probes.command import Completed
from flashdoctor.probes.gpu_answer import Answer
from flashdoctor.probes.nvml import may_exist, parse_report, read_nvml
from flashdoctor.probes.visible_devices import Seen

Stub = Callable[[str], dict[str, str]]
PLENTY = 30.0


@pytest.fixture
def ask(nvml_stub: Stub, tmp_path: Path) -> Callable[..., Answer]:
    def ask(scene: str, timeout_s: float = PLENTY, **variables: str) -> Answer:
        return read_nvml({**nvml_stub(scene), **variables}, timeout_s, tmp_path)

    return ask


@pytest.mark.parametrize(
    ("scene", "name", "capability", "memory"),
    [
        ("v100", "Tesla V100-SXM2-32GB", "7.0", (32768, 0)),
        ("t4", "Tesla T4", "7.5", (15360, 2117)),
        ("rtx4090", "NVIDIA GeForce RTX 4090", "8.9", (24564, 21034)),
        ("l40s", "NVIDIA L40S", "8.9", (46068, 0)),
        ("h100x8", "NVIDIA H100 80GB HBM3", "9.0", (81559, 70000)),
        ("h200", "NVIDIA H200", "9.0", (143771, 0)),
        ("b200", "NVIDIA B200", "10.0", (183359, 0)),
        ("rtx5090", "NVIDIA GeForce RTX 5090", "12.0", (32607, 1203)),
    ],
)
def test_cards(
    ask: Callable[..., Answer], scene: str, name: str, capability: str, memory: tuple[int, int]
) -> None:
    answer = ask(scene)
    assert (answer.status, answer.error) == ("ok", "")
    device = answer.devices[0]
    assert device["name"] == name
    assert device["compute_capability"] == capability
    assert (device["memory_total_mib"], device["memory_used_mib"]) == memory
    assert answer.visible is not None
    assert answer.visible.order[0] == Seen(0)


def test_everything_that_is_asked_of_a_card(ask: Callable[..., Answer]) -> None:
    answer = ask("t4")
    assert (answer.driver, answer.cuda, answer.count) == ("550.90.07", "12.4", 1)
    assert answer.devices == (
        {
            "index": 0,
            "name": "Tesla T4",
            "compute_capability": "7.5",
            "memory_total_mib": 15360,
            "memory_used_mib": 2117,
            "mig_enabled": False,
            "ecc_enabled": True,
            "pcie_generation": 3,
            "pcie_generation_max": 3,
            "pcie_width": 8,
            "pcie_width_max": 16,
            "throttle_reasons": ["power-cap"],
            "processes": [{"name": "python3", "used_mib": 2114}],
        },
    )


def test_processes_carry_a_bare_name_and_are_not_counted_twice(
    ask: Callable[..., Answer],
) -> None:
    (device,) = ask("rtx4090").devices
    assert device["throttle_reasons"] == ["power-cap", "sw-thermal"]
    assert device["processes"] == [
        {"name": "python", "used_mib": 512},
        {"name": "VLLM::EngineCore", "used_mib": 20000},
        {"name": "Xorg", "used_mib": 310},
    ]


def test_a_library_that_prints_does_no_harm(ask: Callable[..., Answer]) -> None:
    answer = ask("rtx5090")
    assert answer.status == "ok"
    assert answer.devices[0]["throttle_reasons"] == ["0x200"]


def test_mig(ask: Callable[..., Answer]) -> None:
    answer = ask("a100_mig")
    first, second = answer.devices
    assert (first["mig_enabled"], first["mig_instances"]) == (True, 2)
    assert first["mig_memory"] == [[20096, 25], [9856, 12]]
    assert second["mig_enabled"] is False
    assert answer.visible is not None
    assert answer.visible.order == (Seen(0, 0),), "CUDA shows one MIG device and nothing beside it"


def test_a_mig_device_by_its_uuid(ask: Callable[..., Answer]) -> None:
    answer = ask("a100_mig", CUDA_VISIBLE_DEVICES="MIG-00000001-0002")
    assert answer.visible is not None
    assert answer.visible.order == (Seen(0, 1),)


@pytest.mark.parametrize(
    ("scene", "state"),
    [("h100x8", "not-started"), ("h200", "completed"), ("b200", "completed-with-error")],
)
def test_fabric_states(ask: Callable[..., Answer], scene: str, state: str) -> None:
    assert {device["fabric_state"] for device in ask(scene).devices} == {state}


def test_memory_that_nvml_does_not_report(ask: Callable[..., Answer]) -> None:
    answer = ask("gb10")
    assert answer.status == "ok"
    (device,) = answer.devices
    assert "memory_total_mib" not in device
    assert answer.refusals[0, "nvmlDeviceGetMemoryInfo"] == "Not Supported"
    assert device["processes"] == [{"name": "ollama", "used_mib": None}]


def test_unlike_cards_are_ordered_fastest_first(ask: Callable[..., Answer]) -> None:
    guessed = ask("mixed").visible
    assert guessed is not None
    assert (guessed.order, guessed.guessed) == ((Seen(1), Seen(0)), True)
    by_bus = ask("mixed", CUDA_DEVICE_ORDER="PCI_BUS_ID").visible
    assert by_bus is not None
    assert (by_bus.order, by_bus.guessed) == ((Seen(0), Seen(1)), False)


def test_a_driver_without_gpus(ask: Callable[..., Answer]) -> None:
    answer = ask("none")
    assert (answer.status, answer.count, answer.devices) == ("ok", 0, ())
    assert answer.useful


@pytest.mark.parametrize(
    ("scene", "status", "words"),
    [
        ("version_mismatch", "version-mismatch", "RM has detected an NVML/RM version mismatch."),
        ("driver_not_loaded", "driver-not-loaded", "Driver Not Loaded"),
        ("no_permission", "no-permission", "Insufficient Permissions"),
        ("blocked", "no-permission", "The operating system has blocked the request."),
        ("unknown_error", "unknown-error", "Unknown Error"),
        ("no_library", "library-not-found", "NVML Shared Library Not Found"),
    ],
)
def test_failures_to_start(ask: Callable[..., Answer], scene: str, status: str, words: str) -> None:
    answer = ask(scene)
    assert (answer.status, answer.error) == (status, words)
    assert (answer.count, answer.devices, answer.useful) == (None, (), False)


def test_a_lost_gpu_does_not_hide_the_other(ask: Callable[..., Answer]) -> None:
    answer = ask("gpu_lost")
    assert (answer.status, answer.error) == ("gpu-lost", "GPU is lost")
    assert answer.count == 2
    assert answer.devices[0]["name"] == "NVIDIA H100 80GB HBM3"
    assert answer.devices[1] == {"index": 1}


def test_a_hang_at_the_start_is_killed(ask: Callable[..., Answer]) -> None:
    started = time.monotonic()
    answer = ask("hang_init", timeout_s=2.0)
    assert time.monotonic() - started < 4
    assert (answer.status, answer.count) == ("timeout", None)
    assert answer.error == "no answer to nvmlInitWithFlags within 2 s"


def test_a_hang_later_keeps_what_was_said(ask: Callable[..., Answer]) -> None:
    answer = ask("hang_memory", timeout_s=2.5, CUDA_VISIBLE_DEVICES="1")
    assert (answer.status, answer.driver, answer.cuda) == ("timeout", "550.90.07", "12.4")
    assert answer.error == "no answer to nvmlDeviceGetMemoryInfo within 2.5 s"
    first, second = answer.devices
    assert first["memory_total_mib"] == 81559
    assert second["compute_capability"] == "9.0"
    assert "memory_total_mib" not in second
    assert answer.visible is not None
    assert answer.visible.order == (Seen(1),)


def test_after_a_hang_uuids_cannot_be_resolved(ask: Callable[..., Answer]) -> None:
    visible = ask("hang_memory", timeout_s=2.5, CUDA_VISIBLE_DEVICES="GPU-00000001").visible
    assert visible is not None
    assert visible.unresolved


def test_a_crash_is_an_answer(ask: Callable[..., Answer]) -> None:
    answer = ask("crash")
    assert answer.status == "unknown-error"
    assert answer.error == "nvmlDeviceGetCount ended the process by signal 11"
    assert answer.driver == "550.90.07"


def test_no_uuid_leaves_the_child(nvml_stub: Stub) -> None:
    environ = {**nvml_stub("a100_mig"), "CUDA_VISIBLE_DEVICES": "GPU-00000002-0000,GPU-0000abcd"}
    args = [sys.executable, "-I", "-S", "-c", nvml_module._START, *nvml_module._search_path()]
    done = subprocess.run(args, env=environ, capture_output=True, text=True, check=True, timeout=60)
    assert '"end"' in done.stdout
    assert '"GPU-\\u2026"' in done.stdout, "an entry that names nothing is shown masked"
    assert "00000001" not in done.stdout
    assert "00000002" not in done.stdout
    assert "0000abcd" not in done.stdout


def test_from_a_zip_file(nvml_stub: Stub, tmp_path: Path) -> None:
    package = Path(flashdoctor.__file__).parent
    pynvml = next(p for p in map(Path, sys.path) if (p / "pynvml.py").is_file()) / "pynvml.py"
    archive = tmp_path / "flashdoctor.pyz"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(pynvml, "pynvml.py")
        for source in package.rglob("*.py"):
            file.write(source, f"flashdoctor/{source.relative_to(package).as_posix()}")
        file.writestr(
            "__main__.py",
            "import os\nfrom pathlib import Path\nfrom flashdoctor.probes.nvml import read_nvml\n"
            "print(read_nvml(os.environ, 30.0, Path('/nowhere')).devices[0]['name'])\n",
        )
    args = [sys.executable, "-I", "-S", str(archive)]
    environ = nvml_stub("h200")
    done = subprocess.run(args, env=environ, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "NVIDIA H200\n"


def test_a_pynvml_that_cannot_be_imported(
    nvml_stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pynvml.py").write_text("raise ImportError('wrong package')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    answer = read_nvml(nvml_stub("h200"), PLENTY, tmp_path)
    assert answer.status == "unknown-error"
    assert answer.error == "pynvml: ImportError: wrong package"


def test_a_child_that_does_not_get_to_the_question(
    nvml_stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml_module, "_search_path", lambda: [str(tmp_path)])
    answer = read_nvml(nvml_stub("h200"), PLENTY, tmp_path)
    assert answer.status == "unknown-error"
    assert answer.error == (
        "the process that asks NVML ended in the start of Python with status 1: "
        "ModuleNotFoundError: No module named 'flashdoctor'"
    )


@pytest.mark.parametrize("place", ["lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/wsl/lib"])
def test_a_library_in_a_system_folder_may_be_there(tmp_path: Path, place: str) -> None:
    (tmp_path / place).mkdir(parents=True)
    assert not may_exist({}, tmp_path)
    (tmp_path / place / "libnvidia-ml.so.1").touch()
    assert may_exist({}, tmp_path)


def test_a_library_in_the_loaders_cache_may_be_there(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ld.so.cache").write_bytes(b"\0libnvidia-ml.so.1\0/opt/libnvidia-ml.so.1\0")
    assert may_exist({"LD_LIBRARY_PATH": "::"}, tmp_path)


def test_a_folder_that_may_not_be_looked_at_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.stat

    def stat(path: Path, **options: bool) -> os.stat_result:
        if path.is_relative_to("/another"):
            raise PermissionError(13, "Permission denied")
        return real(path, **options)

    monkeypatch.setattr(Path, "stat", stat)
    assert not may_exist({"LD_LIBRARY_PATH": "/another/user"}, tmp_path)


@pytest.mark.parametrize("node", ["dev/nvidiactl", "dev/dxg", "proc/driver/nvidia"])
def test_a_device_node_is_worth_a_question(tmp_path: Path, node: str) -> None:
    (tmp_path / node).mkdir(parents=True)
    assert may_exist({}, tmp_path)


def test_no_sign_of_nvml_starts_no_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml_module, "run", None)
    answer = read_nvml({"LD_LIBRARY_PATH": str(tmp_path)}, PLENTY, tmp_path)
    assert (answer.status, answer.count) == ("library-not-found", None)


def test_no_python_to_ask_with(nvml_stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    assert read_nvml(nvml_stub("h200"), PLENTY, Path("/nowhere")).status == "unknown-error"
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    answer = read_nvml(nvml_stub("h200"), PLENTY, Path("/nowhere"))
    assert answer.error == "the process that asks NVML failed: not-found"


def test_the_child_is_known_by_its_mark() -> None:
    assert nvml_module._SENTINEL == nvml_child.SENTINEL


_WORDS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(
    st.lists(
        st.tuples(st.sampled_from(["call", "put", "fail", "end", "else"]), _WORDS, _WORDS, _WORDS)
    ),
    st.text(max_size=20),
)
def test_any_report_gives_an_answer(lines: list[tuple[object, ...]], rest: str) -> None:
    text = "\n".join(f"{nvml_child.SENTINEL}{json.dumps(line)}" for line in lines)
    answer = parse_report(Completed(stdout=f"{text}\n{rest}", status=0), {}, 1.0)
    assert answer.status


def test_a_report_cut_off_in_a_line() -> None:
    lines: Mapping[str, object] = {"driver": "550.1", "count": 1}
    said = [f"{nvml_child.SENTINEL}{json.dumps(['put', None, *item])}" for item in lines.items()]
    text = "\n".join([*said, f'{nvml_child.SENTINEL}["put", 0, "na'])
    answer = parse_report(Completed(stdout=text, failure="timeout"), dict(os.environ), 4.0)
    assert (answer.driver, answer.devices, answer.useful) == ("550.1", ({"index": 0},), False)
