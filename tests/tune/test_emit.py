from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from flashdoctor.errors import UsageError
from flashdoctor.tune.emit import FORMS, Launch, command, emit, slug

NASTY = 'it\'s; rm -rf $HOME `id` "q" \\ %h $(x) ${y} #c\n!x & * ~'
PLAIN = Launch(
    model="acme/Llama-8B",
    version="0.25.1+cu130",
    flags=(("--max-model-len", "32768"), ("--enable-expert-parallel", None)),
    environment=(("VLLM_WSL2_ENABLE_PIN_MEMORY", "1"),),
)
LOCAL = Launch(
    model=NASTY,
    folder=f"/models/{NASTY}, b",
    version="0.25.1",
    flags=(("--served-model-name", NASTY), ("--max-num-seqs", "-1"), ("--hf-overrides", '{"a":1}')),
    environment=(("NOTE", NASTY),),
    gpus=2,
)
ARGUMENT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20
)


def run_in_shell(program: str, text: str, folder: Path) -> list[str]:
    """Run emitted text in bash with a function in the program's place: it prints what it gets."""
    script = f'{program}() {{ printf "%s\\0" "$@" "note=${{NOTE-}}"; }}\n{text}'
    checked = subprocess.run(["bash", "-n"], input=script.encode(), check=False, timeout=60,
                             capture_output=True)  # fmt: skip
    assert (checked.returncode, checked.stderr) == (0, b"")
    done = subprocess.run(["bash", "--norc", "-c", script], check=True, timeout=60, cwd=folder,
                          capture_output=True, env={"HOME": "/home/u"})  # fmt: skip
    assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


def test_shell_text_is_readable() -> None:
    assert emit("shell", PLAIN) == (
        "VLLM_WSL2_ENABLE_PIN_MEMORY=1 \\\n"
        "vllm serve acme/Llama-8B \\\n"
        "  --max-model-len 32768 \\\n"
        "  --enable-expert-parallel\n"
    )


def test_a_real_shell_gets_the_arguments(tmp_path: Path) -> None:
    got = run_in_shell("vllm", emit("shell", LOCAL), tmp_path)
    assert ["vllm", *got[:-1]] == command(LOCAL)
    assert got[-1] == f"note={NASTY}"


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(ARGUMENT, ARGUMENT)
def test_any_text_survives_a_shell(tmp_path: Path, model: str, value: str) -> None:
    launch = Launch(model=model, version="0.25.1", flags=(("--x", value),))
    assert ["vllm", *run_in_shell("vllm", emit("shell", launch), tmp_path)[:-1]] == command(launch)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(ARGUMENT)
@example(NASTY)
def test_docker_gets_the_arguments_and_the_mount(tmp_path: Path, text: str) -> None:
    launch = Launch(
        model=text, folder=f"/{text}", version="0.25.1", environment=(("A", text),), gpus=2
    )
    got = run_in_shell("docker", emit("docker", launch), tmp_path)[:-1]
    assert got[:5] == ["run", "--rm", "--gpus", "2", "--ipc=host"]
    mount = got[got.index("--mount") + 1]
    fields = next(csv.reader([mount], strict=True)) if "\n" not in mount + "\r" else None
    wanted = ["type=bind", f"source=/{text}", f"target=/{text}", "readonly"]
    if "\n" not in text and "\r" not in text:
        assert next(csv.reader([mount], strict=True)) == wanted
    assert fields is None or fields == wanted
    assert got[got.index("--env") + 1] == f"A={text}"
    at = got.index("vllm/vllm-openai:v0.25.1")
    assert got[at + 1 :] == ["--model", f"/{text}"]


def test_docker_of_a_name_mounts_the_cache(tmp_path: Path) -> None:
    got = run_in_shell("docker", emit("docker", PLAIN), tmp_path)
    assert "/home/u/.cache/huggingface:/root/.cache/huggingface" in got
    assert got[got.index("vllm/vllm-openai:v0.25.1") + 1 :][:2] == ["--model", "acme/Llama-8B"]


