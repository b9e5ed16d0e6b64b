"""What a key, a token or a password looks like in a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

Swap: TypeAlias = str | Callable[[re.Match[str]], str]


class Rule(NamedTuple):
    """What to cut. A pattern is compiled when the first text holds one of the rule's `needles`.

    Needles are lower case; compiling them all at import would cost more than most runs need.
    """

    needles: tuple[str, ...]
    pattern: str
    swap: Swap


# A value behind `key=`: quoted, or up to the next blank.
VALUE = r"""(?:"[^"\n]*"|'[^'\n]*'|\S)+"""
GAP = r"""["']?[ \t]*(?:=|:(?!:))[ \t]*"""
# What says whether there is a secret is none.
_NONE = r"""(?!(?:None|null|nil|""|''|True|False|true|false)(?![\w.\-+/=]))"""
_VARIABLE = r"[\w.-]{0,60}(?:token|secret|passw(?:or)?d|credentials?|[_-]key|_pat)[\w-]{0,20}"

SECRETS = (
    Rule(
        ("-----begin",),
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?s:.*?)(?:-----END [A-Z0-9 ]*-----|\Z)",
        "<secret>",
    ),
    Rule(("@",), r"(?<=://)[^\s/]+@[^\s/:?#@]*", "<secret>@<host>"),
    Rule(
        ("authorization", "cookie"),
        rf"(?i)((?:authorization|cookie){GAP})[^\r\n]+",
        r"\1<secret>",
    ),
    Rule(
        ("ssh-", "ecdsa-", "sha256:", "md5:"),
        r"\b((?:sk-)?(?:ssh-[\w-]+|ecdsa-sha2-[\w-]+)(?:@openssh\.com)?[ \t]+)AAAA[\w+/=]+"
        r"|\b((?:SHA256:(?=[\w+/]{43}(?![\w+/])))|MD5:(?=(?:[0-9a-f]{2}:){15}))[\w+/:]+",
        lambda match: f"{match[1] or match[2]}<secret>",
    ),
    Rule(("login",), r"(?i)(\blogin[ \t]+)\S+([ \t]+password[ \t]+)\S+", r"\1<user>\2<secret>"),
    Rule(
        ("password",),
        r"(?im)^([ \t]*password[ \t]+)(?=\S*[\d\W])(?!<secret>)\S+[ \t]*$",
        r"\1<secret>",
    ),
    Rule(
        ("curl",),
        rf"(\bcurl\b[^\n]{{0,300}}?[ \t](?:-u|--user)[ \t=]*)(?=[^\s:]*:){VALUE}",
        r"\1<secret>",
    ),
    Rule(
        ("sshpass", " login"),
        r"(\bsshpass[ \t]+-p[ \t]*|\b(?:docker|podman|nerdctl|registry|oras|crane)[ \t]+login\b"
        rf"[^\n]{{0,300}}?[ \t]-p[ \t=]*){VALUE}",
        r"\1<secret>",
    ),
    Rule(  # an environment variable of Kubernetes, in YAML or JSON
        ("value",),
        rf"""(?i)(["']?name["']?:[ \t]*["']?{_VARIABLE}["']?(?:,|,?[ \t]*\n)[ \t]*"""
        rf"""["']?value["']?:[ \t]*){VALUE}""",
        r"\1<secret>",
    ),
    Rule(("wandb",), r"(\bwandb[ \t]+login[ \t]+(?:--[\w-]+[ \t]+)*)[\w-]{20,}", r"\1<secret>"),
    Rule(
        ("auth",),
        r"""(["']auth["'][ \t]*:[ \t]*["'])[\w+/=]{8,}"""
        r"""|(\b_?auth[ \t]*[:=][ \t]*["']?)"""
        r"""(?=[\w+/]{12,}={0,2}(?![\w+/]))(?=[\w+/]*[0-9A-Z])[\w+/]+=*""",
        lambda match: f"{match[1] or match[2]}<secret>",
    ),
    Rule(
        ("/services/", "/webhooks/"),
        r"(?i)(\b(?:hooks\.slack|discord(?:app)?)\.com/(?:services|api/webhooks)/)[\w/-]+",
        r"\1<secret>",
    ),
    Rule(("bearer",), r"(?i)\b(bearer[ \t]+)[\w.~+/=-]{8,}", r"\1<secret>"),
    Rule(
        ("?", "&"),
        r"(?i)([?&][\w-]{0,40}(?:sig|signature|credential|key|token|auth|code|secret|password)[\w-]*=)"
        r"[^&\s#]+",
        r"\1<secret>",
    ),
    Rule(
        ("pass", "pwd", "secret", "credential", "key", "_pat"),
        r"(?i)((?:pass(?:word|wd|phrase|code)|[_-]pass|[_-]pat(?![_-])|pwd|secret|credentials?|api[_-]?key|"
        r"(?:access|private|auth|account|secret|license)[_-]?key)(?:[_-][\w-]*)?"
        rf"{GAP}){_NONE}{VALUE}",
        r"\1<secret>",
    ),
    Rule(  # a short number behind `token` is a count; `eos_token` and its like are words of a model
        ("token",),
        rf"(?i)((?<!eos_)(?<!bos_)(?<!pad_)(?<!unk_)(?<!sep_)(?<!cls_)(?<!mask_)token(?:[_-][\w-]*)?{GAP})(?!\d{{1,7}}(?![\w.-])){_NONE}{VALUE}",
        r"\1<secret>",
    ),
    Rule(
        ("--",),
        rf"(?i)((?<![\w-])--[\w-]{{0,40}}(?:token|key|passw(?:or)?d|secret)[ \t]+)(?!-){VALUE}",
        r"\1<secret>",
    ),
    Rule(
        ("hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "gl", "xox",
         "akia", "asia", "aiza", "npm_", "pypi-", "nvapi-", "dckr_", "gsk_", "r8_", "ya29.",
         "eyj", "sg.", "_live_", "_test_", "hvs.", "hvb.", "dapi", "tskey-", "ltai", "dop_v1_"),
        r"(?:hf_[A-Za-z0-9]{20,}|hf_(?=[A-Za-z]*[0-9A-Z])[A-Za-z0-9]{8,}"
        r"|sk-(?:proj|ant|svcacct|admin|or|lf)-[\w-]{12,}|sk-[A-Za-z0-9]{20,}"
        r"|(?<![A-Za-z])sk-(?=[\w-]{0,40}\d)[\w-]{12,}"
        r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|gl(?:pat|rt|dt|ptt|ft|soat|oas|cbt|imt|agent)-[\w-]{16,}"
        r"|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{30,}"
        r"|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{16,}|nvapi-[\w-]{16,}|dckr_(?:pat|oat)_[\w-]{16,}"
        r"|(?<![\w.])SG\.[\w-]{16,}\.[\w-]{16,}|[rps]k_(?:live|test)_[A-Za-z0-9]{16,}"
        r"|(?<![\w.])hv[sb]\.[\w-]{20,}|\bdapi[0-9a-f]{32}|tskey-[\w-]{16,}"
        r"|\bLTAI[A-Za-z0-9]{12,}|dop_v1_[0-9a-f]{40,}"
        r"|gsk_[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}|ya29\.[\w-]{20,}"
        r"|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|(?<![\w+/-])eyJ[\w+/-]{24,}={0,2})",
        "<secret>",
    ),
)  # fmt: skip
