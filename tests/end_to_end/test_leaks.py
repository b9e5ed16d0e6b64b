"""Secrets and names planted wherever a snapshot or a log can carry them, looked for in all outputs.

No two parts of a secret stand together in this file, so that no scanner takes them for real ones.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flashdoctor.cli.main import main
from flashdoctor.model.catalog import FACTS, FactSpec
from flashdoctor.render.formats import FORMATS

Said = Callable[..., str]

A, B = "aBcDeFgHiJ1234567890", "kLmNoPqRsT0987654321"
HEX = "0123456789abcdef"

# What is planted, and the part that must not come out.
PLANTED: dict[str, tuple[str, str]] = {
    "gpu uuid": ("GPU-5f3c2a10-9e1b-4d77-8c22-0a1b2c3d4e5f", "5f3c2a10"),
    "mig uuid": ("MIG-7b1c2d3e-aaaa-bbbb-cccc-0123456789ab", "7b1c2d3e"),
    "gpu serial": ("Serial Number : 1320922038119", "1320922038119"),
    "gpu pdi": ("GPU PDI : 0x1f2e3d4c5b6a7988", "1f2e3d4c"),
    "guid": ("Node GUID: 0xb8cef60300f1e2d3", "b8cef603"),
    "mac": ("link/ether 3c:ec:ef:12:34:56", "3c:ec:ef"),
    "private address": ("tried 10.23.45.67:29500", "10.23.45.67"),
    "ipv6": ("[2001:db8:85a3::8a2e:370:7334]:80", "8a2e:370"),
    "host name": ("hostname: gpu-secret17", "gpu-secret17"),
    "slurm node": ("SLURMD_NODENAME=gpu-secret17", "gpu-secret17"),
    "node list": ("SLURM_JOB_NODELIST=gpu-secret[17-18]", "gpu-secret"),
    "rendezvous": ("MASTER_ADDR=gpu-secret17", "gpu-secret17"),
    "uname": ("Linux gpu-secret17 5.15.0-91-generic #101-Ubuntu SMP", "gpu-secret17"),
    "cloud host": ("ip-10-1-2-3.eu-west-1.compute.internal", "10-1-2-3"),
    "inner host": ("gpu-secret17.cluster.local refused", "gpu-secret17"),
    "prompt": ("jdoesecret@gpu-secret17:~$ nvidia-smi", "secret"),
    "linux home": ("/home/jdoesecret/models/x", "jdoesecret"),
    "cluster home": ("/users/jdoesecret/x", "jdoesecret"),
    "mac home": ("/Users/jdoesecret/Library/x", "jdoesecret"),
    "windows home": ("C:\\Users\\Jane Doesecret\\AppData\\x", "Doesecret"),
    "wsl home": ("/mnt/c/Users/jdoesecret/x", "jdoesecret"),
    "wsl share": ("\\\\wsl.localhost\\Ubuntu\\home\\jdoesecret\\x", "jdoesecret"),
    "file address": ("file:///home/jdoesecret/x.whl", "jdoesecret"),
    "user": ("USER=jdoesecret", "jdoesecret"),
    "email": ("ask jane.doesecret@corp.example", "doesecret"),
    "address with password": (f"https://jdoe:{A}@pypi.corp.example/simple", A),
    "git with token": (f"git+https://oauth2:{A}@git.corp.example/x.git", A),
    "proxy": (f"HTTPS_PROXY=http://jdoe:{A}@proxy.secret.example:3128", A),
    "proxy host": ("https_proxy=http://proxy.secret.example:3128", "proxy.secret"),
    "pip index": ("--index-url https://pypi.secret.example/simple", "pypi.secret"),
    "pip output": ("Looking in indexes: https://a.secret.example/simple", "a.secret"),
    "registry": ("registry.secret.example:5000/team/llm:1.2", "registry.secret"),
    "image": ("image: registry.secret.example/team/llm:1.2", "registry.secret"),
    "account in a registry": ("123456789012.dkr.ecr.us-east-1.amazonaws.com/x:1", "123456789012"),
    "bucket": ("s3://jdoesecret-bucket/x", "jdoesecret"),
    "hugging face": (f"hf_{A}{B}", A),
    "openai": (f"sk-proj-{A}-{B}", A),
    "anthropic": (f"sk-ant-api03-{A}", A),
    "aws id": ("AKIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7"),
    "aws key": (f"aws_secret_access_key = {A}/{B}", A),
    "aws session": (f"AWS_SESSION_TOKEN={A}==", A),
    "github": (f"ghp_{A}{B}", A),
    "github fine": (f"github_pat_{A}_{B}", A),
    "gitlab": (f"glpat-{A}", A),
    "gitlab runner": (f"glrt-{A}", A),
    "azure account": (f"AccountName=x;AccountKey={A}{B}==", A),
    "azure signature": (f"https://x.blob.core.windows.net/c?sv=2022&sig={A}%3D", A),
    "azure pat": (f"AZURE_DEVOPS_EXT_PAT={A}{B}", A),
    "google": ("AIza" + "SyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
    "ngc": (f"nvapi-{A}{B}", A),
    "docker": (f"dckr_pat_{A}", A),
    "docker config": (f'{{"auths":{{"r.example":{{"auth":"{A}"}}}}}}', A),
    "slack": (f"https://hooks.slack.com/services/T0/B0/{A}", A),
    "stripe": ("sk_" + f"live_{A}", A),
    "sendgrid": ("SG." + f"{A}.{B}", A),
    "vault": (f"hvs.{A}{B}", A),
    "databricks": (f"dapi{HEX}{HEX}", HEX),
    "wandb": (f"WANDB_API_KEY={HEX}{HEX}01234567", HEX),
    "jwt": (f"eyJhbGciOiJIUzI1NiJ9.eyJ{A}.{B}", B),
    "basic": (f"Authorization: Basic {A}==", A),
    "api key": (f"x-api-key: {A}", A),
    "cookie": (f"Cookie: session={A}; csrftoken={B}", A),
    "ssh key": (f"ssh-rsa AAAAB3NzaC1yc2E{A} jdoe@laptop", A),
    "private key": (f"-----BEGIN RSA PRIVATE KEY-----\n{A}\n-----END RSA PRIVATE KEY-----", A),
    "netrc": (f"machine x.example login jdoe password {A}", A),
    "database": (f"postgresql://jdoe:{A}@db.internal/x", A),
    "password": (f"--password {A}", A),
}  # fmt: skip


@pytest.fixture
def said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Said:
    """Return a function that runs a command line and gives all that it says."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> str:
        code = main(args)
        out, err = capsys.readouterr()
        assert (code in {0, 1, 3}, "internal error" in err) == (True, False)
        return out + err

    return run