# A strict reader of the YAML that is written here: block mappings and lists, double-quoted texts,
# plain words and whole numbers.

_KEY = re.compile(r"([A-Za-z_][\w./-]*):(?: (.+))?")
_PLAIN = re.compile(r"[A-Za-z/][\w/.-]*")
_ESCAPE = re.compile(r'\\(?:u([0-9a-f]{4})|U([0-9a-f]{8})|(["\\]))')


def read_scalar(text: str) -> Any:
    if text == "{}":
        return {}
    if text.isdigit():
        return int(text)
    if text in {"true", "false"}:
        return text == "true"
    if text[0] == '"':
        inner = text[1:-1]
        assert text[-1] == '"'
        assert re.fullmatch(r'(?:[ !#-\[\]-~]|\\(?:u[0-9a-f]{4}|U[0-9a-f]{8}|["\\]))*', inner)
        return _ESCAPE.sub(lambda m: m[3] or chr(int(m[1] or m[2], 16)), inner)
    assert _PLAIN.fullmatch(text), text
    return text


def read_yaml(text: str) -> Any:
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines()]
    value, rest = read_block(lines, lines[0][0])
    assert rest == []
    return value


def read_block(lines: list[tuple[int, str]], indent: int) -> tuple[Any, list[tuple[int, str]]]:
    if lines[0][1].startswith("- "):
        items = []
        while lines and lines[0][0] == indent and lines[0][1].startswith("- "):
            body = lines[0][1][2:]
            if _KEY.fullmatch(body) and not body.startswith('"'):
                value, lines = read_block([(indent + 2, body), *lines[1:]], indent + 2)
            else:
                value, lines = read_scalar(body), lines[1:]
            items.append(value)
        return items, lines
    found: dict[str, Any] = {}
    while lines and lines[0][0] == indent and not lines[0][1].startswith("- "):
        match = _KEY.fullmatch(lines[0][1])
        assert match, lines[0]
        assert match[1] not in found
        if match[2] is not None:
            found[match[1]], lines = read_scalar(match[2]), lines[1:]
        else:
            found[match[1]], lines = read_block(lines[1:], lines[1][0])
    assert not lines or lines[0][0] <= indent
    return found, lines


def readers() -> list[Any]:
    try:
        return [read_yaml, import_module("yaml").safe_load]
    except ImportError:
        return [read_yaml]


@pytest.mark.parametrize("read", readers())
@settings(max_examples=50, deadline=None)
@given(ARGUMENT)
@example(NASTY)
@example("\U0001f600\x85\u2028\ufeff")
def test_compose_is_yaml_that_gives_the_arguments(read: Any, text: str) -> None:
    launch = Launch(model=text, folder=f"/{text}", version="0.25.1", gpus=2,
                    flags=(("--x", f"v{text}"),), environment=(("A", text),))  # fmt: skip
    service = read(emit("compose", launch))["services"]["vllm"]
    filled = [word.replace("$$", "$") for word in service["command"]]
    assert filled == ["--model", f"/{text}", "--x", f"v{text}"]
    assert all("$" not in word.replace("$$", "") for word in service["command"])
    assert service["environment"]["A"].replace("$$", "$") == text
    assert service["volumes"][0]["source"].replace("$$", "$") == f"/{text}"
    devices = service["deploy"]["resources"]["reservations"]["devices"]
    assert devices == [{"driver": "nvidia", "count": 2, "capabilities": ["gpu"]}]
    assert service["image"] == "vllm/vllm-openai:v0.25.1"


