"""Cuts what could name a person, a machine or an account out of text. Pure.

What is cut leaves a mark behind (`<secret>`, `<uuid>`, `<ip>`, `<host>`, `<user>`, `<email>`,
`<mac>`, `<serial>`), a home folder becomes `~`. Scrubbing a scrubbed text changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from flashdoctor.model.secret_patterns import GAP, SECRETS, Rule

_ROUNDS = 10  # far more than any text needed; cutting one thing can bring another to light


_UUIDS = (
    Rule(("-",), r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", "<uuid>"),
    Rule(
        ("gpu-", "mig-"),
        r"(?i)\b(GPU|MIG)-(?:[0-9a-f]{8}|(?=[a-f]*\d)[0-9a-f]{4,})(?:-[0-9a-f]+)*(?![0-9a-z])",
        r"\1-<uuid>",
    ),
    Rule(
        ("pdi", "guid"),
        r"(?i)(\b(?:pdi|guid)[\"']?\s*[:=]\s*[\"']?)(?:0x)?[0-9a-f][0-9a-f:]{11,}",
        r"\1<uuid>",
    ),
    Rule(("",), r"(?<![0-9A-Za-z])[0-9a-fA-F]{32}(?![0-9A-Za-z])", "<uuid>"),
)


def _shorten_home(match: re.Match[str]) -> str:
    before = match.string[: match.start()][-1:]
    return f"{match[1]}~" if before.isalnum() or before in set("._-~>") else "~"


_WINDOWS_NAME = r"""[^\\/:*?"<>|\s]+"""

_HOMES = (
    Rule(
        ("users", "documents and"),
        r"(?i)[A-Z]:[\\/]+(?:Users|Documents and Settings)[\\/]+"
        rf"(?:{_WINDOWS_NAME}(?: {_WINDOWS_NAME})*(?=[\\/])|{_WINDOWS_NAME})",
        "~",
    ),
    Rule((":users",), r"(?i)(?<![a-z])[A-Z]:Users[^\s\"'/:\\]+", "~"),  # its `\` lost to a shell
    Rule(
        ("\\home", "\\users"),
        r"(?i)(\\+(?:home|users)\$?\\+)"
        rf"(?:{_WINDOWS_NAME}(?: {_WINDOWS_NAME})*(?=\\)|{_WINDOWS_NAME})",
        r"\1~",
    ),
    Rule(
        ("/mnt/",),
        rf"(/mnt/[a-z]/[Uu]sers/){_WINDOWS_NAME}(?: [A-Z]{_WINDOWS_NAME}){{1,2}}(?=/)",
        r"\1~",
    ),
    Rule(
        ("/home", "/users/"),
        r"""(/+(?:homes?\d{0,3}|[Uu]sers)/+)[^/\s:;,"'|<>()\[\]{}]+""",
        _shorten_home,
    ),
    Rule(("/media/",), r"(?<![\w.~-])((?:/run)?/media/)[^/\s<]+(?=/)", r"\1<user>"),
    Rule(("/scratch",), r"(?<![\w.~-])((?:/\w+)?/scratch\d*/)[^/\s<]+(?=/)", r"\1<user>"),
    Rule(("/root",), r"(?<![\w./~-])/root(?![\w.-])", "~"),
    Rule(("~",), r"(?<![\w/.~])~[A-Za-z_][\w-]*(?=/)", "~"),
)

# What stands behind `@` in a symbol's name: `memcpy@GLIBC_2.14`, `cudaMalloc@libcudart.so.12`.
_SYMBOL_VERSION = r"[A-Z][A-Z0-9]*_[\w.]+|lib[\w+-]*\.so(?:\.\w+)*"
_DOMAIN = r".*\.[A-Za-z][A-Za-z-]+"
_ADDRESS = 500  # characters of an address before its `@`


def _hide_account(match: re.Match[str]) -> str:
    host = match[1]
    if re.fullmatch(_SYMBOL_VERSION, host) or host.replace(".", "").isdigit():
        return match[0]
    if re.fullmatch(_DOMAIN, host):
        return "<email>"
    word = match.string[max(0, match.start() - _ADDRESS) : match.start()].rpartition(" ")[2]
    return match[0] if "://" in word else "<user>@<host>"  # a revision: `git+https://...@main`


_NAMED_ADDRESS = r"(?=[ \t]+<(?:[^<>\s@]{1,100}@|<email>))"
_MODE = r"[bcdlps-](?:[r-][w-][xsStT-]){3}[.+@]?[ \t]+\d+[ \t]+"


def _hide_owner(match: re.Match[str]) -> str:
    group = "<user>" if match[2] == match[4] else match[4]
    return f"{match[1]}<user>{match[3]}{group}"


_PEOPLE = (
    Rule(
        ("@", "<email>"),
        r"\b[^\W\d_a-z][\w.'-]*(?:[ \t][^\W\d_a-z][\w.'-]*){1,3}"
        + _NAMED_ADDRESS
        + r"|(?<=Author: )[\w.'-]+(?: [\w.'-]+){0,3}"
        + _NAMED_ADDRESS,
        "<user>",
    ),
    Rule(("rw", "r-"), rf"({_MODE})(?!root\b)(\w[\w.-]*)([ \t]+)(\w[\w.-]*)", _hide_owner),
    Rule(  # ps aux: account, process, two shares
        (" 0.", " 1", " 2", " 3", " 4", " 5", " 6", " 7", " 8", " 9"),
        r"(?m)^(?!root\b)[\w.-]+\+?(?=[ \t]+\d+[ \t]+\d+\.\d[ \t]+\d+\.\d[ \t]+\d)",
        "<user>",
    ),
    Rule(  # gpustat: account and memory of each process
        ("m)",),
        r"(?<=[|\s])(?!root\b)[A-Za-z_][\w.-]*(?=(?:[:/][\w.+-]+)?(?:/\d+)?\(\d+M\))",
        "<user>",
    ),
    Rule(
        ("user", "account", "login", "owner", "whoami"),
        r"(?i)(\b(?:user(?:name)?|account|login|owner|whoami)\b[\"']?[^\w\n<]{1,4})[\w.-]+\\+[\w.-]+",
        r"\1<user>",
    ),
    Rule(("userdomain",), r"(?i)(\buserdomain\w*=)\w[\w.-]*(?:\\+[\w.-]+)?", r"\1<host>"),
    Rule(("arn:",), r"(\barn:aws[\w-]*:[\w-]*:[\w-]*:)\d{12}(?=:)", r"\1<user>"),
    Rule(
        ("account",),
        r"(?i)(\b(?:aws_)?account_?id[\"']?[ \t]*[:=][ \t]*[\"']?)\d{12}\b",
        r"\1<user>",
    ),
    Rule(("i-",), r"(?<![\w-])i-(?=[a-f]*\d)(?:[0-9a-f]{17}|[0-9a-f]{8})(?![\w-])", "<host>"),
    Rule(  # NCCL's own prefix: host, process, thread
        ("nccl ",),
        r"(?<![\w.<-])\w[\w.-]*(?=:\d{1,8}:\d{1,8} (?:\[[\w,. ]{1,12}\] ){0,2}NCCL )",
        "<host>",
    ),
    Rule(("node:",), r"(?m)(^[ \t]*Node:[ \t]+)\w[\w.-]*(?=/[\d<])", r"\1<host>"),
    Rule(("<",), r"(?i)(<(?:\w+_)?serial(?:_number)?>)[\w-]+(?=</)", r"\1<serial>"),
    Rule(("<pdi>",), r"(<pdi>)\w+(?=</)", r"\1<uuid>"),
    Rule(("@",), r"(?<![\w.+%-])[\w.+%-]+@([A-Za-z0-9](?:[\w.-]*\w)?)", _hide_account),
    Rule(("\\\\",), r"(?<![\w:\\>])\\\\[\w.-]+(?=\\)", r"\\\\<host>"),
    Rule(("ip-",), r"(?i)\bip-\d{1,3}(?:-\d{1,3}){3}(?:\.[\w.-]*\w)?", "<host>"),
    Rule(
        ("name",),
        rf"(?i)((?:\b|_)(?:host|node|machine|computer)[ _-]?name{GAP}[\"']?)\w[\w.-]*",
        r"\1<host>",
    ),
    Rule(
        ("nodelist", "master_addr", "topology_addr"),
        r"(\b(?:SLURM_(?:\w+_)?(?:NODELIST|TOPOLOGY_ADDR)|MASTER_ADDR)=[\"']?)"
        r"(?!localhost\b|127\.0\.0\.1\b)[^\s\"'<]+",
        r"\1<host>",
    ),
    Rule(
        ("linux ",),
        r"(\bLinux )(?!version\b|kernel\b|release\b)[\w.-]+(?= \d+\.\d+\.\d+-)",
        r"\1<host>",
    ),
    Rule(("user", "logname"), r"(\b(?:USER|USERNAME|LOGNAME|SUDO_USER)=)\w[\w.-]*", r"\1<user>"),
    Rule(
        ("serial",),
        r"(?i)((?:\b|_)serial(?:[ _-]?(?:number|num|no\.?|#))?[\"']?\s*[:=]\s*[\"']?)\w[\w-]*",
        r"\1<serial>",
    ),
    Rule(
        ("serial", "s/n"),
        r"(?i)(\b(?:serial (?:number|no\.?)|s/n:?)\s+)(?=[A-Z-]*\d)[\w-]{5,}",
        r"\1<serial>",
    ),
    Rule(
        (":", "-"),
        r"(?<![\w:-])[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![\w:])",
        "<mac>",
    ),
)

# A host on the web that everybody uses tells nothing; one of a company does, where it stands as an
# index, a proxy, a mirror or a registry, and wherever its name is one of an inner network.
_PUBLIC_HOST = (
    r"(?i)(?:[\w-]+\.)*(?:pypi\.org|pythonhosted\.org|pytorch\.org|nvidia\.com|nvcr\.io|vllm\.ai"
    r"|flashinfer\.ai|github\.(?:com|io)|githubusercontent\.com|ghcr\.io|docker\.(?:io|com)|quay\.io"
    r"|gcr\.io|k8s\.io|public\.ecr\.aws|(?:mcr|www)\.microsoft\.com|huggingface\.co|hf-mirror\.com"
    r"|anaconda\.(?:org|com)|astral\.sh|pyg\.org|amd\.com|modelscope\.cn|tsinghua\.edu\.cn"
    r"|ustc\.edu\.cn|aliyun\.com)|localhost|[\d.]+"
)
_INNER = r"(?:local|internal|lan|corp|intra|intranet|localdomain|home\.arpa|svc|consul)"
_INNER_HOST = rf"(?i)[\w-]+|(?:[\w-]+\.)+{_INNER}"
_TELLING = (
    r"(?i)(?:index(?:[-_]url|es)?|links|proxy|mirrors?|registry|trusted[-_]host)"
    r"[\"']?(?:[ \t]*[:=])?[ \t]*[\[\"']{0,2}(?:[^\s,]{1,100},[ \t]?){0,4}[\"']?(?:\w{1,9}\+)?\w{1,9}://$"
)
_BEFORE = 250  # characters before a host in which its option stands


def _hide_host(match: re.Match[str]) -> str:
    if re.fullmatch(_PUBLIC_HOST, match[0]):
        return match[0]
    if re.fullmatch(_INNER_HOST, match[0]):
        return "<host>"
    before = match.string[max(0, match.start() - _BEFORE) : match.start()]
    return "<host>" if re.search(_TELLING, before) else match[0]


def _hide_registry(match: re.Match[str]) -> str:
    public = re.fullmatch(_PUBLIC_HOST, match[2])
    return match[0] if public else f"{match[1]}<host>"


_HOSTS = (
    Rule(("://",), r"(?<=://)[A-Za-z0-9][\w.-]*(?![\w.-]*@)", _hide_host),
    Rule(("no_proxy",), r"(?i)(\bno_proxy=)[^\s<]+", r"\1<host>"),
    Rule(("_proxy",), r"(?i)(\b(?:https?|ftp|all)_proxy=[\"']?)(?!\w+://)[\w.-]+", r"\1<host>"),
    Rule(
        (".local", ".internal", ".lan", ".corp", ".intra", ".svc", ".consul", ".home.arpa"),
        r"(?i)(?<![\w.@/-])(?=[\w.-]{0,99}[a-z][\w-]{0,63}\.)(?=[\w.-]{0,99}[\d-])"
        rf"(?:[a-z0-9][\w-]{{0,63}}\.){{1,9}}{_INNER}(?![\w.(-])",
        "<host>",
    ),
    Rule(
        (".dkr.ecr.", ".azurecr.io"),
        r"(?i)\b[\w-]+(?:\.dkr\.ecr\.[\w-]+\.amazonaws\.com(?:\.cn)?|\.azurecr\.io)",
        "<host>",
    ),
    Rule(
        (":",), r"(?<![\w./:@-])()((?:[a-z0-9][\w-]*\.)+[a-z]{2,})(?=:\d{2,5}/\w)", _hide_registry
    ),
    Rule(
        ("image", "docker", "from"),
        r"(?i)(\bimage[\"']?[ \t]*[:=][ \t]*[\"']?|\bFROM[ \t]+"
        r"|\bdocker[ \t]+(?:run|pull|push)[ \t](?:[^\n]{0,300}[ \t])?)"
        r"((?:[a-z0-9][\w-]*\.)+[a-z]{2,})(?=/\w)",
        _hide_registry,
    ),
)

# Four numbers with dots are an address, unless the text around them says that they are a version.
_QUAD = r"(?<![\d.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!\.?\d)"
_VERSION_BEFORE = (
    r"(?:[=<>~!]=\s?|\.so\.|(?<![A-Za-z])[vV]|(?i:cudnn|cublas|curand|cufft|cusparse|cusolver"
    r"|cusparselt|nvjitlink|nccl|tensorrt|cutlass)[\w-]*[\s:=(\[,'\"_/-]*)$"
)
_VERSION_AFTER = (
    r"[-.+_]?(?:post|rc|dev|a|b|cu|py|cp)\d|[-.](?:microsoft|generic|dist-info|whl|tar|zip)"
)
_NAME_BEFORE = (
    r"(?:(?i:\b(?:versions?|release|build|kernel|linux|driver|toolkit|torch|cuda)\b)"
    r"[\s:=(\[,'\"]*|[A-Za-z]\w*[-_]|\w\s?[<>]\s?)$"
)
_REVISION_AFTER = r"-\d+(?:\.(?:cm|azl|el|fc)\d+)?(?![\d.])"
_MAX_OCTET = 255
_NOBODY = {"127.0.0.1", "0.0.0.0"}  # noqa: S104 - the same on every machine
_WINDOW = 48  # characters looked at on either side


def _is_private(first: int, second: int) -> bool:
    """Whether an IPv4 address is one of a private, shared, local or loopback network."""
    return (
        first in {10, 127}
        or (first, second) in {(192, 168), (169, 254)}
        or (first == 172 and 16 <= second <= 31)  # noqa: PLR2004  # RFC 1918
        or (first == 100 and 64 <= second <= 127)  # noqa: PLR2004  # RFC 6598
    )


def _hide_ipv4(match: re.Match[str]) -> str:
    octets = [int(part) for part in match[0].split(".")]
    before = match.string[max(0, match.start() - _WINDOW) : match.start()]
    after = match.string[match.end() : match.end() + _WINDOW]
    if max(octets) > _MAX_OCTET or match[0] in _NOBODY:
        return match[0]
    if re.search(_VERSION_BEFORE, before) or re.match(_VERSION_AFTER, after):
        return match[0]
    is_named = re.search(_NAME_BEFORE, before) or re.match(_REVISION_AFTER, after)
    if is_named and not _is_private(*octets[:2]) and not after.startswith(">"):
        return match[0]
    return "<ip>"


_IPV6_GROUPS = 8
_IPV6_GROUP_DIGITS = 4
_IPV6_MIN_DIGITS = 5  # `1::2` is a slice; no address that tells anything is this short


def _is_ipv6(text: str) -> bool:
    """Whether groups of hex digits are an address, not a C++ name (`c10::add`) or a time."""
    head, gap, tail = text.partition("::")
    groups = [group for group in f"{head}:{tail}".split(":") if group]
    if not groups or "::" in tail or max(map(len, groups)) > _IPV6_GROUP_DIGITS:
        return False
    if not gap:
        return len(groups) == _IPV6_GROUPS
    is_name = not any(group[0].isdigit() for group in groups)  # no C++ name starts with a digit
    if is_name and not (groups[0][0] in "fF" and len(groups[0]) == _IPV6_GROUP_DIGITS):
        return False
    return len(groups) < _IPV6_GROUPS and sum(map(len, groups)) >= _IPV6_MIN_DIGITS


def _hide_ipv6(match: re.Match[str]) -> str:
    return "<ip>" if _is_ipv6(match[1]) else match[0]


_ADDRESSES = (
    Rule((".",), _QUAD, _hide_ipv4),
    Rule((":",), r"(?<![\w:.])([0-9A-Fa-f:]{5,46})(?:%\w+)?(?![\w:])", _hide_ipv6),
)

_NAMES = (*SECRETS, *_UUIDS, *_HOMES, *_PEOPLE, *_HOSTS)


@lru_cache(maxsize=2048)
def scrub_text(text: str) -> str:
    """Cut keys, tokens, UUIDs, accounts, hosts, addresses, serial numbers and home folders."""
    return _settle(text, (*_NAMES, *_ADDRESSES))


def scrub_line(text: str) -> str:
    """Cut the same from one of very many texts, which are not worth remembering."""
    return _settle(text, (*_NAMES, *_ADDRESSES))


@lru_cache(maxsize=512)
def scrub_version(text: str) -> str:
    """Cut the same from a text that holds versions: four numbers with dots stay."""
    return _settle(text, _NAMES)


def scrub_path(path: str) -> str:
    """Cut the same from one file name, in which a user's name may hold blanks."""
    if " " in path:
        path = re.sub(r"^((?:/[^/]+)*?/+(?:home|Users)/+)[^/]*\s[^/]*", r"\1_", path)
    return scrub_text(path)


def _settle(text: str, rules: Iterable[Rule]) -> str:
    text = text.encode("utf-8", "replace").decode()  # file names may hold what UTF-8 cannot
    if "\x1b" in text:  # a colour between a key and its value would hide it
        text = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", text)
    for _ in range(_ROUNDS):
        before, folded = text, text.lower()
        for rule in rules:
            if any(needle in folded for needle in rule.needles):
                text = re.sub(rule.pattern, rule.swap, text)
        if text == before:
            break
    return text