def value_with(text: str, spec: FactSpec) -> Any:
    """Return a value of the kind that a fact has, the text wherever it can stand."""
    if spec.kind == "records":
        return [dict.fromkeys(spec.keys, text)]
    return (
        [text] if spec.kind in {"texts", "paths", "versions", "capabilities", "targets"} else text
    )


def planted_snapshot(text: str) -> dict[str, Any]:
    """Return a snapshot with the text in each value, source, reason and conflict."""
    facts = {
        path: {"value": value_with(text, spec), "state": "known", "source": text}
        for path, spec in FACTS.items()
    }
    lost = {"value": None, "state": "unknown", "source": text, "reason": text}
    facts |= {"torch.version": lost, "driver.version": lost}
    kept = facts["gpu.name"]
    conflicts = [{"path": "gpu.name", "kept": kept, "dropped": {**kept, "value": f"{text} "}}]
    return {"schema": "flashdoctor/snapshot/v1", "facts": facts, "conflicts": conflicts}


@pytest.mark.parametrize("name", PLANTED)
def test_a_snapshot_gives_nothing_away(said: Said, tmp_path: Path, name: str) -> None:
    text, secret = PLANTED[name]
    body = planted_snapshot(text)
    (tmp_path / "s.json").write_text(json.dumps(body), encoding="utf-8")
    for form in FORMATS:
        assert secret not in said("check", "--snapshot", "s.json", "--format", form, "--verbose")
    told = said("diff", "s.json", "example:v100", "--verbose")
    assert "torch" in told
    assert secret not in told


def test_a_launch_typed_on_windows_gives_nothing_away(said: Said, tmp_path: Path) -> None:
    """A shell's quoting takes the backslashes away, and with them what marks a home folder."""
    launch = "vllm serve C:\\Users\\jdoesecret\\models\\x --max-modl-len 3"
    (tmp_path / "a.log").write_text(f"INFO start\n{launch}\n", encoding="utf-8")
    for form in FORMATS:
        assert "jdoesecret" not in said("diagnose", "a.log", "--format", form, "--verbose")
        assert "jdoesecret" not in said("lint", "a.log", "--format", form, "--verbose")


@pytest.mark.parametrize("name", PLANTED)
def test_a_log_gives_nothing_away(said: Said, tmp_path: Path, name: str) -> None:
    text, secret = PLANTED[name]
    line = text.replace("\n", " ")
    lines = [
        "INFO start", text, "torch==2.9.1+cu130", f"vllm serve m --host={shlex.quote(line)}",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). " + line,
    ]  # fmt: skip
    (tmp_path / "a.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for form in (*FORMATS, "jsonl"):
        assert secret not in said("diagnose", "a.log", "--format", form, "--verbose")
    redacted = said("diagnose", "a.log", "--redact")
    assert "torch==2.9.1+cu130" in redacted
    assert secret not in redacted