@pytest.mark.parametrize("read", readers())
@settings(max_examples=50, deadline=None)
@given(ARGUMENT)
@example(NASTY)
def test_kubernetes_is_yaml_that_gives_the_arguments(read: Any, text: str) -> None:
    launch = Launch(model=text, folder=f"/{text}", version="0.25.1", gpus=2,
                    flags=(("--x", f"v{text}"),), environment=(("A", text),))  # fmt: skip
    body = read(emit("kubernetes", launch))
    assert (body["apiVersion"], body["kind"]) == ("apps/v1", "Deployment")
    spec = body["spec"]["template"]["spec"]
    container = spec["containers"][0]
    assert [word.replace("$$", "$") for word in container["args"]] == [
        "--model", f"/{text}", "--x", f"v{text}"]  # fmt: skip
    assert container["env"] == [{"name": "A", "value": text.replace("$", "$$")}]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 2}}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts == {"shared-memory": "/dev/shm", "model": f"/{text}"}
    assert {volume["name"] for volume in spec["volumes"]} == set(mounts)
    assert re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", body["metadata"]["name"])
    assert spec["enableServiceLinks"] is False


@pytest.mark.parametrize("read", readers())
@pytest.mark.parametrize("form", ["compose", "kubernetes"])
def test_a_name_needs_no_folder(read: Any, form: str) -> None:
    text = json.dumps(read(emit(form, PLAIN)))
    assert "acme/Llama-8B" in text
    assert "/root/.cache/huggingface" in text
    assert "readOnly" not in text


def read_unit(text: str) -> dict[str, list[str]]:
    joined = text.replace("\\\n", " ")
    found: dict[str, list[str]] = {}
    for line in joined.splitlines():
        if "=" in line and not line.startswith("["):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def split_unit_words(value: str) -> list[str]:
    """Split as systemd.syntax(7) says: double quotes and C escapes in them."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', value)
    return [bytes_of(quoted).decode() if quoted else plain for quoted, plain in words]


def bytes_of(text: str) -> bytes:
    parts = re.findall(r'\\x([0-9a-f]{2})|\\(["\\])|([^\\])', text)
    return b"".join(bytes([int(h, 16)]) if h else (e or c).encode() for h, e, c in parts)


@settings(max_examples=50, deadline=None)
@given(ARGUMENT)
@example(NASTY)
def test_systemd_gets_the_arguments(text: str) -> None:
    launch = Launch(model=text, folder=f"/{text}", version="0.25.1",
                    flags=(("--x", f"v{text}"),), environment=(("A", text),))  # fmt: skip
    unit = read_unit(emit("systemd", launch))
    words = [
        w.replace("%%", "%").replace("$$", "$") for w in split_unit_words(unit["ExecStart"][0])
    ]
    assert words == ["/usr/bin/env", "vllm", "serve", f"/{text}", "--x", f"v{text}"]
    assert [w.replace("%%", "%") for w in split_unit_words(unit["Environment"][0])] == [f"A={text}"]


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not here")
    unit = tmp_path / "vllm.service"
    unit.write_text(emit("systemd", LOCAL), encoding="utf-8")
    done = subprocess.run([program, "verify", unit], check=False, timeout=60, capture_output=True,
                          text=True)  # fmt: skip
    ours = [line for line in done.stderr.splitlines() if "vllm.service" in line]
    assert (done.returncode, ours) == (0, [])


@pytest.mark.parametrize("form", FORMS)
def test_what_no_text_holds_is_wrong_usage(form: str) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        emit(form, Launch(model="/m/\udcff", version="0.25.1"))


def test_old_releases_have_no_vllm_serve(tmp_path: Path) -> None:
    launch = Launch(model="-m", version="0.4.3", flags=(("--max-model-len", "4096"),))
    got = run_in_shell("python", emit("shell", launch), tmp_path)
    assert got[:-1] == ["-m", "vllm.entrypoints.openai.api_server", "--model=-m",
                        "--max-model-len", "4096"]  # fmt: skip
    assert command(Launch(model="-m", version="0.25.1"))[:3] == ["vllm", "serve", "./-m"]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("acme/Llama-3.1-8B", "vllm-llama-3-1-8b"),
        ("/a/b/", "vllm-b"),
        ("\u4e2d", "vllm-server"),
        ("x" * 99, "vllm-" + "x" * 40),
    ],
)
def test_names_in_kubernetes(model: str, name: str) -> None:
    assert slug(model) == name
